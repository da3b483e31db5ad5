#include "passes/qparams.h"

#include "base/number.h"
#include "passes/constants.h"
#include "passes/observers.h"
#include "passes/provenance.h"
#include "passes/recorders.h"
#include "passes/stats_record.h"
#include "runtime/hash.h"
#include "runtime/tensor.h"

#include <math.h>
#include <string.h>

bool qgc_method_read(qgc_str text, qgc_method *out)
{
    static const char *const words[] = {"minmax", "percentile:", "entropy", "mse"};
    for (int i = 0; i < 4; i++) {
        *out = (qgc_method){(qgc_range_method)i, 1};
        if (i != QGC_METHOD_PERCENTILE && qgc_str_equal(text, qgc_str_from(words[i])))
            return true;
    }
    size_t skip = strlen(words[QGC_METHOD_PERCENTILE]);
    if (!qgc_str_starts_with(text, words[QGC_METHOD_PERCENTILE]))
        return false;
    out->kind = QGC_METHOD_PERCENTILE;
    return qgc_parse_f64((qgc_str){text.data + skip, text.size - skip}, &out->share) &&
           out->share > 0 && out->share <= 1;
}

/* Observers that share parameters. */
typedef struct group {
    const qgc_node *root;
    QGC_VEC(const qgc_node *) members;
} group;

typedef struct decider {
    qgc_module *module;
    const qgc_method *method;
    qgc_arena *arena;
    qgc_map records;  /* observed value -> const qgc_record * */
    qgc_map group_of; /* root -> group * */
    QGC_VEC(group *) groups;
    qgc_map *out;
    qgc_result result;
} decider;

void qgc_decision_limits(const qgc_decision *d, double *out_lo, double *out_hi)
{
    double scale = (double)d->params[0].scale, zero = d->params[0].zero_point;
    *out_lo = (d->range.lo - zero) * scale;
    *out_hi = (d->range.hi - zero) * scale;
}

bool qgc_decision_clips(const qgc_decision *d, const qgc_stats *stats, double *out)
{
    double lo, hi, half = (double)d->params[0].scale / 2;
    qgc_decision_limits(d, &lo, &hi);
    return qgc_stats_share_outside(stats, lo - half, hi + half, out);
}

/* ---- whether the statistics are this graph's ---- */

static qgc_value *find_value(const qgc_module *module, const qgc_record *record)
{
    const qgc_func *func = qgc_module_find_func(module, record->func);
    return func ? qgc_func_find_value(func, record->value) : NULL;
}

/* By an observer, or by one that observes another: a value may be f16 first and integer then. */
static bool is_recorded(const qgc_value *value)
{
    for (const qgc_use *use = value ? value->first_use : NULL; use; use = use->next)
        if (use->user->op == QGC_OP_OBSERVE &&
            (qgc_observer_records(use->user) || is_recorded(&use->user->results[0])))
            return true;
    return false;
}

static bool names_another_graph(const decider *d)
{
    const qgc_record *record = d->module->provenance.size ? d->module->provenance.data : NULL;
    const qgc_attr *graph = record ? qgc_record_field(record, "graph") : NULL;
    if (!graph)
        return false;
    const char *hash = qgc_hash_text(d->arena, qgc_graph_hash(d->module));
    return graph->kind != QGC_ATTR_STRING || strcmp(graph->name->data, hash) != 0;
}

static void report_foreign(const decider *d, const qgc_text *missing, const qgc_text *unexpected)
{
    qgc_diag *diag = &d->module->context->diag;
    qgc_report(diag, QGC_NO_LOC, QGC_D_FOREIGN_STATS,
               "the statistics are those of another graph, or of other weights");
    if (missing->size)
        qgc_note(diag, QGC_NO_LOC, "missing:%s", missing->data);
    if (unexpected->size)
        qgc_note(diag, QGC_NO_LOC, "unexpected:%s", unexpected->data);
}

static void add_name(qgc_text *text, qgc_name func, qgc_name value)
{
    qgc_text_putc(text, ' ');
    qgc_func_name_print(text, func);
    qgc_text_putc(text, '.');
    qgc_value_name_print(text, value);
}

static void add_record_name(qgc_text *text, const qgc_record *record)
{
    add_name(text, record->func, record->value);
    if (!record->site)
        return;
    qgc_text_puts(text, " at ");
    qgc_value_name_print(text, record->site);
}

static bool is_call_site(const decider *d, const qgc_record *record)
{
    qgc_site_list sites = qgc_call_sites(qgc_module_find_func(d->module, record->func), d->arena);
    for (size_t i = 0; i < sites.size; i++)
        if (sites.data[i] == record->site)
            return true;
    return false;
}

