/* The writer of offline HTML pages: frame, escaping, tables, folds. Plots are in html_plot.c, style
 * and script in html/. */
#include "html.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

extern const char html_page_css[], html_page_js[]; /* cmake/Assets.cmake */

/* ---- text ---- */

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Bytes that no HTML text may hold become the replacement character. */
static bool is_forbidden(char c)
{
    return (unsigned char)c < 0x20 && c != '\n' && c != '\t';
}

void html_text(html *page, qgc_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        const char *entity = entity_of(text.data[i]);
        if (entity)
            fputs(entity, page->out);
        else if (is_forbidden(text.data[i]))
            fputs("&#xfffd;", page->out);
        else
            fputc(text.data[i], page->out);
    }
}

static void put_text(html *page, const char *text)
{
    html_text(page, (qgc_str){text, strlen(text)});
}

/* One conversion of html_write: "%" flags width precision length letter. */
typedef struct conversion {
    char spec[24];
    int size;     /* of the spec */
    int length;   /* how many 'l'; 'z' counts as SIZE */
    bool is_view; /* "%.*s" */
    char letter;
} conversion;

enum { LENGTH_SIZE = 8 };

static conversion read_conversion(const char *at)
{
    conversion c = {.size = 1};
    while (at[c.size] && strchr("#0- +.*0123456789lzhj", at[c.size])) {
        c.is_view |= at[c.size] == '*';
        c.length += at[c.size] == 'l'                        ? 1
                    : at[c.size] == 'z' || at[c.size] == 'j' ? LENGTH_SIZE
                                                             : 0;
        c.size++;
    }
    c.letter = at[c.size++];
    snprintf(c.spec, sizeof c.spec, "%.*s", c.size, at);
    return c;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored                                                                     \
    "-Wformat-nonliteral" /* the format is the caller's, which is checked */

static void format_integer(const conversion *c, va_list *args, char *out, size_t size)
{
    /* NOLINTBEGIN(bugprone-branch-clone): the type of va_arg is the difference */
    if (c->length == LENGTH_SIZE)
        snprintf(out, size, c->spec, va_arg(*args, size_t));
    else if (c->length == 2)
        snprintf(out, size, c->spec, va_arg(*args, long long));
    else if (c->length == 1)
        snprintf(out, size, c->spec, va_arg(*args, long));
    else
        snprintf(out, size, c->spec, va_arg(*args, int));
    /* NOLINTEND(bugprone-branch-clone) */
}

static void put_conversion(html *page, const conversion *c, va_list *args)
{
    char buffer[512] = "";
    if (c->letter == 's') {
        int size = c->is_view ? va_arg(*args, int) : -1;
        const char *text = va_arg(*args, const char *);
        html_text(page, (qgc_str){text, size >= 0 ? (size_t)size : strlen(text)});
        return;
    }
    if (strchr("eEfFgGaA", c->letter))
        snprintf(buffer, sizeof buffer, c->spec, va_arg(*args, double));
    else if (c->letter != '%')
        format_integer(c, args, buffer, sizeof buffer);
    put_text(page, c->letter == '%' ? "%" : buffer);
}

#pragma GCC diagnostic pop

void html_write_list(html *page, const char *markup, va_list *args)
{
    while (*markup) {
        size_t plain = strcspn(markup, "%");
        fwrite(markup, 1, plain, page->out);
        markup += plain;
        if (!*markup)
            return;
        conversion c = read_conversion(markup);
        put_conversion(page, &c, args);
        markup += c.size;
    }
}

void html_write(html *page, const char *markup, ...)
{
    va_list args;
    va_start(args, markup);
    html_write_list(page, markup, &args);
    va_end(args);
}

/* ---- lines of .qir ---- */

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$';
}

/* Size of a quoted text, with its quotes; |at| is at the first one. */
static size_t quoted_size(qgc_str text, size_t at)
{
    size_t i = at + 1;
    while (i < text.size && text.data[i] != '"')
        i += text.data[i] == '\\' ? 2 : 1;
    return (i < text.size ? i + 1 : text.size) - at;
}

static size_t word_size(qgc_str text, size_t at)
{
    size_t i = at;
    while (i < text.size && is_name_character(text.data[i]))
        i++;
    return i - at;
}

static size_t name_size(qgc_str text, size_t at)
{
    if (at + 1 < text.size && text.data[at + 1] == '"')
        return 1 + quoted_size(text, at + 1);
    return 1 + word_size(text, at + 1);
}

/* ": f32[2], f32[2*(N+1)]" up to a blank or a parenthesis outside of brackets. */
static size_t types_size(qgc_str text, size_t at)
{
    size_t i = at + 2;
    int depth = 0;
    for (; i < text.size; i++) {
        char c = text.data[i];
        depth += (c == '[') - (c == ']');
        if (depth == 0 && (c == ')' || (c == ' ' && text.data[i - 1] != ',')))
            break;
    }
    return i - at;
}

