/* Findings as a page. */
#include "findings.h"

#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

static bool is_warning(const qgc_finding *finding)
{
    return strcmp(finding->severity, "warning") == 0;
}

void findings_add(void *list, const qgc_finding *finding)
{
    finding_list *l = list;
    if (l->num == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 64;
        qgc_finding *rows = realloc(l->rows, capacity * sizeof *rows);
        l->failed |= !rows;
        if (!rows)
            return;
        l->rows = rows;
        l->capacity = capacity;
    }
    l->rows[l->num++] = *finding;
    l->num_warnings += is_warning(finding);
}

void findings_free(finding_list *list)
{
    free(list->rows);
    *list = (finding_list){0};
}

/* ---- findings ---- */

/* The kinds in the order in which they come, each with how often it does. */
static void put_kinds(html *page, const finding_list *list)
{
    for (size_t i = 0; i < list->num; i++) {
        const qgc_finding *first = &list->rows[i];
        size_t num = 0;
        for (size_t k = 0; k < list->num; k++) {
            if (strcmp(list->rows[k].code, first->code) != 0)
                continue;
            if (k < i)
                break; /* it had its tile */
            num++;
        }
        if (num)
            html_tile(page, HTML_PLAIN, first->check, "%zu", num);
    }
}

static void put_tiles(html *page, const finding_list *list)
{
    size_t warnings = list->num_warnings, remarks = list->num - warnings;
    html_tiles_begin(page);
    html_tile(page, warnings ? HTML_WARN : HTML_GOOD, warnings == 1 ? "warning" : "warnings", "%zu",
              warnings);
    html_tile(page, remarks ? HTML_PLAIN : HTML_MUTED, remarks == 1 ? "remark" : "remarks", "%zu",
              remarks);
    put_kinds(page, list);
    html_tiles_end(page);
}

static void put_message(html *page, const qgc_finding *f)
{
    html_write(page, "<td>%s", f->message);
    if (f->note)
        html_write(page, "<br><span class=muted>%s</span>", f->note);
    if (f->help)
        html_write(page, "<br><b>%s</b>", f->help);
    html_write(page, "</td>");
}

static void put_place(html *page, const qgc_finding *f)
{
    html_write(page, "<td class=muted>");
    if (f->file)
        html_write(page, "%s:%u:%u", f->file, f->line, f->column);
    html_write(page, "</td>");
}

static void put_finding(html *page, const qgc_finding *f, bool has_places)
{
    html_row(page);
    html_write(page, "<td>");
    html_badge(page, is_warning(f) ? HTML_WARN : HTML_PLAIN, f->check);
    html_write(page, "</td>");
    html_value(page, f->value ? f->value : "");
    html_write(page, "<td>%s</td>", f->op ? f->op : "");
    put_message(page, f);
    html_cell(page, "<code>%s</code>", f->code);
    if (has_places)
        put_place(page, f);
}

static void put_table(html *page, const finding_list *list, bool has_places)
{
    static const char *const COLUMNS[] = {"check", "value", "op", "what, and what helps",
                                          "code",  "where"};
    html_table_begin(page, sizeof COLUMNS / sizeof *COLUMNS - !has_places, COLUMNS);
    for (int warnings = 1; warnings >= 0; warnings--)
        for (size_t i = 0; i < list->num; i++)
            if (is_warning(&list->rows[i]) == (warnings == 1))
                put_finding(page, &list->rows[i], has_places);
    html_table_end(page);
}

void findings_write_section(html *page, const finding_list *list, const char *title,
                            bool has_places)
{
    html_section(page, "checks", title);
    put_tiles(page, list);
    if (list->num)
        put_table(page, list, has_places);
    else
        html_write(page, "<p>Nothing looks wrong.</p>\n");
}

/* ---- what was looked for ---- */

static size_t count_code(const finding_list *list, const char *code)
{
    size_t num = 0;
    for (size_t i = 0; i < list->num; i++)
        num += strcmp(list->rows[i].code, code) == 0;
    return num;
}

static void put_checks(html *page, const finding_list *list)
{
    static const char *const COLUMNS[] = {"code", "finds", "what helps", "#found"};
    const char *code, *summary, *help;
    html_fold_begin(page, "What was looked for");
    html_table_begin(page, sizeof COLUMNS / sizeof *COLUMNS, COLUMNS);
    for (size_t i = 0; (code = qgc_check_row(i, &summary, &help)); i++) {
        html_row(page);
        html_write(page, "<td><code>%s</code></td><td>%s</td><td>%s</td>", code, summary, help);
        html_write(page, "<td class=n>%zu</td>", count_code(list, code));
    }
    html_table_end(page);
    html_fold_end(page);
}

/* ---- types ---- */

static void put_types(void *user, const char *op, const char *types, size_t num)
{
    html *page = user;
    html_row(page);
    html_write(page, "<td class=n>%zu</td><td class=ir><i class=o>%s</i></td>", num, op);
    html_write(page, "<td class=ir><i class=t>%s</i></td>", types);
}

void findings_write_page(FILE *out, const finding_list *list, qgc_module *module, const char *path)
{
    static const char *const COLUMNS[] = {"#ops", "op", "reads, and gives"};
    html page;
    html_begin(&page, out, "qgc check", path);
    findings_write_section(&page, list, "Findings", true);
    put_checks(&page, list);
    html_section(&page, "types", "Types of the ops");
    html_write(&page, "<p>A kind with <code>f32</code> among integers is worth a look.</p>\n");
    html_table_begin(&page, sizeof COLUMNS / sizeof *COLUMNS, COLUMNS);
    qgc_module_types(module, put_types, &page);
    html_table_end(&page);
    html_end(&page);
}