static void list_missing(const decider *d, qgc_text *text)
{
    QGC_EACH_FUNC (func, d->module)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_OBSERVE && qgc_observer_records(node) &&
                !qgc_map_get(&d->records, qgc_observed_value(node)))
                add_name(text, func->name, qgc_observed_value(node)->name);
}

static qgc_result index_records(decider *d)
{
    qgc_text missing = {.arena = d->arena}, unexpected = {.arena = d->arena};
    for (size_t i = 0; i < d->module->stats.size; i++) {
        const qgc_record *record = &d->module->stats.data[i];
        const qgc_value *value = find_value(d->module, record);
        if (is_recorded(value) && !record->site)
            *qgc_map_at(&d->records, value) = (void *)record;
        else if (!is_recorded(value) || !is_call_site(d, record))
            add_record_name(&unexpected, record);
    }
    if (!unexpected.size && !names_another_graph(d))
        return QGC_OK;
    list_missing(d, &missing);
    report_foreign(d, &missing, &unexpected);
    return QGC_FAILED;
}

/* ---- groups ---- */

static void add_to_group(decider *d, const qgc_node *node)
{
    const qgc_node *root = qgc_observer_root(node);
    group **slot = (group **)qgc_map_at(&d->group_of, root);
    if (!*slot) {
        *slot = QGC_NEW(d->arena, group);
        (*slot)->root = root;
        qgc_vec_push(d->arena, &d->groups, *slot);
    }
    qgc_vec_push(d->arena, &(*slot)->members, node);
}

/* Every observer that nothing was recorded for is named. */
static void check_calibrated(decider *d, const qgc_node *node)
{
    const qgc_value *value = qgc_observed_value(node);
    if (!qgc_observer_records(node) || qgc_map_get(&d->records, value))
        return;
    qgc_report(&d->module->context->diag, node->loc, QGC_D_UNCALIBRATED,
               "%%%s of @%s has no statistics: calibrate the graph first", value->name->data,
               node->func->name->data);
    d->result = QGC_FAILED;
}

/* ---- statistics of a group ---- */

static qgc_observer wanted_observer(const qgc_spec *spec)
{
    return spec->observer == QGC_OBSERVE_HIST ? QGC_OBSERVER_HISTOGRAM : QGC_OBSERVER_MINMAX;
}

/* Ranges of minmax and moving averages are united; histograms merge. */
static qgc_stats_fault merge(qgc_stats *into, const qgc_stats *from)
{
    qgc_stats plain = *from;
    if (into->observer == QGC_OBSERVER_HISTOGRAM)
        return qgc_stats_merge(into, from);
    plain.observer = QGC_OBSERVER_MINMAX;
    plain.exp = plain.first = 0;
    plain.num_bins = 0;
    plain.bins = NULL;
    return qgc_stats_merge(into, &plain);
}

static qgc_result add_record(decider *d, const qgc_node *member, qgc_stats *into)
{
    qgc_stats stats;
    const qgc_value *value = qgc_observed_value(member);
    const qgc_record *record = qgc_map_get(&d->records, value);
    QGC_TRY(qgc_stats_from_record(d->module, record, d->arena, &stats));
    qgc_stats_fault fault = merge(into, &stats);
    if (fault == QGC_STATS_OK)
        return QGC_OK;
    return qgc_report(&d->module->context->diag, record->loc, QGC_D_BAD_STATS,
                      "statistics of %%%s: %s", value->name->data, qgc_stats_fault_text(fault));
}

/* Constants have no records: their range is in the data. */
static void add_constant(const qgc_decision *decision, const qgc_tensor *data, qgc_stats *into)
{
    size_t outer = 1, inner = 1, count = qgc_tensor_count(data);
    if (count == 0)
        return;
    if (decision->axis < 0) {
        qgc_stats_update(into, data->data, count);
        return;
    }
    for (uint32_t i = 0; i < (uint32_t)decision->axis; i++)
        outer *= (size_t)data->shape[i];
    for (uint32_t i = (uint32_t)decision->axis + 1; i < data->rank; i++)
        inner *= (size_t)data->shape[i];
    qgc_stats_update_channels(into, decision->num, data->data, outer, inner);
}

static qgc_result gather_stats(decider *d, const group *g, const qgc_decision *decision,
                               qgc_stats *stats)
{
    for (uint32_t i = 0; i < decision->num; i++)
        qgc_stats_init(&stats[i], wanted_observer(decision->spec), d->arena);
    for (size_t i = 0; i < g->members.size; i++) {
        const qgc_decision *member = qgc_map_get(d->out, g->members.data[i]);
        if (member->constant)
            add_constant(decision, member->constant, stats);
        else
            QGC_TRY(add_record(d, g->members.data[i], stats));
    }
    return QGC_OK;
}

