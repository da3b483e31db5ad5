/* Checks of functions that several places call: what one set of parameters for all costs. */
#include "passes/convert_warn.h"
#include "passes/qparams.h"
#include "passes/report/check.h"
#include "passes/stats_record.h"

uint32_t qgc_count_calls(const qgc_module *module, const qgc_func *callee)
{
    uint32_t num = 0;
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            num +=
                qgc_node_op(node)->traits & QGC_TRAIT_CALL && node->attrs[0].name == callee->name;
    return num;
}

/* ---- costs ---- */

/* That of one value at one call. */
typedef struct site_cost {
    const qgc_record *record;
    double db;
} site_cost;

typedef struct qgc_site_costs {
    QGC_VEC(site_cost) list;
} site_costs;

static bool has_sites(const qgc_module *stats)
{
    for (size_t i = 0; i < stats->stats.size; i++)
        if (stats->stats.data[i].site)
            return true;
    return false;
}

static qgc_result add_cost(qgc_checker *c, const qgc_record *record, const qgc_method *method,
                           const qgc_map *decisions, site_costs *out)
{
    qgc_stats stats;
    const qgc_decision *decision = qgc_record_decision(c->stats, record, decisions, NULL);
    if (!record->site || !decision)
        return QGC_OK;
    QGC_TRY(qgc_stats_from_record(c->stats, record, c->arena, &stats));
    site_cost cost = {record, 0};
    if (!(stats.min <= stats.max))
        return QGC_OK;
    cost.db = qgc_sharing_cost(method, &stats, decision);
    qgc_vec_push(c->arena, &out->list, cost);
    return QGC_OK;
}

/* Nothing where there are no statistics of calls, or where convert would refuse them. Takes a
 * search for the best range of every value, so both checks have it from one. */
static const site_costs *measure(qgc_checker *c)
{
    qgc_diag *diag = &c->context->diag;
    size_t before = diag->list.size;
    qgc_method method = {QGC_METHOD_MSE, 1};
    qgc_map decisions = {.arena = c->arena};
    if (c->site_costs)
        return c->site_costs;
    site_costs *costs = QGC_NEW(c->arena, site_costs);
    c->site_costs = costs;
    if (c->stats->form != QGC_FORM_CALIBRATED || !has_sites(c->stats))
        return costs;
    qgc_result result = qgc_decide(c->stats, &method, c->arena, &decisions);
    for (size_t i = 0; result == QGC_OK && i < c->stats->stats.size; i++)
        result = add_cost(c, &c->stats->stats.data[i], &method, &decisions, costs);
    qgc_diag_rollback(diag, before);
    return costs;
}

/* ---- checks ---- */

static const site_cost *worst_of(const site_costs *costs, const qgc_func *func)
{
    const site_cost *worst = NULL;
    for (size_t i = 0; i < costs->list.size; i++) {
        const site_cost *cost = &costs->list.data[i];
        if (cost->record->func == func->name && (!worst || cost->db > worst->db))
            worst = cost;
    }
    return worst;
}

void qgc_check_sharing(qgc_checker *c)
{
    const site_costs *costs = measure(c);
    QGC_EACH_FUNC (func, c->module) {
        uint32_t num = func->target ? 0 : qgc_count_calls(c->module, func);
        const site_cost *worst = worst_of(costs, func);
        if (num < 2)
            continue;
        if (!worst)
            qgc_find(c, func->first, "@%s is called from %u places, which share its parameters",
                     func->name->data, num);
        else
            qgc_find(c, func->first,
                     "@%s is called from %u places, which share its parameters: at most %.1f dB, "
                     "which %%%s costs the call %%%s",
                     func->name->data, num, worst->db, worst->record->value->data,
                     worst->record->site->data);
    }
}

/* The node that the finding is about: what gives the value, or the function's first. */
static const qgc_node *place_of(const qgc_func *func, const qgc_record *record)
{
    const qgc_value *value = qgc_func_find_value(func, record->value);
    return value && value->def ? value->def : func->first;
}

void qgc_check_sharing_costs(qgc_checker *c)
{
    const site_costs *costs = measure(c);
    for (size_t i = 0; i < costs->list.size; i++) {
        const qgc_record *record = costs->list.data[i].record;
        const qgc_func *func = qgc_module_find_func(c->module, record->func);
        if (func && costs->list.data[i].db > QGC_SHARING_DB)
            qgc_find(c, place_of(func, record),
                     "%%%s of @%s: the range of all calls costs the call %%%s %.1f dB, against "
                     "one of its own",
                     record->value->data, record->func->data, record->site->data,
                     costs->list.data[i].db);
    }
}
