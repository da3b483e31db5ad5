#include "passes/recorders.h"

#include "passes/observers.h"
#include "passes/stats_record.h"
#include "runtime/tensor.h"

qgc_func *qgc_value_func(const qgc_module *module, const qgc_value *value)
{
    if (value->def)
        return value->def->func;
    QGC_EACH_FUNC (func, module)
        if (qgc_func_find_value(func, value->name) == value)
            return func;
    return NULL;
}

/* ---- call sites ---- */

static bool calls(const qgc_node *node, const qgc_func *func)
{
    return qgc_node_op(node)->traits & QGC_TRAIT_CALL && node->num_results &&
           node->attrs[0].kind == QGC_ATTR_FUNC && node->attrs[0].name == func->name;
}

static bool has_site(const qgc_site_list *sites, qgc_name name)
{
    for (size_t i = 0; i < sites->size; i++)
        if (sites->data[i] == name)
            return true;
    return false;
}

qgc_site_list qgc_call_sites(const qgc_func *func, qgc_arena *arena)
{
    qgc_site_list sites = {0};
    QGC_EACH_FUNC (caller, func->module)
        QGC_EACH_NODE (node, caller)
            if (calls(node, func) && !has_site(&sites, node->results[0].name))
                qgc_vec_push(arena, &sites, node->results[0].name);
    return sites;
}

/* ---- what is recorded ---- */

static qgc_observer observer_kind(const qgc_spec *spec)
{
    static const qgc_observer kinds[] = {
        [QGC_OBSERVE_NONE] = QGC_OBSERVER_HISTOGRAM, /* not reached: such a spec does not verify */
        [QGC_OBSERVE_MINMAX] = QGC_OBSERVER_MINMAX,
        [QGC_OBSERVE_AVG] = QGC_OBSERVER_MOVING_AVERAGE,
        [QGC_OBSERVE_HIST] = QGC_OBSERVER_HISTOGRAM,
    };
    return kinds[spec->observer];
}

static qgc_recorder *add_recorder(qgc_recorders *r, const qgc_value *value, qgc_name site,
                                  qgc_observer kind)
{
    qgc_recorder *recorder = QGC_NEW(r->arena, qgc_recorder);
    recorder->value = value;
    recorder->site = site;
    qgc_stats_init(&recorder->stats, kind, r->arena);
    qgc_vec_push(r->arena, &r->list, recorder);
    return recorder;
}

/* Two observers of one value record once; a histogram holds what minmax needs. */
static qgc_result add_observer(qgc_recorders *r, const qgc_node *node, bool wants_histograms)
{
    const qgc_spec *spec = qgc_observer_spec(node);
    qgc_observer kind = wants_histograms ? QGC_OBSERVER_HISTOGRAM : observer_kind(spec);
    const qgc_value *value = qgc_observed_value(node);
    qgc_diag *diag = &r->module->context->diag;
    if (spec->per_channel)
        return qgc_report(diag, node->loc, QGC_D_BAD_ANNOTATION,
                          "%%%s is not constant: only constants have ranges per channel",
                          value->name->data);
    qgc_recorder **slot = (qgc_recorder **)qgc_map_at(&r->of_value, value);
    if (!*slot) {
        *slot = add_recorder(r, value, NULL, kind);
        *qgc_map_at(&r->of_observer, &node->results[0]) = *slot;
        return QGC_OK;
    }
    qgc_observer old = (*slot)->stats.observer;
    bool averages = old == QGC_OBSERVER_MOVING_AVERAGE || kind == QGC_OBSERVER_MOVING_AVERAGE;
    if (averages && old != kind)
        return qgc_report(diag, node->loc, QGC_D_BAD_ANNOTATION,
                          "%%%s is observed by a moving average and otherwise too",
                          value->name->data);
    if (kind == QGC_OBSERVER_HISTOGRAM && old != kind)
        qgc_stats_init(&(*slot)->stats, kind, r->arena);
    return QGC_OK;
}

/* The list again, with the call sites of each value behind it. */
static void add_sites(qgc_recorders *r)
{
    qgc_recorder **shared = r->list.data;
    size_t num = r->list.size;
    const qgc_func *func = NULL;
    qgc_site_list sites = {0};
    r->list.data = NULL;
    r->list.size = r->list.capacity = 0;
    for (size_t i = 0; i < num; i++) {
        const qgc_func *own = qgc_value_func(r->module, shared[i]->value);
        if (own != func)
            sites = qgc_call_sites(own, r->arena);
        func = own;
        qgc_vec_push(r->arena, &r->list, shared[i]);
        qgc_recorder *last = shared[i];
        for (size_t k = 0; sites.size > 1 && k < sites.size; k++) {
            last->next_site =
                add_recorder(r, shared[i]->value, sites.data[k], shared[i]->stats.observer);
            last = last->next_site;
        }
    }
}

