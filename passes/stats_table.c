/* Statistics as tables: what was seen, and how other data fits the ranges that follow from it. */
#include "passes/data_pass.h"
#include "passes/observers.h"
#include "passes/provenance.h"
#include "passes/qparams.h"
#include "passes/stats_record.h"
#include "qgc/stats.h"
#include "runtime/hash.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct table {
    qgc_module *module;
    qgc_arena arena;
    qgc_recorders recorders;
    qgc_map decisions; /* observer -> qgc_decision * */
    qgc_map of_value;  /* observed value -> that of its first observer */
    int width;         /* of the names */
} table;

static const char *name_of(table *t, const qgc_recorder *r)
{
    qgc_text text = {.arena = &t->arena};
    qgc_func_name_print(&text, qgc_value_func(t->module, r->value)->name);
    qgc_text_putc(&text, '.');
    qgc_value_name_print(&text, r->value->name);
    if (r->site) {
        qgc_text_puts(&text, " at ");
        qgc_value_name_print(&text, r->site);
    }
    return text.data;
}

static qgc_result decide(table *t, const char *text)
{
    qgc_method method;
    qgc_diag *diag = &t->module->context->diag;
    if (!qgc_method_read(qgc_str_from(text), &method))
        return qgc_report(
            diag, QGC_NO_LOC, QGC_D_USAGE,
            "method %s: expected minmax, percentile:P with 0 < P <= 1, entropy or mse", text);
    if (t->module->form != QGC_FORM_CALIBRATED)
        return qgc_report(diag, QGC_NO_LOC, QGC_D_BAD_FORM,
                          "statistics are those of a graph of form calibrated, here it is %s",
                          qgc_form_name(t->module->form));
    QGC_TRY(qgc_decide(t->module, &method, &t->arena, &t->decisions));
    QGC_EACH_FUNC (func, t->module)
        QGC_EACH_NODE (node, func) {
            void **slot = node->op == QGC_OP_OBSERVE && qgc_observer_records(node)
                              ? qgc_map_at(&t->of_value, qgc_observed_value(node))
                              : NULL;
            if (slot && !*slot)
                *slot = qgc_map_get(&t->decisions, node);
        }
    return QGC_OK;
}

static qgc_result prepare(table *t, const char *method, bool wants_histograms)
{
    t->decisions.arena = t->of_value.arena = &t->arena;
    QGC_TRY(decide(t, method));
    QGC_TRY(qgc_recorders_build(&t->recorders, t->module, &t->arena, wants_histograms));
    for (size_t i = 0; i < t->recorders.list.size; i++) {
        int size = (int)strlen(name_of(t, t->recorders.list.data[i]));
        t->width = size > t->width ? size : t->width;
    }
    return QGC_OK;
}

/* ---- what a range does ---- */

/* log2 of the number of levels from that of the minimum to that of the maximum. */
static double bits_used(const qgc_stats *stats, const qgc_decision *d)
{
    int32_t lo = qgc_quantize(stats->min, d->params[0], d->range, QGC_QUANTIZE_MULTIPLY);
    int32_t hi = qgc_quantize(stats->max, d->params[0], d->range, QGC_QUANTIZE_MULTIPLY);
    return log2((double)hi - lo + 1);
}

static double unused_share(const qgc_stats *stats, double lo, double hi)
{
    double first = (double)stats->min > lo ? (double)stats->min : lo;
    double last = (double)stats->max < hi ? (double)stats->max : hi;
    return first < last ? 1 - (last - first) / (hi - lo) : 1;
}

/* ---- print ---- */

static void print_range(const qgc_stats *stats, FILE *out)
{
    if (stats->min <= stats->max)
        fprintf(out, " %12.6g %12.6g", (double)stats->min, (double)stats->max);
    else
        fprintf(out, " %12s %12s", "-", "-");
}

static void print_record(table *t, const qgc_recorder *r, FILE *out)
{
    const qgc_decision *d = qgc_map_get(&t->of_value, r->value);
    double clipped;
    fprintf(out, "%-*s %12" PRIu64, t->width, name_of(t, r), r->stats.count);
    print_range(&r->stats, out);
    fprintf(out, " %12" PRIu64, r->stats.zeros);
    if (qgc_decision_clips(d, &r->stats, &clipped))
        fprintf(out, " %8.3f%%", 100 * clipped);
    else
        fprintf(out, " %9s", "-");
    if (r->stats.min <= r->stats.max)
        fprintf(out, " %5.2f/%.0f\n", bits_used(&r->stats, d),
                ceil(log2((double)d->range.hi - d->range.lo + 1)));
    else
        fprintf(out, " %5s\n", "-");
}