/* ---- ranges ---- */

qgc_stats_fault qgc_method_range(const qgc_method *method, const qgc_stats *stats,
                                 const qgc_quant_spec *spec, qgc_range *out)
{
    if (stats->observer != QGC_OBSERVER_HISTOGRAM)
        return qgc_stats_range_minmax(stats, out);
    switch (method->kind) {
    case QGC_METHOD_PERCENTILE:
        return qgc_stats_range_percentile(stats, method->share, out);
    case QGC_METHOD_ENTROPY:
        return qgc_stats_range_entropy(stats, spec, out);
    case QGC_METHOD_MSE:
        return qgc_stats_range_mse(stats, spec, out);
    case QGC_METHOD_MINMAX:
        break;
    }
    return qgc_stats_range_minmax(stats, out);
}

/* A channel without a finite value, as of an empty weight, takes the range 0..0. */
static qgc_result decide_one(decider *d, const group *g, const qgc_stats *stats,
                             const qgc_quant_spec *spec, qgc_range *out_range, qgc_qparams *out)
{
    qgc_diag *diag = &d->module->context->diag;
    const char *name = qgc_observed_value(g->root)->name->data;
    qgc_range range = {0, 0};
    bool has_range = stats->min <= stats->max;
    qgc_stats_fault fault =
        has_range ? qgc_method_range(d->method, stats, spec, &range) : QGC_STATS_OK;
    if (fault != QGC_STATS_OK || (!has_range && stats->count))
        return qgc_report(diag, g->root->loc, QGC_D_UNCALIBRATED, "%%%s: %s", name,
                          qgc_stats_fault_text(has_range ? fault : QGC_STATS_EMPTY));
    *out_range = range;
    qgc_quant_fault bad = qgc_qparams_from_range(spec, range.lo, range.hi, out);
    if (bad == QGC_QUANT_OK)
        return QGC_OK;
    return qgc_report(diag, g->root->loc, QGC_D_BAD_QPARAMS, "%%%s: %s", name,
                      qgc_quant_fault_text(bad));
}

static qgc_result decide_own(decider *d, const group *g, qgc_decision *decision)
{
    qgc_quant_spec spec = qgc_spec_quant(decision->spec);
    qgc_stats *stats = QGC_NEW_ARRAY(d->arena, qgc_stats, decision->num);
    decision->range = spec.range;
    QGC_TRY(gather_stats(d, g, decision, stats));
    for (uint32_t i = 0; i < decision->num; i++)
        QGC_TRY(decide_one(d, g, &stats[i], &spec, &decision->span, &decision->params[i]));
    return QGC_OK;
}

/* Channels, from the root's data; every member must have as many. */
static qgc_result count_channels(decider *d, const group *g, qgc_decision *decision)
{
    const qgc_attr *axis = qgc_node_attr(g->root, "axis");
    decision->num = 1;
    decision->axis = -1;
    if (!axis)
        return QGC_OK;
    for (size_t i = 0; i < g->members.size; i++) {
        const qgc_decision *member = qgc_map_get(d->out, g->members.data[i]);
        const qgc_tensor *data = member->constant;
        int64_t at = data && axis->i < 0 ? axis->i + data->rank : axis->i;
        if (!data || at >= data->rank || (i && data->shape[at] != decision->num) ||
            data->shape[at] > UINT32_MAX)
            return qgc_report(&d->module->context->diag, g->members.data[i]->loc,
                              QGC_D_BAD_ANNOTATION,
                              "%%%s has a spec per channel, but is no constant with these channels",
                              qgc_observed_value(g->members.data[i])->name->data);
        decision->num = (uint32_t)data->shape[at];
        decision->axis = at;
    }
    return QGC_OK;
}

static qgc_result decide_group(decider *d, const group *g)
{
    qgc_decision decision = {.spec = qgc_observer_spec(g->root)};
    QGC_TRY(count_channels(d, g, &decision));
    if (decision.spec->dtype != QGC_DTYPE_F16 && !decision.spec->dynamic)
        decision.params = QGC_NEW_ARRAY(d->arena, qgc_qparams, decision.num);
    if (decision.spec->dynamic)
        decision.range = qgc_spec_quant(decision.spec).range;
    if (decision.spec->kind == QGC_SPEC_FIXED) {
        qgc_quant_dtype_range(decision.spec->dtype, &decision.range);
        decision.params[0] =
            (qgc_qparams){decision.spec->scale, (int32_t)decision.spec->zero_point};
    } else if (decision.params) {
        QGC_TRY(decide_own(d, g, &decision));
    }
    for (size_t i = 0; i < g->members.size; i++) {
        qgc_decision *member = qgc_map_get(d->out, g->members.data[i]);
        decision.constant = member->constant;
        decision.base = member->base;
        *member = decision;
    }
    return QGC_OK;
}

