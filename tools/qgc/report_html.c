/* The page of --report. */
#include "report.h"

#include "diff.h"

#include <math.h>

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- what is read first ---- */

static double worst_output(const qgc_compare_report *values)
{
    double worst = INFINITY;
    for (size_t i = 0; i < values->num_rows; i++)
        if (values->rows[i].is_output)
            worst = fmin(worst, values->rows[i].sqnr);
    return worst;
}

static html_tone tone_above(double value, double good, double fair)
{
    return value >= good ? HTML_GOOD : value >= fair ? HTML_WARN : HTML_BAD;
}

static void put_top1(html *page, const quantize_report *r)
{
    const qgc_eval_report *a = &r->float_accuracy, *b = &r->accuracy;
    if (!b->has_labels)
        return;
    double before = percent((double)a->top1, (double)a->answers);
    double after = percent((double)b->top1, (double)b->answers);
    html_tile(page, HTML_PLAIN, "top-1 in floats", "%.2f %%", before);
    html_tile(page, tone_above(after - before, -0.5, -2), "top-1 quantized", "%.2f %%", after);
}

static void put_speed(html *page, double before, double after)
{
    if (!(before > 0) || !(after > 0))
        return;
    if (after > before)
        html_tile(page, HTML_BAD, "slower", "%.1f\xc3\x97", after / before);
    else
        html_tile(page, tone_above(before / after, 1.2, 1), "faster", "%.1f\xc3\x97",
                  before / after);
}

static void put_tiles(html *page, const quantize_report *r)
{
    double agree = percent((double)r->accuracy.agree, (double)r->accuracy.answers);
    double output = worst_output(&r->values);
    double integers = percent(r->after.quantized_macs, r->after.macs);
    html_tiles_begin(page);
    put_top1(page, r);
    if (r->accuracy.classes > 1)
        html_tile(page, tone_above(agree, 99, 95), "same answer as in floats", "%.2f %%", agree);
    if (isfinite(output))
        html_tile(page, tone_above(output, 20, 10), "signal to error, worst output", "%.1f dB",
                  output);
    html_tile(page, tone_above(integers, 95, 50), "multiply-adds on integers", "%.1f %%", integers);
    if (r->after.constant_bytes)
        html_tile(page, HTML_PLAIN, "smaller weights", "%.1f\xc3\x97",
                  (double)r->before.constant_bytes / (double)r->after.constant_bytes);
    put_speed(page, r->seconds[0], r->seconds[1]);
    html_tiles_end(page);
}

static void put_pair(html *page, const char *title, double before, double after, const char *unit)
{
    double most = fmax(before, after);
    if (!(most > 0))
        return;
    html_bars_begin(page, title);
    html_bar(page, HTML_MUTED, "float", before / most, "%.4g %s", before, unit);
    html_bar(page, HTML_PLAIN, "quantized", after / most, "%.4g %s", after, unit);
    html_bars_end(page);
}

static void put_sizes(html *page, double before, double after)
{
    bool is_large = before >= 1 << 20;
    double unit = is_large ? 1 << 20 : 1 << 10;
    put_pair(page, "Weights and other constants", before / unit, after / unit,
             is_large ? "MiB" : "KiB");
}

static void put_summary(html *page, const quantize_report *r)
{
    html_section(page, "summary", "Summary");
    put_tiles(page, r);
    html_write(page, "<div class=columns>");
    put_sizes(page, (double)r->before.constant_bytes, (double)r->after.constant_bytes);
    put_pair(page, "Time of one sample, one by one", 1e3 * r->seconds[0], 1e3 * r->seconds[1],
             "ms");
    html_write(page, "</div>");
    html_write(page,
               "<p class=note>%zu samples; machine code for this processor. %.4g million "
               "multiply-adds a sample.</p>\n",
               r->accuracy.samples, r->before.macs / 1e6);
}

/* ---- sensitivity ---- */

/* Error energy of a trial by that of the worst one: rows come worst first. */
static double share_of_worst(const qgc_sens_report *s, size_t i)
{
    return s->rows[0].mse > 0 ? s->rows[i].mse / s->rows[0].mse : 0;
}

static void put_trial(html *page, const qgc_sens_report *s, size_t i)
{
    const qgc_sens_row *row = &s->rows[i];
    double agree = percent((double)row->agree, (double)s->answers);
    html_row(page);
    html_value(page, row->name);
    html_write(page, "<td>%s</td><td>%s</td><td>%s</td>", row->is_weight ? "weight" : "activation",
               row->op, row->dtype);
    html_number(page, "%.1f", isfinite(row->sqnr) ? row->sqnr : (double)NAN);
    html_write(page, "<td class=n>%.2f %%</td><td>", agree);
    html_plot_share(page, HTML_PLAIN, share_of_worst(s, i));
    html_write(page, "</td>");
}