qgc_result qgc_recorders_build(qgc_recorders *r, qgc_module *module, qgc_arena *arena,
                               bool wants_histograms)
{
    *r = (qgc_recorders){.module = module,
                         .arena = arena,
                         .of_value = {.arena = arena},
                         .of_observer = {.arena = arena}};
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_OBSERVE && qgc_observer_records(node))
                QGC_TRY(add_observer(r, node, wants_histograms));
    add_sites(r);
    return QGC_OK;
}

void qgc_recorders_update(qgc_recorders *r, const qgc_node *call, const qgc_value *value,
                          const qgc_tensor *tensor)
{
    qgc_recorder *shared = qgc_map_get(&r->of_observer, value);
    if (!shared)
        return;
    qgc_stats_update(&shared->stats, tensor->data, qgc_tensor_count(tensor));
    for (qgc_recorder *at = shared->next_site; call && at; at = at->next_site)
        if (at->site == call->results[0].name)
            qgc_stats_update(&at->stats, tensor->data, qgc_tensor_count(tensor));
}

/* ---- records ---- */

static qgc_recorder *find(const qgc_recorders *r, const qgc_record *record)
{
    const qgc_func *func = qgc_module_find_func(r->module, record->func);
    const qgc_value *value = func ? qgc_func_find_value(func, record->value) : NULL;
    qgc_recorder *at = value ? qgc_map_get(&r->of_value, value) : NULL;
    while (at && at->site != record->site)
        at = at->next_site;
    return at;
}

static qgc_stats_fault merge(qgc_recorder *into, const qgc_stats *from)
{
    uint64_t *bins = into->stats.bins;
    if (into->stats.count || into->stats.observer != from->observer)
        return qgc_stats_merge(&into->stats, from);
    into->stats = *from;
    into->stats.bins = bins;
    for (uint32_t i = 0; i < from->num_bins; i++)
        bins[i] = from->bins[i];
    return QGC_STATS_OK;
}

static qgc_result add_record(qgc_recorders *r, qgc_module *from, const qgc_record *record,
                             qgc_arena *scratch)
{
    qgc_diag *diag = &r->module->context->diag;
    qgc_stats stats;
    qgc_recorder *into = find(r, record);
    if (!into)
        return qgc_report(diag, record->loc, QGC_D_FOREIGN_STATS,
                          "statistics of %%%s of @%s%s%s: the graph observes no such value",
                          record->value->data, record->func->data, record->site ? " at %" : "",
                          record->site ? record->site->data : "");
    QGC_TRY(qgc_stats_from_record(from, record, scratch, &stats));
    qgc_stats_fault fault = merge(into, &stats);
    if (fault == QGC_STATS_OK)
        return QGC_OK;
    return qgc_report(diag, record->loc, QGC_D_BAD_STATS, "statistics of %%%s: %s",
                      record->value->data, qgc_stats_fault_text(fault));
}

qgc_result qgc_recorders_add(qgc_recorders *r, qgc_module *from)
{
    qgc_arena scratch = {0};
    qgc_result result = QGC_OK;
    for (size_t i = 0; i < from->stats.size && result == QGC_OK; i++) {
        qgc_arena_mark mark = qgc_arena_get_mark(&scratch);
        result = add_record(r, from, &from->stats.data[i], &scratch);
        qgc_arena_reset(&scratch, mark);
    }
    qgc_arena_destroy(&scratch);
    return result;
}

void qgc_recorders_write(const qgc_recorders *r, qgc_module *into)
{
    into->stats.size = 0;
    for (size_t i = 0; i < r->list.size; i++) {
        const qgc_recorder *recorder = r->list.data[i];
        if (!recorder->stats.count)
            continue;
        qgc_record record = {.func = qgc_value_func(r->module, recorder->value)->name,
                             .value = recorder->value->name,
                             .site = recorder->site,
                             .fields = qgc_stats_to_attr(into, &recorder->stats)};
        qgc_vec_push(&into->arena, &into->stats, record);
    }
}