static qgc_result print_stats(table *t, const char *method, FILE *out)
{
    QGC_TRY(prepare(t, method, false));
    QGC_TRY(qgc_recorders_add(&t->recorders, t->module));
    fprintf(out, "%-*s %12s %12s %12s %12s %9s  bits\n", t->width, "value", "count", "min", "max",
            "zeros", "clipped");
    for (size_t i = 0; i < t->recorders.list.size; i++)
        if (t->recorders.list.data[i]->stats.count)
            print_record(t, t->recorders.list.data[i], out);
    return QGC_OK;
}

qgc_result qgc_module_print_stats(qgc_module *module, const char *method, FILE *out)
{
    table t = {.module = module};
    qgc_result result = print_stats(&t, method, out);
    qgc_arena_destroy(&t.arena);
    return result;
}

/* ---- check ---- */

static double print_fit(table *t, const qgc_recorder *r, FILE *out)
{
    const qgc_decision *d = qgc_map_get(&t->of_value, r->value);
    double lo, hi, clipped = 0;
    qgc_decision_limits(d, &lo, &hi);
    qgc_decision_clips(d, &r->stats, &clipped); /* a histogram: always known */
    fprintf(out, "%-*s", t->width, name_of(t, r));
    print_range(&r->stats, out);
    fprintf(out, " %12.6g %12.6g %8.3f%% %8.2f%%\n", lo, hi, 100 * clipped,
            100 * unused_share(&r->stats, lo, hi));
    return clipped;
}

static void warn_unlike(table *t, const qgc_recorder *r, double clipped, double limit)
{
    if (clipped > limit)
        qgc_report(&t->module->context->diag, r->value->loc, QGC_D_UNLIKE_DATA,
                   "%s: %.3f %% of the new values are clipped", name_of(t, r), 100 * clipped);
}

/* Whether the data is that of the provenance. */
static qgc_result check_same(table *t, const qgc_data_pass *pass)
{
    const qgc_record *record = t->module->provenance.size ? t->module->provenance.data : NULL;
    const qgc_attr *data = record ? qgc_record_field(record, "data") : NULL;
    const qgc_attr *samples = record ? qgc_record_field(record, "samples") : NULL;
    const char *hash = qgc_hash_text(&t->arena, pass->data_hash);
    bool is_count = samples && samples->kind == QGC_ATTR_INT &&
                    (uint64_t)samples->i == (uint64_t)pass->num_samples;
    if (is_count && data && data->kind == QGC_ATTR_STRING && strcmp(data->name->data, hash) == 0)
        return QGC_OK;
    return qgc_report(&t->module->context->diag, record ? record->loc : QGC_NO_LOC,
                      QGC_D_OTHER_DATA,
                      "the statistics were not made with %s: its %zu samples have the hash %s",
                      qgc_samples_text(&t->arena, pass->samples), pass->num_samples, hash);
}

static qgc_result check_stats(table *t, const qgc_samples *samples, const qgc_check_options *o,
                              FILE *out, double *out_clipped)
{
    QGC_TRY(prepare(t, o->method, true));
    qgc_data_pass pass = {.recorders = &t->recorders,
                          .func = o->func,
                          .samples = samples,
                          .engine = o->engine,
                          .progress = o->progress,
                          .user = o->user};
    QGC_TRY(qgc_data_pass_run(&pass));
    fprintf(out, "%-*s %12s %12s %12s %12s %9s %9s\n", t->width, "value", "min", "max", "range",
            "to", "clipped", "unused");
    if (o->same_data)
        QGC_TRY(check_same(t, &pass));
    *out_clipped = 0;
    for (size_t i = 0; i < t->recorders.list.size; i++) {
        if (!t->recorders.list.data[i]->stats.count)
            continue;
        double clipped = print_fit(t, t->recorders.list.data[i], out);
        warn_unlike(t, t->recorders.list.data[i], clipped, o->max_clipped);
        *out_clipped = clipped > *out_clipped ? clipped : *out_clipped;
    }
    return QGC_OK;
}

qgc_result qgc_module_check_stats(qgc_module *module, const qgc_samples *samples,
                                  const qgc_check_options *options, FILE *out, double *out_clipped)
{
    table t = {.module = module};
    qgc_result result = check_stats(&t, samples, options, out, out_clipped);
    qgc_arena_destroy(&t.arena);
    return result;
}
