/* Two graphs side by side: red is only left, green only right, equal runs are folded. */
#include "diff.h"

#include <math.h>
#include <string.h>

/* Equal rows around a difference that stay in sight, and how many are worth a fold. */
enum { CONTEXT = 2, MIN_FOLD = 4 };

/* ---- the table ---- */

static void put_distance(html *page, const qgc_difference *d)
{
    html_write(page, "<td class=n>");
    if (d->kind == QGC_DIFF_SCALE && !isnan(d->distance))
        html_write(page, "%.3g steps", d->distance);
    else if (!isnan(d->distance))
        html_write(page, "%.3g %%", 100 * d->distance);
    html_write(page, "</td>");
}

static void put_table(html *page, const qgc_diff *diff)
{
    static const char *const COLUMNS[] = {"class", "value", "what", "#distance", ""};
    html_table_begin(page, sizeof COLUMNS / sizeof *COLUMNS, COLUMNS);
    for (size_t i = 0; i < qgc_diff_num_differences(diff); i++) {
        const qgc_difference *d = qgc_diff_difference_at(diff, i);
        html_row(page);
        html_write(page, "<td>");
        html_badge(page, HTML_WARN, qgc_diff_class_name(d->kind));
        html_write(page, "</td>");
        html_value(page, d->value ? d->value : "");
        html_cell(page, "%s", d->what);
        put_distance(page, d);
        html_cell(page, "<a href=\"#r%zu\">show</a>", d->row);
    }
    html_table_end(page);
}

/* ---- the graphs ---- */

static bool is_equal(const qgc_diff_row *row)
{
    return row->left && row->right && row->num == 0 && !row->is_consequence;
}

static const char *row_class(const qgc_diff_row *row)
{
    if (!row->right)
        return row->num ? "del" : "del follows";
    if (!row->left)
        return row->num ? "add" : "add follows";
    return row->num ? "changed" : row->is_consequence ? "follows" : "same";
}

static void put_side(html *page, const char *line)
{
    html_write(page, "<div class=ir>");
    if (line)
        html_ir(page, (qgc_str){line, strlen(line)});
    html_write(page, "</div>");
}

static void put_reasons(html *page, const qgc_diff *diff, const qgc_diff_row *row)
{
    if (!row->num)
        return;
    html_write(page, "<div class=why>");
    for (size_t i = 0; i < row->num; i++) {
        const qgc_difference *d = qgc_diff_difference_at(diff, row->first + i);
        html_write(page, "<span>");
        html_badge(page, HTML_WARN, qgc_diff_class_name(d->kind));
        html_write(page, " %s</span>", d->what);
    }
    html_write(page, "</div>");
}

static void put_row(html *page, const qgc_diff *diff, size_t index)
{
    const qgc_diff_row *row = qgc_diff_row_at(diff, index);
    html_write(page, "<div class=\"row %s%s\" id=r%zu>", row_class(row),
               row->is_head ? " head" : "", index);
    put_side(page, row->left);
    put_side(page, row->right);
    put_reasons(page, diff, row);
    html_write(page, "</div>\n");
}

static void put_rows(html *page, const qgc_diff *diff, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        put_row(page, diff, i);
}

/* Rows [begin, end) are equal. */
static void put_run(html *page, const qgc_diff *diff, size_t begin, size_t end)
{
    size_t first = begin == 0 ? begin : begin + CONTEXT;
    size_t last = end == qgc_diff_num_rows(diff) ? end : end > CONTEXT ? end - CONTEXT : 0;
    if (last < first + MIN_FOLD) {
        put_rows(page, diff, begin, end);
        return;
    }
    put_rows(page, diff, begin, first);
    html_fold_begin(page, "%zu equal rows", last - first);
    put_rows(page, diff, first, last);
    html_fold_end(page);
    put_rows(page, diff, last, end);
}

static void put_graphs(html *page, const qgc_diff *diff)
{
    size_t num = qgc_diff_num_rows(diff);
    html_write(page, "<div class=sides>\n<div class=titles><b>left: reference</b>"
                     "<b>right: current</b></div>\n");
    for (size_t i = 0; i < num;) {
        size_t end = i;
        while (end < num && is_equal(qgc_diff_row_at(diff, end)))
            end++;
        if (end > i)
            put_run(page, diff, i, end);
        else
            put_row(page, diff, end++);
        i = end;
    }
    html_write(page, "</div>\n");
}

/* ---- the page ---- */

typedef struct row_counts {
    size_t aligned, left, right;
} row_counts;

static row_counts count_rows(const qgc_diff *diff)
{
    row_counts c = {0};
    for (size_t i = 0; i < qgc_diff_num_rows(diff); i++) {
        const qgc_diff_row *row = qgc_diff_row_at(diff, i);
        if (!row->is_head) {
            c.aligned += row->left && row->right;
            c.left += !row->right;
            c.right += !row->left;
        }
    }
    return c;
}

static void put_tiles(html *page, const qgc_diff *diff, html_tone tone)
{
    size_t num = qgc_diff_num_differences(diff);
    row_counts c = count_rows(diff);
    html_tiles_begin(page);
    html_tile(page, num ? tone : HTML_GOOD, num == 1 ? "difference" : "differences", "%zu", num);
    for (int kind = 0; kind < QGC_NUM_DIFF_CLASSES; kind++)
        if (qgc_diff_count(diff, kind))
            html_tile(page, HTML_PLAIN, qgc_diff_class_name(kind), "%zu",
                      qgc_diff_count(diff, kind));
    html_tile(page, HTML_PLAIN, "ops aligned", "%zu", c.aligned);
    html_tile(page, c.left ? HTML_PLAIN : HTML_MUTED, "only left", "%zu", c.left);
    html_tile(page, c.right ? HTML_PLAIN : HTML_MUTED, "only right", "%zu", c.right);
    html_tile(page, HTML_MUTED, "renamed", "%zu", qgc_diff_num_renamed(diff));
    html_tiles_end(page);
}

void diff_write_sections(html *page, const qgc_diff *diff, const char *title, html_tone tone)
{
    html_section(page, "differences", title);
    put_tiles(page, diff, tone);
    if (qgc_diff_num_differences(diff))
        put_table(page, diff);
    else
        html_write(page, "<p>The graphs are equal.</p>\n");
    html_section(page, "graphs", "Graphs");
    put_graphs(page, diff);
}

void diff_write_page(FILE *out, const qgc_diff *diff, const char *left, const char *right)
{
    char subtitle[1024];
    html page;
    snprintf(subtitle, sizeof subtitle, "%s \xe2\x86\x92 %s", left, right);
    html_begin(&page, out, "qgc diff", subtitle);
    diff_write_sections(&page, diff, "Differences", HTML_BAD);
    html_end(&page);
}
