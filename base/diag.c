#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

typedef struct diag_row {
    const char *code, *title, *text;
    qgc_severity severity;
} diag_row;

static const diag_row rows[] = {
#define QGC_DIAG(id, code, severity, title, text) {code, title, text, QGC_##severity},
#include "qgc/diags.def"
};

static const char *const severity_names[] = {"error", "warning", "remark", "note"};

const char *qgc_diag_code(qgc_diag_id id)
{
    return rows[id].code;
}

const char *qgc_diag_title(qgc_diag_id id)
{
    return rows[id].title;
}

const char *qgc_diag_text(qgc_diag_id id)
{
    return rows[id].text;
}

qgc_severity qgc_diag_severity(qgc_diag_id id)
{
    return rows[id].severity;
}

const char *qgc_severity_name(qgc_severity severity)
{
    return severity_names[severity];
}

static void add(qgc_diag *diag, qgc_diagnostic item, const char *format, va_list args)
{
    item.severity = rows[item.id].severity;
    if (item.severity == QGC_REMARK && !qgc_wants_remarks(diag))
        return;
    if (item.severity == QGC_WARNING && diag->is_quiet)
        return;
    item.message = qgc_arena_vprintf(diag->arena, format, args);
    item.origin = diag->origin;
    diag->num_errors += item.severity == QGC_ERROR;
    diag->num_warnings += item.severity == QGC_WARNING;
    qgc_vec_push(diag->arena, &diag->list, item);
}

qgc_result qgc_report(qgc_diag *diag, qgc_loc loc, qgc_diag_id id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(diag, (qgc_diagnostic){.id = id, .loc = loc, .order = diag->next_order++}, format, args);
    va_end(args);
    return rows[id].severity == QGC_ERROR ? QGC_FAILED : QGC_OK;
}

void qgc_note(qgc_diag *diag, qgc_loc loc, const char *format, ...)
{
    /* A note to a remark that nobody wanted goes with it. */
    if (!diag->list.size || diag->list.data[diag->list.size - 1].order != diag->next_order - 1)
        return;
    va_list args;
    va_start(args, format);
    add(diag, (qgc_diagnostic){.id = QGC_D_NOTE, .loc = loc, .order = diag->next_order - 1}, format,
        args);
    va_end(args);
}

/* A remark that nobody wanted has no fields either. */
static void add_field(qgc_diag *diag, const char *name, bool is_shown, const char *format,
                      va_list args)
{
    if (!diag->list.size || diag->list.data[diag->list.size - 1].order != diag->next_order - 1)
        return;
    qgc_diag_field **end = &diag->list.data[diag->list.size - 1].fields;
    while (*end)
        end = &(*end)->next;
    *end = QGC_NEW(diag->arena, qgc_diag_field);
    **end = (qgc_diag_field){name, qgc_arena_vprintf(diag->arena, format, args), is_shown, NULL};
}

void qgc_diag_add(qgc_diag *diag, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_field(diag, name, false, format, args);
    va_end(args);
}

void qgc_diag_add_shown(qgc_diag *diag, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_field(diag, name, true, format, args);
    va_end(args);
}

bool qgc_wants_remarks(const qgc_diag *diag)
{
    if (diag->is_quiet)
        return false;
    qgc_str rest = diag->remarks;
    qgc_str origin = diag->origin ? qgc_str_from(diag->origin) : (qgc_str){"", 0};
    while (rest.size) {
        const char *comma = memchr(rest.data, ',', rest.size);
        qgc_str word = {rest.data, comma ? (size_t)(comma - rest.data) : rest.size};
        if (qgc_str_equal(word, qgc_str_from("all")) || (word.size && qgc_str_equal(word, origin)))
            return true;
        size_t skip = word.size + (comma != NULL);
        rest = (qgc_str){rest.data + skip, rest.size - skip};
    }
    return false;
}

void qgc_diag_rollback(qgc_diag *diag, size_t size)
{
    for (size_t i = size; i < diag->list.size; i++) {
        diag->num_errors -= diag->list.data[i].severity == QGC_ERROR;
        diag->num_warnings -= diag->list.data[i].severity == QGC_WARNING;
    }
    diag->list.size = size;
}

/* Each group (a diagnostic and its notes) sorts by the place of its head. */
typedef struct sort_key {
    qgc_loc head;
    uint32_t order, index;
} sort_key;

