/* Inserts observers where values are annotated. Requires form annotated, provides prepared. The
 * graph computes what it computed before, bit for bit: observe is the identity.
 *
 * A value has one observer for each group of points it takes part in: that of its own point stands
 * at the value, and every use reads it; those of uses read it in turn. The first observer of a
 * group in program order carries the spec, the others share it. */
#include "passes/observers.h"
#include "passes/prepare_partial.h"
#include "passes/quant_points.h"

#include <string.h>

typedef struct preparer {
    const qgc_pass_env *env;
    qgc_func *func;
    qgc_points points;
    qgc_value **first; /* of each leader: the group's first observer, or NULL */
} preparer;

static qgc_spec *observer_spec(preparer *p, uint32_t leader)
{
    const qgc_point *point = &p->points.list.data[leader];
    qgc_spec *spec = QGC_NEW(&p->func->module->arena, qgc_spec);
    if (p->first[leader])
        *spec = (qgc_spec){.kind = QGC_SPEC_SHARE, .values = {p->first[leader]->name, NULL}};
    else
        *spec = *p->points.list.data[point->decides].spec;
    return spec;
}

/* An observer of |input| before |before|, named after |base|. */
static qgc_value *insert(preparer *p, const qgc_value *base, qgc_value *input, uint32_t leader,
                         qgc_node *before)
{
    qgc_node *node = qgc_node_create(p->func, QGC_OP_OBSERVE, 1, &input, 1, before, base->loc);
    const char *name = qgc_arena_printf(p->env->scratch, "%s.o", base->name->data);
    qgc_value *result = &node->results[0];
    const qgc_point *decider = &p->points.list.data[p->points.list.data[leader].decides];
    result->type = input->type;
    node->scope = base->def ? base->def->scope : NULL;
    qgc_node_set_attr(node, "spec",
                      (qgc_attr){.kind = QGC_ATTR_SPEC, .spec = observer_spec(p, leader)});
    if (!p->first[leader] && decider->axis >= 0)
        qgc_node_set_attr(node, "axis", qgc_attr_from_int(decider->axis));
    qgc_value_set_name(p->func, result, qgc_func_unique_name(p->func, qgc_str_from(name)));
    if (!p->first[leader])
        p->first[leader] = result;
    return result;
}

/* The first leader among those of the value's points from |from| on that has not been served. */
static uint32_t next_use_group(const preparer *p, uint32_t from, const bool *served)
{
    for (uint32_t i = from; i != QGC_NO_POINT; i = p->points.list.data[i].next_of_value) {
        uint32_t leader = qgc_points_leader(&p->points, i);
        if (!served[leader] && p->points.list.data[i].spec->kind != QGC_SPEC_DERIVE)
            return leader;
    }
    return QGC_NO_POINT;
}

static void redirect_uses(preparer *p, uint32_t from, uint32_t leader, qgc_value *to)
{
    for (uint32_t i = from; i != QGC_NO_POINT; i = p->points.list.data[i].next_of_value) {
        const qgc_point *point = &p->points.list.data[i];
        if (!point->use || qgc_points_leader(&p->points, i) != leader)
            continue;
        qgc_node *user = point->use->user;
        qgc_node_set_operand(user, (uint32_t)(point->use - user->operands), to);
    }
}

static uint32_t own_group(const preparer *p, uint32_t from)
{
    for (uint32_t i = from; i != QGC_NO_POINT; i = p->points.list.data[i].next_of_value)
        if (!p->points.list.data[i].use)
            return qgc_points_leader(&p->points, i);
    return QGC_NO_POINT;
}

static void observe_value(preparer *p, qgc_value *value, qgc_node *before)
{
    uint32_t from = qgc_points_of(&p->points, value), leader;
    if (from == QGC_NO_POINT)
        return;
    bool *served = QGC_NEW_ARRAY(p->env->scratch, bool, p->points.list.size);
    uint32_t own = own_group(p, from);
    qgc_value *current = value;
    if (own != QGC_NO_POINT) {
        qgc_use *old_last = value->last_use;
        current = insert(p, value, value, own, before);
        served[own] = true;
        for (qgc_use *use = value->first_use, *next; old_last && use; use = next) {
            next = use == old_last ? NULL : use->next;
            qgc_node_set_operand(use->user, (uint32_t)(use - use->user->operands), current);
        }
    }
    while ((leader = next_use_group(p, from, served)) != QGC_NO_POINT) {
        served[leader] = true;
        redirect_uses(p, from, leader, insert(p, value, current, leader, before));
    }
}

