#include "passes/convert_warn.h"

#include "passes/observers.h"
#include "passes/stats_record.h"

#include <inttypes.h>
#include <math.h>

typedef struct warner {
    qgc_module *module;
    const qgc_method *method;
    const qgc_cost_limits *limits;
    const qgc_map *decisions;
    qgc_arena *arena;
} warner;

/* ---- call sites ---- */

double qgc_sharing_cost(const qgc_method *method, const qgc_stats *stats, const qgc_decision *d)
{
    qgc_quant_spec spec = qgc_spec_quant(d->spec);
    qgc_range own;
    qgc_qparams params;
    double shared_error, own_error;
    if (qgc_method_range(method, stats, &spec, &own) != QGC_STATS_OK ||
        qgc_qparams_from_range(&spec, own.lo, own.hi, &params) != QGC_QUANT_OK)
        return 0;
    if (stats->observer != QGC_OBSERVER_HISTOGRAM)
        return 20 * log10((double)d->params[0].scale / (double)params.scale);
    if (qgc_stats_mean_squared_error(stats, &spec, d->span, &shared_error) != QGC_STATS_OK ||
        qgc_stats_mean_squared_error(stats, &spec, own, &own_error) != QGC_STATS_OK)
        return 0;
    return own_error > 0 && shared_error > 0 ? 10 * log10(shared_error / own_error) : 0;
}

static void warn_site(const warner *w, const qgc_record *record, const qgc_node *observer,
                      const qgc_stats *stats, const qgc_decision *d)
{
    double cost = qgc_sharing_cost(w->method, stats, d);
    if (cost > w->limits->sharing_db)
        qgc_report(&w->module->context->diag, observer->loc, QGC_D_SHARING_COSTS,
                   "%%%s of @%s: the range of all calls costs the call %%%s %.1f dB, against one "
                   "of its own",
                   record->value->data, record->func->data, record->site->data, cost);
}

/* ---- clipping ---- */

static void warn_clipped(const warner *w, const qgc_record *record, const qgc_node *observer,
                         const qgc_stats *stats, const qgc_decision *d)
{
    double clipped;
    if (!qgc_decision_clips(d, stats, &clipped) || clipped <= w->limits->clipped)
        return;
    qgc_report(&w->module->context->diag, observer->loc, QGC_D_CLIPPED,
               "%%%s of @%s: %.2f %% of the values lie outside the range", record->value->data,
               record->func->data, 100 * clipped);
}

/* ---- nothing to tell apart ---- */

/* A value of which all that was seen becomes one integer. */
static void warn_one_level(const warner *w, const qgc_record *record, const qgc_node *observer,
                           const qgc_stats *stats, const qgc_decision *d)
{
    qgc_diag *diag = &w->module->context->diag;
    const char *value = record->value->data, *func = record->func->data;
    double scale = (double)d->params[0].scale;
    uint64_t count = stats->count - stats->nan - stats->pos_inf - stats->neg_inf;
    if (count < 2)
        return;
    if (stats->min == stats->max)
        qgc_report(diag, observer->loc, QGC_D_ONE_LEVEL,
                   "%%%s of @%s: all %" PRIu64 " values are %g", value, func, count,
                   (double)stats->min);
    else if (rint((double)stats->min / scale) == rint((double)stats->max / scale))
        qgc_report(diag, observer->loc, QGC_D_ONE_LEVEL,
                   "%%%s of @%s: the values from %g to %g all become one, the scale is %g", value,
                   func, (double)stats->min, (double)stats->max, scale);
}

/* ---- records ---- */

/* The first observer that has recorded the value. */
static const qgc_node *observer_of(const qgc_module *module, const qgc_record *record)
{
    const qgc_func *func = qgc_module_find_func(module, record->func);
    const qgc_value *value = func ? qgc_func_find_value(func, record->value) : NULL;
    for (const qgc_use *use = value ? value->first_use : NULL; use; use = use->next)
        if (use->user->op == QGC_OP_OBSERVE && qgc_observer_records(use->user))
            return use->user;
    return NULL;
}

const qgc_decision *qgc_record_decision(qgc_module *module, const qgc_record *record,
                                        const qgc_map *decisions, const qgc_node **out_observer)
{
    const qgc_node *observer = observer_of(module, record);
    const qgc_decision *d = observer ? qgc_map_get(decisions, observer) : NULL;
    if (out_observer)
        *out_observer = observer;
    return d && d->params && d->axis < 0 ? d : NULL;
}

static void warn_value(const warner *w, const qgc_record *record, const qgc_node *observer,
                       const qgc_stats *stats, const qgc_decision *d)
{
    warn_clipped(w, record, observer, stats, d);
    warn_one_level(w, record, observer, stats, d);
}

static qgc_result visit(const warner *w, const qgc_record *record)
{
    qgc_stats stats;
    const qgc_node *observer = NULL;
    const qgc_decision *d = qgc_record_decision(w->module, record, w->decisions, &observer);
    if (!d)
        return QGC_OK;
    QGC_TRY(qgc_stats_from_record(w->module, record, w->arena, &stats));
    if (stats.min <= stats.max)
        (record->site ? warn_site : warn_value)(w, record, observer, &stats, d);
    return QGC_OK;
}

qgc_result qgc_warn_costs(qgc_module *module, const qgc_method *method, const qgc_map *decisions,
                          const qgc_cost_limits *limits, qgc_arena *arena)
{
    warner w = {module, method, limits, decisions, arena};
    for (size_t i = 0; i < module->stats.size; i++) {
        qgc_arena_mark mark = qgc_arena_get_mark(arena);
        qgc_result result = visit(&w, &module->stats.data[i]);
        qgc_arena_reset(arena, mark);
        QGC_TRY(result);
    }
    return QGC_OK;
}