/* A bias that i32 does not hold would be cut to another number. */
static qgc_result check_bias(const decider *d, const group *g, const qgc_decision *own)
{
    const double most = 2147483647;
    const float *bias = own->constant->data;
    for (size_t i = 0; i < qgc_tensor_count(own->constant); i++) {
        double scale = (double)own->params[own->num > 1 ? i : 0].scale;
        double steps = (double)bias[i] / scale;
        if (!(fabs(steps) > most))
            continue;
        return qgc_report(
            &d->module->context->diag, g->root->loc, QGC_D_BAD_QPARAMS,
            "%%%s: its element %zu is %g, %.3g steps of the derived scale %g, and i32 "
            "has 2^31: leave the bias float",
            own->base->data, i, (double)bias[i], steps, scale);
    }
    return QGC_OK;
}

/* i32 with the product of two scales: biases. Channels are those of the weight. */
static qgc_result decide_derived(decider *d, const group *g)
{
    const qgc_spec *from = qgc_node_attr(g->root, "spec")->spec;
    qgc_decision *own = qgc_map_get(d->out, g->root);
    const qgc_decision *parts[2];
    qgc_diag *diag = &d->module->context->diag;
    for (int i = 0; i < 2; i++)
        parts[i] = qgc_map_get(d->out, qgc_func_find_value(g->root->func, from->values[i])->def);
    uint32_t num = parts[0]->num > parts[1]->num ? parts[0]->num : parts[1]->num;
    bool fits = parts[0]->params && parts[1]->params && own->constant &&
                (parts[0]->num == 1 || parts[1]->num == 1);
    if (!fits || (num > 1 && (own->constant->rank != 1 || own->constant->shape[0] != num)))
        return qgc_report(diag, g->root->loc, QGC_D_BAD_ANNOTATION,
                          "%%%s cannot be derived: it is no constant with a number for each of the "
                          "%u channels, or what it derives from is not quantized",
                          own->base->data, num);
    qgc_spec *spec = QGC_NEW(d->arena, qgc_spec);
    *spec = (qgc_spec){.kind = QGC_SPEC_OWN, .has_dtype = true, .dtype = QGC_DTYPE_I32};
    own->spec = spec;
    own->range = (qgc_int_range){INT32_MIN, INT32_MAX};
    own->num = num;
    own->axis = num > 1 ? 0 : -1;
    own->params = QGC_NEW_ARRAY(d->arena, qgc_qparams, num);
    for (uint32_t i = 0; i < num; i++) {
        float a = parts[0]->params[parts[0]->num > 1 ? i : 0].scale;
        own->params[i].scale = a * parts[1]->params[parts[1]->num > 1 ? i : 0].scale;
        qgc_quant_fault fault = qgc_quant_check_scale(own->params[i].scale);
        if (fault != QGC_QUANT_OK)
            return qgc_report(diag, g->root->loc, QGC_D_BAD_QPARAMS, "%%%s: derived %s",
                              own->base->data, qgc_quant_fault_text(fault));
    }
    return check_bias(d, g, own);
}

static void visit(decider *d, const qgc_node *node)
{
    qgc_decision *decision = QGC_NEW(d->arena, qgc_decision);
    decision->base = qgc_observed_value(node)->name;
    *qgc_map_at(d->out, node) = decision;
    add_to_group(d, node);
    check_calibrated(d, node);
    if (qgc_is_constant(node->operands[0].value) &&
        qgc_constant_data(node->operands[0].value, d->arena, &decision->constant) != QGC_OK)
        d->result = QGC_FAILED;
}

qgc_result qgc_decide(qgc_module *module, const qgc_method *method, qgc_arena *arena, qgc_map *out)
{
    decider d = {.module = module,
                 .method = method,
                 .arena = arena,
                 .records = {.arena = arena},
                 .group_of = {.arena = arena},
                 .out = out,
                 .result = QGC_OK};
    qgc_provenance_warn_unsealed(module);
    QGC_TRY(index_records(&d));
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            if (node->op == QGC_OP_OBSERVE)
                visit(&d, node);
    for (int derived = 0; derived < 2; derived++)
        for (size_t i = 0; i < d.groups.size && d.result == QGC_OK; i++) {
            const group *g = d.groups.data[i];
            bool is_derived = qgc_observer_spec(g->root)->kind == QGC_SPEC_DERIVE;
            if (is_derived == derived)
                d.result = derived ? decide_derived(&d, g) : decide_group(&d, g);
        }
    return d.result;
}