static int compare_u32(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_keys(const void *left, const void *right)
{
    const sort_key *a = left, *b = right;
    int c = compare_u32(a->head.source, b->head.source);
    c = c ? c : compare_u32(a->head.offset, b->head.offset);
    c = c ? c : compare_u32(a->order, b->order);
    return c ? c : compare_u32(a->index, b->index);
}

static sort_key *sorted(qgc_diag *diag)
{
    sort_key *keys = QGC_NEW_ARRAY(diag->arena, sort_key, diag->list.size);
    for (uint32_t i = 0; i < diag->list.size; i++) {
        const qgc_diagnostic *item = &diag->list.data[i];
        qgc_loc head = item->severity == QGC_NOTE && i ? keys[i - 1].head : item->loc;
        keys[i] = (sort_key){head, item->order, i};
    }
    qsort(keys, diag->list.size, sizeof *keys, compare_keys);
    return keys;
}

static void print_caret(FILE *out, qgc_position at, uint32_t length)
{
    enum { WIDTH = 160 }; /* generated lines may be megabytes long: show a window */
    size_t from = at.column - 1 > WIDTH / 2 ? at.column - 1 - WIDTH / 2 : 0;
    size_t shown = at.text.size - from < WIDTH ? at.text.size - from : WIDTH;
    fprintf(out, "  %.*s\n  ", (int)shown, at.text.data + from);
    for (size_t i = from; i + 1 < at.column; i++)
        fputc(i < at.text.size && at.text.data[i] == '\t' ? '\t' : ' ', out);
    fputc('^', out);
    for (size_t i = 1; i < length && at.column - 1 + i < from + shown; i++)
        fputc('~', out);
    fputc('\n', out);
}

/* A line for each line of the value. */
static void print_field(const qgc_diag_field *field, FILE *out)
{
    const char *line = field->value;
    for (const char *end; (end = strchr(line, '\n')); line = end + 1)
        fprintf(out, "  %s: %.*s\n", field->name, (int)(end - line), line);
    fprintf(out, "  %s: %s\n", field->name, line);
}

static void print_text(qgc_diag *diag, const qgc_diagnostic *item, FILE *out, bool color)
{
    static const char *const colors[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m", "\033[1;34m"};
    const qgc_source *source = qgc_source_get(diag->sources, item->loc.source);
    qgc_position at = qgc_source_position(diag->sources, item->loc);
    if (source)
        fprintf(out, "%s:%u:%u: ", source->name, at.line, at.column);
    else
        fputs("qgc: ", out);
    fprintf(out, "%s%s:%s %s", color ? colors[item->severity] : "", severity_names[item->severity],
            color ? "\033[0m" : "", item->message);
    if (item->severity != QGC_NOTE)
        fprintf(out, " [%s]", rows[item->id].code);
    fputc('\n', out);
    if (source)
        print_caret(out, at, item->loc.length);
    for (const qgc_diag_field *field = item->fields; field; field = field->next)
        if (field->is_shown || !source) /* an imported graph has no text to point at */
            print_field(field, out);
}

static void print_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void print_json(qgc_diag *diag, const qgc_diagnostic *item, FILE *out)
{
    const qgc_source *source = qgc_source_get(diag->sources, item->loc.source);
    fprintf(out, "{\"severity\": \"%s\", \"code\": \"%s\", ", severity_names[item->severity],
            rows[item->id].code);
    if (source) {
        qgc_position at = qgc_source_position(diag->sources, item->loc);
        fputs("\"file\": ", out);
        print_json_string(out, source->name);
        fprintf(out, ", \"line\": %u, \"column\": %u, \"length\": %u, ", at.line, at.column,
                item->loc.length);
    }
    if (item->origin) {
        fputs("\"pass\": ", out);
        print_json_string(out, item->origin);
        fputs(", ", out);
    }
    fputs("\"message\": ", out);
    print_json_string(out, item->message);
    for (const qgc_diag_field *field = item->fields; field; field = field->next) {
        fprintf(out, ", \"%s\": ", field->name);
        print_json_string(out, field->value);
    }
    fputs("}\n", out);
}

void qgc_diag_flush(qgc_diag *diag, FILE *out, qgc_diag_format format, bool color)
{
    const sort_key *keys = sorted(diag);
    for (size_t i = 0; i < diag->list.size; i++) {
        const qgc_diagnostic *item = &diag->list.data[keys[i].index];
        if (format == QGC_DIAG_JSON)
            print_json(diag, item, out);
        else
            print_text(diag, item, out, color);
    }
    diag->list.size = 0;
}