static void put_sensitivity(html *page, const quantize_report *r)
{
    static const char *const COLUMNS[] = {"value",    "kind",         "op",   "type",
                                          "#SQNR dB", "#same answer", "error"};
    const qgc_sens_report *s = &r->sensitivity;
    if (!s->num_rows)
        return;
    html_section(page, "sensitivity", "Sensitivity");
    html_write(page,
               "<p>Each value quantized alone, all others in floats, on %zu samples: how far the "
               "outputs are off. The first ones are worth more bits.</p>\n",
               s->samples);
    html_table_begin(page, sizeof COLUMNS / sizeof *COLUMNS, COLUMNS);
    for (size_t i = 0; i < s->num_rows; i++)
        put_trial(page, s, i);
    html_table_end(page);
    if (s->num_left)
        html_write(page,
                   "<p class=note>%zu values whose own error is smallest were not tried.</p>\n",
                   s->num_left);
}

/* ---- what becomes of the ops ---- */

static void put_regions(html *page, const quantize_report *r)
{
    static const char *const COLUMNS[] = {"region", "target", "#ops", "#multiply-adds", "of all"};
    const qgc_explained_region *region;
    html_table_begin(page, sizeof COLUMNS / sizeof *COLUMNS, COLUMNS);
    for (size_t i = 0; (region = qgc_explain_region(r->explain, i)); i++) {
        double share = r->before.macs > 0 ? region->macs / r->before.macs : 0;
        html_row(page);
        html_write(page,
                   "<td class=ir>%s<br><span class=muted>from %s<br>to %s</span></td><td>%s</td>"
                   "<td class=n>%zu</td>",
                   region->name, region->begins, region->ends, region->target, region->ops);
        html_write(page, "<td class=n>%.4g M</td><td>", region->macs / 1e6);
        html_plot_share(page, HTML_PLAIN, share);
        html_write(page, " %.1f %%</td>", 100 * share);
    }
    html_table_end(page);
}

static void put_fate(html *page, const qgc_explained_op *op)
{
    static const html_tone TONES[QGC_NUM_FATES] = {[QGC_FATE_CLAIMED] = HTML_GOOD,
                                                   [QGC_FATE_UNCLAIMED] = HTML_BAD,
                                                   [QGC_FATE_INTEGER] = HTML_PLAIN,
                                                   [QGC_FATE_FLOAT] = HTML_WARN,
                                                   [QGC_FATE_GONE] = HTML_MUTED};
    html_write(page, "<td>");
    html_badge(page, TONES[op->fate], qgc_fate_name(op->fate));
    html_write(page, "</td>");
}

static void put_op(html *page, const qgc_explained_op *op)
{
    html_row(page);
    html_value(page, op->value);
    html_write(page, "<td>%s</td>", op->op);
    put_fate(page, op);
    html_write(page, "<td>%s", op->how ? op->how : "");
    if (op->fix)
        html_write(page, "<br><b>%s</b>", op->fix);
    html_write(page, "</td><td class=n>");
    if (op->macs > 0)
        html_write(page, "%.4g M", op->macs / 1e6);
    html_write(page, "</td>");
}

static void put_ops(html *page, const quantize_report *r)
{
    static const char *const COLUMNS[] = {"value", "op", "fate", "how, or why not",
                                          "#multiply-adds"};
    const qgc_explained_op *op;
    html_table_begin(page, sizeof COLUMNS / sizeof *COLUMNS, COLUMNS);
    for (size_t i = 0; (op = qgc_explain_op(r->explain, i)); i++)
        put_op(page, op);
    html_table_end(page);
}

static void put_explanation(html *page, const quantize_report *r)
{
    size_t num[QGC_NUM_FATES] = {0};
    const qgc_explained_op *op;
    for (size_t i = 0; (op = qgc_explain_op(r->explain, i)); i++)
        num[op->fate]++;
    html_section(page, "regions", "Ops and regions");
    html_tiles_begin(page);
    html_tile(page, HTML_PLAIN, "ops in regions", "%zu", num[QGC_FATE_CLAIMED]);
    html_tile(page, num[QGC_FATE_UNCLAIMED] ? HTML_BAD : HTML_MUTED, "not claimed", "%zu",
              num[QGC_FATE_UNCLAIMED]);
    if (num[QGC_FATE_INTEGER])
        html_tile(page, HTML_PLAIN, "on integers, in no region", "%zu", num[QGC_FATE_INTEGER]);
    html_tile(page, num[QGC_FATE_FLOAT] ? HTML_WARN : HTML_MUTED, "in floats", "%zu",
              num[QGC_FATE_FLOAT]);
    html_tile(page, HTML_MUTED, "folded or deleted", "%zu", num[QGC_FATE_GONE]);
    html_tiles_end(page);
    if (qgc_explain_region(r->explain, 0))
        put_regions(page, r);
    html_write(page, "<p></p>");
    put_ops(page, r);
}

/* ---- the page ---- */

void report_write_html(FILE *out, const void *report)
{
    const quantize_report *r = report;
    html page;
    char subtitle[1024];
    snprintf(subtitle, sizeof subtitle, "%s \xe2\x86\x92 %s", r->model, r->output);
    html_begin(&page, out, "qgc quantize", subtitle);
    put_summary(&page, r);
    findings_write_section(&page, &r->findings, "What looks wrong", false);
    comparison c = {&r->values, r->model, r->output, 10, "sqnr"};
    compare_write_sections(&page, &c);
    put_sensitivity(&page, r);
    put_explanation(&page, r);
    diff_write_sections(&page, r->diff, "What changed", HTML_PLAIN);
    html_end(&page);
}