/* The size of the token at |at|, and the class it is shown with; NULL: none. */
static size_t next_token(qgc_str line, size_t at, const char **out_class)
{
    *out_class = NULL;
    if (line.data[at] == '%') {
        *out_class = "v";
        return name_size(line, at);
    }
    if (line.data[at] == '"') {
        *out_class = "s";
        return quoted_size(line, at);
    }
    if (line.data[at] == ':' && at + 1 < line.size && line.data[at + 1] == ' ') {
        *out_class = "t";
        return types_size(line, at);
    }
    size_t size = word_size(line, at);
    return size ? size : 1;
}

/* Where the mnemonic stands: behind the first " = " of a line that begins with names. */
static size_t mnemonic_offset(qgc_str line)
{
    if (!line.size || line.data[0] != '%')
        return 0;
    for (size_t i = 0; i + 2 < line.size;) {
        const char *class;
        if (line.data[i] == '=')
            return i + 2;
        i += next_token(line, i, &class);
    }
    return line.size;
}

void html_ir(html *page, qgc_str line)
{
    size_t mnemonic = mnemonic_offset(line);
    for (size_t i = 0; i < line.size;) {
        const char *class;
        size_t size = next_token(line, i, &class);
        qgc_str token = {line.data + i, size < line.size - i ? size : line.size - i};
        if (i == mnemonic)
            class = "o";
        if (class)
            html_write(page, "<i class=%s>%.*s</i>", class, QGC_STR_ARG(token));
        else
            html_text(page, token);
        i += token.size;
    }
}

/* ---- frame ---- */

void html_begin(html *page, FILE *out, const char *title, const char *subtitle)
{
    *page = (html){.out = out};
    html_write(page,
               "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<meta name=\"color-scheme\" content=\"light dark\">\n"
               "<title>%s: %s</title>\n<style>\n",
               title, subtitle);
    fputs(html_page_css, out);
    html_write(page,
               "</style>\n</head>\n<body>\n<header>\n<h1>%s <span>%s</span></h1>\n"
               "<div id=search><input type=search placeholder=\"Search a value, an op, a number\" "
               "aria-label=\"Search\" autocomplete=off spellcheck=false><output></output></div>\n"
               "<nav></nav>\n</header>\n<main>\n",
               title, subtitle);
}

void html_end(html *page)
{
    if (page->in_section)
        fputs("</section>\n", page->out);
    fputs("</main>\n<script>\n", page->out);
    fputs(html_page_js, page->out);
    fputs("</script>\n</body>\n</html>\n", page->out);
}

void html_section(html *page, const char *id, const char *title)
{
    if (page->in_section)
        fputs("</section>\n", page->out);
    page->in_section = true;
    html_write(page, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
}

/* ---- parts ---- */

const char *html_tone_class(html_tone tone)
{
    static const char *const classes[HTML_NUM_TONES] = {"plain", "good", "warn", "bad", "muted"};
    return classes[tone];
}

void html_tiles_begin(html *page)
{
    fputs("<div class=tiles>\n", page->out);
}

void html_tile(html *page, html_tone tone, const char *label, const char *value, ...)
{
    va_list args;
    html_write(page, "<div class=\"tile %s\"><b>", html_tone_class(tone));
    va_start(args, value);
    html_write_list(page, value, &args);
    va_end(args);
    html_write(page, "</b><span>%s</span></div>\n", label);
}

void html_tiles_end(html *page)
{
    fputs("</div>\n", page->out);
}

void html_badge(html *page, html_tone tone, const char *text)
{
    html_write(page, "<span class=\"badge %s\">%s</span>", html_tone_class(tone), text);
}

void html_table_begin(html *page, size_t num_columns, const char *const *columns)
{
    fputs("<div class=scroll><table>\n<thead><tr>", page->out);
    for (size_t i = 0; i < num_columns; i++) {
        bool is_number = columns[i][0] == '#';
        html_write(page, "<th%s>%s</th>", is_number ? " class=n" : "", columns[i] + is_number);
    }
    fputs("</tr></thead>\n<tbody>\n", page->out);
}

void html_row(html *page)
{
    fputs("<tr>", page->out);
}

void html_cell(html *page, const char *markup, ...)
{
    va_list args;
    fputs("<td>", page->out);
    va_start(args, markup);
    html_write_list(page, markup, &args);
    va_end(args);
    fputs("</td>", page->out);
}

void html_number(html *page, const char *format, double value)
{
    char text[64] = "-";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (!isnan(value))
        snprintf(text, sizeof text, format, value);
#pragma GCC diagnostic pop
    html_write(page, "<td class=n>%s</td>", text);
}

void html_value(html *page, const char *name)
{
    html_write(page, "<td class=ir><i class=v>%s</i></td>", name);
}

void html_table_end(html *page)
{
    fputs("</tbody></table></div>\n", page->out);
}

void html_fold_begin(html *page, const char *title, ...)
{
    va_list args;
    fputs("<details><summary>", page->out);
    va_start(args, title);
    html_write_list(page, title, &args);
    va_end(args);
    fputs("</summary>\n", page->out);
}

void html_fold_end(html *page)
{
    fputs("</details>\n", page->out);
}
