/* A comparison as a page. */
#include "compare.h"
#include "html.h"

#include <math.h>
#include <stdlib.h>

enum { GOOD_DB = 30, POOR_DB = 20 };

static html_tone tone_of(double db)
{
    return db >= GOOD_DB ? HTML_GOOD : db >= POOR_DB ? HTML_WARN : HTML_BAD;
}

/* ---- what is read first ---- */

static double output_db(const qgc_compare_row *row)
{
    return row->broken.num ? -INFINITY : row->sqnr;
}

static const qgc_compare_row *worst_output(const qgc_compare_report *r)
{
    const qgc_compare_row *worst = NULL;
    for (size_t i = 0; i < r->num_rows; i++)
        if (r->rows[i].is_output && (!worst || output_db(&r->rows[i]) < output_db(worst)))
            worst = &r->rows[i];
    return worst;
}

static void put_db_tile(html *page, const char *label, double db)
{
    if (isinf(db))
        html_tile(page, db > 0 ? HTML_GOOD : HTML_BAD, label, db > 0 ? "no error" : "none");
    else
        html_tile(page, tone_of(db), label, "%.1f dB", db);
}

static void put_tiles(html *page, const comparison *c)
{
    const qgc_compare_report *r = c->report;
    const qgc_compare_row *output = worst_output(r);
    size_t num_losing = 0;
    for (size_t i = 0; i < r->num_rows; i++)
        num_losing += r->rows[i].loss >= c->start_db;
    html_tiles_begin(page);
    html_tile(page, HTML_PLAIN, "samples", "%zu", r->samples);
    html_tile(page, HTML_PLAIN, "values in both", "%zu", r->num_rows);
    html_tile(page, num_losing ? HTML_BAD : HTML_GOOD, "values that lose much", "%zu", num_losing);
    if (output)
        put_db_tile(page, "worst output", output_db(output));
    html_tiles_end(page);
}

static void put_finding(html *page, html_tone tone, const char *what, const qgc_compare_row *row)
{
    html_write(page, "<p>");
    html_badge(page, tone, what);
    html_write(page, " <i class=v>%s</i> (%s)", row->name, row->op_b);
    if (row->loss > 0)
        html_write(page, " loses %.1f dB, %s.", row->loss,
                   row->cause[0] ? row->cause : "not finite");
    if (row->remedy[0])
        html_write(page, "<br>%s", row->remedy);
    html_write(page, "</p>");
}

static void put_findings(html *page, const comparison *c)
{
    const qgc_compare_report *r = c->report;
    html_section(page, "findings", "Where error starts");
    if (r->start != SIZE_MAX)
        put_finding(page, HTML_BAD, "starts", &r->rows[r->start]);
    else
        html_write(page, "<p>Nowhere: no value loses %g dB from what it is made of.</p>",
                   c->start_db);
    for (size_t i = 0; i < r->num_rows; i++) {
        if (r->rows[i].stays_float)
            put_finding(page, HTML_WARN, "float", &r->rows[i]);
        else if (i != r->start && r->rows[i].loss >= c->start_db)
            put_finding(page, HTML_WARN, "also", &r->rows[i]);
    }
}

/* ---- along the graph ---- */

static double sqnr_of(const qgc_compare_row *row)
{
    return fmin(row->sqnr, row->channel_sqnr);
}

static void put_lines(html *page, const comparison *c)
{
    const qgc_compare_report *r = c->report;
    const char **names = calloc(r->num_rows + 1, sizeof *names);
    double *values = calloc(r->num_rows + 1, sizeof *values);
    size_t num = 0;
    for (size_t i = 0; names && values && i < r->num_rows; i++) {
        if (r->rows[i].is_constant || r->rows[i].shape_differs)
            continue;
        names[num] = r->rows[i].name;
        values[num++] = sqnr_of(&r->rows[i]);
    }
    html_section(page, "graph", "Error along the graph");
    html_line line = {.names = names,
                      .values = values,
                      .num = num,
                      .title = "signal to error, values in the order of A",
                      .unit = "dB",
                      .threshold = POOR_DB,
                      .lower_is_bad = true};
    if (names && values)
        html_plot_line(page, &line);
    free(values);
    free(names);
}

/* ---- values ---- */

static void put_db(html *page, double value, bool is_there)
{
    if (!is_there || isinf(value))
        html_write(page, "<td class=n>%s</td>", is_there && value < 0 ? "-inf" : "");
    else
        html_number(page, "%.1f", value);
}

static void put_histogram(html *page, const qgc_compare_row *row, const uint64_t *bins)
{
    double counts[QGC_COMPARE_BINS];
    for (int i = 0; i < QGC_COMPARE_BINS; i++)
        counts[i] = (double)bins[i];
    html_histogram plot = {.counts = counts,
                           .num = QGC_COMPARE_BINS,
                           .first = row->bin_lo,
                           .last = row->bin_lo + QGC_COMPARE_BINS * row->bin_width,
                           .is_small = true};
    if (bins == row->bins_a && row->has_step) {
        plot.low = row->min_b;
        plot.high = row->max_b;
    }
    html_plot_histogram(page, &plot);
}