/* The observer through which |user| reads the value |name|, or NULL. */
static qgc_value *observed_operand(const qgc_node *user, qgc_name name)
{
    for (uint32_t i = 0; i < user->num_operands; i++) {
        qgc_value *value = user->operands[i].value;
        if (value && value->def && value->def->op == QGC_OP_OBSERVE &&
            qgc_observed_value(value->def)->name == name)
            return value;
    }
    return NULL;
}

static qgc_result derive(preparer *p, uint32_t index)
{
    qgc_point *point = &p->points.list.data[index];
    qgc_node *user = point->use->user;
    qgc_spec *spec = QGC_NEW(&p->func->module->arena, qgc_spec);
    spec->kind = QGC_SPEC_DERIVE;
    for (int i = 0; i < 2; i++) {
        const qgc_value *from = observed_operand(user, point->spec->values[i]);
        if (!from)
            return qgc_report(&p->env->context->diag, user->loc, QGC_D_BAD_ANNOTATION,
                              "%s: derived from %%%s, which is not an annotated operand",
                              qgc_node_op(user)->mnemonic, point->spec->values[i]->data);
        spec->values[i] = from->name;
    }
    qgc_value *observer = insert(p, point->value, point->use->value, index, user);
    qgc_node_set_attr(observer->def, "spec", (qgc_attr){.kind = QGC_ATTR_SPEC, .spec = spec});
    qgc_node_set_operand(user, (uint32_t)(point->use - user->operands), observer);
    return QGC_OK;
}

static void drop_annotations(qgc_node *node)
{
    for (uint32_t i = node->num_extra; i-- > 0;) {
        qgc_name name = node->extra[i].name;
        if (qgc_str_starts_with(qgc_name_str(name), "quant."))
            qgc_node_set_extra(node, name, (qgc_attr){.kind = QGC_ATTR_NONE});
    }
}

static qgc_result observe_func(preparer *p)
{
    p->first = QGC_NEW_ARRAY(p->env->scratch, qgc_value *, p->points.list.size);
    qgc_node *first = p->func->first;
    for (uint32_t i = 0; i < p->func->num_params; i++)
        observe_value(p, &p->func->params[i], first);
    for (qgc_node *node = first, *next; node; node = next) {
        next = node->next;
        for (uint32_t i = 0; i < node->num_results; i++)
            observe_value(p, &node->results[i], next);
        drop_annotations(node);
    }
    for (uint32_t i = 0; i < p->points.list.size; i++)
        if (p->points.list.data[i].spec->kind == QGC_SPEC_DERIVE)
            QGC_TRY(derive(p, i));
    return QGC_OK;
}

static qgc_result check_bare(const qgc_func *func, const qgc_pass_env *env)
{
    QGC_EACH_NODE (node, func) {
        if (!qgc_is_step(node))
            continue;
        return qgc_report(&env->context->diag, node->loc, QGC_D_NOT_PREPARABLE,
                          "the graph holds quantization steps already: %s (prepare{partial} leaves "
                          "them)",
                          qgc_node_op(node)->mnemonic);
    }
    return QGC_OK;
}

static bool has_steps(const qgc_module *module)
{
    QGC_EACH_FUNC (func, module)
        QGC_EACH_NODE (node, func)
            if (qgc_is_step(node))
                return true;
    return false;
}

qgc_pass_status pass_prepare(qgc_module *module, const qgc_pass_env *env)
{
    size_t num = 0;
    bool partial = strcmp(env->options[0], "true") == 0;
    if (!partial && strcmp(env->options[0], "false") != 0) {
        qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_BAD_PIPELINE,
                   "prepare: partial=%s: expected true or false", env->options[0]);
        return QGC_PASS_FAILED;
    }
    QGC_EACH_FUNC (func, module) {
        if (partial)
            qgc_drop_quantized(func, env);
        else if (check_bare(func, env) != QGC_OK)
            return QGC_PASS_FAILED;
    }
    QGC_EACH_FUNC (func, module) {
        preparer p = {.env = env, .func = func};
        if (qgc_points_build(&p.points, func, env) != QGC_OK || observe_func(&p) != QGC_OK)
            return QGC_PASS_FAILED;
        num += p.points.list.size;
    }
    if (num || (partial && has_steps(module)))
        return QGC_PASS_CHANGED;
    qgc_report(&env->context->diag, QGC_NO_LOC, QGC_D_NOT_PREPARABLE,
               "nothing is annotated: there is nothing to observe");
    return QGC_PASS_FAILED;
}