static void put_part(html *page, const char *what, double share, html_tone tone)
{
    html_write(page, "<div title=\"%s: %.1f %%\">", what, 100 * share);
    html_plot_share(page, tone, share);
    html_write(page, "</div>");
}

static void put_parts(html *page, const qgc_compare_row *row)
{
    double sum = row->clipped + row->rounded + row->inherited;
    html_write(page, "<td>");
    if (row->has_parts && sum > 0) {
        put_part(page, "clipped", row->clipped / sum, HTML_BAD);
        put_part(page, "rounded", row->rounded / sum, HTML_WARN);
        put_part(page, "inherited", row->inherited / sum, HTML_MUTED);
    }
    html_write(page, "</td>");
}

static const char *row_class(const comparison *c, const qgc_compare_row *row)
{
    return row->loss >= c->start_db ? "bad" : row->stays_float ? "warn" : "";
}

static void put_row(html *page, const comparison *c, const qgc_compare_row *row)
{
    html_write(page, "<tr class=\"%s\"><td class=ir><i class=v>%s</i><br>%s, %s", row_class(c, row),
               row->name, row->op_b, row->dtype_b);
    if (row->remedy[0])
        html_write(page, "<br><b>%s</b>", row->remedy);
    html_write(page, "</td>");
    put_db(page, row->sqnr, true);
    put_db(page, row->channel_sqnr, row->num_channels > 1);
    html_number(page, "%.6f", row->cosine);
    html_number(page, "%.4g", row->max_abs);
    html_number(page, "%.1f", row->has_step ? row->max_steps : (double)NAN);
    html_number(page, "%.3g", row->kl);
    put_parts(page, row);
    html_write(page, "<td>");
    put_histogram(page, row, row->bins_a);
    put_histogram(page, row, row->bins_b);
    html_write(page, "</td></tr>\n");
}

static void put_values(html *page, const comparison *c)
{
    static const char *const columns[] = {"value",   "#SQNR",         "#median channel",
                                          "#cosine", "#max error",    "#steps",
                                          "#KL",     "error by part", "A above B"};
    html_section(page, "values", "Values");
    html_write(page, "<p>The error of a stored value has three parts, from above: what the range "
                     "clips, what rounding to steps takes, what comes from before.</p>");
    html_table_begin(page, sizeof columns / sizeof *columns, columns);
    for (size_t i = 0; i < c->report->num_rows; i++)
        if (!c->report->rows[i].shape_differs)
            put_row(page, c, &c->report->rows[i]);
    html_table_end(page);
}

/* ---- samples ---- */

static void put_samples(html *page, const comparison *c)
{
    static const char *const columns[] = {"#sample",    "#SQNR",         "#MSE",         "#cosine",
                                          "#max error", "greatest of A", "greatest of B"};
    html_section(page, "samples", "Worst samples");
    for (size_t i = 0; i < c->report->num_outputs; i++) {
        const qgc_compare_output *o = &c->report->outputs[i];
        html_write(page, "<p><i class=v>%s</i>, by %s</p>", o->name, c->metric);
        html_table_begin(page, sizeof columns / sizeof *columns, columns);
        for (size_t k = 0; k < o->num_worst; k++) {
            const qgc_compare_sample *s = &o->worst[k];
            html_row(page);
            html_write(page, "<td class=n>%zu</td>", s->index);
            put_db(page, s->sqnr, true);
            html_number(page, "%.4g", s->mse);
            html_number(page, "%.6f", s->cosine);
            html_number(page, "%.4g", s->max_abs);
            html_write(page, "<td class=n>%zu</td>", s->top_a);
            html_write(page, "<td class=n>%zu</td>", s->top_b);
        }
        html_table_end(page);
    }
}

static void put_only(html *page, const char *title, const char *const *names, size_t num)
{
    if (!num)
        return;
    html_fold_begin(page, "%s: %zu values", title, num);
    for (size_t i = 0; i < num; i++)
        html_write(page, "<div><i class=v>%s</i></div>", names[i]);
    html_fold_end(page);
}

void compare_write_sections(html *page, const comparison *c)
{
    put_findings(page, c);
    put_lines(page, c);
    put_values(page, c);
    put_samples(page, c);
}

void compare_write_html(FILE *out, const void *report)
{
    const comparison *c = report;
    html page;
    char subtitle[1024];
    snprintf(subtitle, sizeof subtitle, "A: %s, B: %s", c->a, c->b);
    html_begin(&page, out, "qgc compare", subtitle);
    put_tiles(&page, c);
    compare_write_sections(&page, c);
    html_section(&page, "only", "In one graph only");
    put_only(&page, "A", c->report->only_a, c->report->num_only_a);
    put_only(&page, "B", c->report->only_b, c->report->num_only_b);
    html_end(&page);
}
