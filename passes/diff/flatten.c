/* Regions back in place: a module in which functions of a target that are called once stand where
 * they are called, so that a partitioned graph is aligned with one that is not. The copies borrow
 * attributes and tensors of the module; each value and node knows what it is a copy of. */
#include "passes/diff/diff.h"

#include <string.h>

typedef struct flattening {
    qgc_diff *diff;
    const qgc_module *from;
    qgc_module *to;
    qgc_map num_calls; /* function -> how often it is called, as a pointer */
    qgc_map values;    /* value -> its copy */
    qgc_func *func;    /* that is filled */
} flattening;

static qgc_func *callee_of(const qgc_module *module, const qgc_node *node)
{
    bool calls = qgc_node_op(node)->traits & QGC_TRAIT_CALL;
    return calls ? qgc_module_find_func(module, node->attrs[0].name) : NULL;
}

static void count_calls(flattening *f)
{
    QGC_EACH_FUNC (func, f->from)
        QGC_EACH_NODE (node, func) {
            qgc_func *callee = callee_of(f->from, node);
            if (callee) {
                void **num = qgc_map_at(&f->num_calls, callee);
                *num = (void *)((uintptr_t)*num + (node->op == QGC_OP_CALL ? 1 : 2));
            }
        }
}

static bool is_expanded(const flattening *f, const qgc_func *func)
{
    return func->target && (uintptr_t)qgc_map_get(&f->num_calls, func) == 1;
}

static void copy_results(flattening *f, const qgc_node *node, qgc_node *copy)
{
    for (uint32_t i = 0; i < node->num_results; i++) {
        qgc_value *to = &copy->results[i];
        const qgc_value *from = &node->results[i];
        to->type = from->type;
        to->loc = from->loc;
        qgc_value_set_name(f->func, to, qgc_func_unique_name(f->func, qgc_name_str(from->name)));
        *qgc_map_at(&f->values, from) = to;
        *qgc_map_at(&f->diff->originals, to) = (void *)from;
    }
}

static void copy_node(flattening *f, const qgc_node *node)
{
    qgc_value **operands = QGC_NEW_ARRAY(&f->to->arena, qgc_value *, node->num_operands);
    for (uint32_t i = 0; i < node->num_operands; i++)
        operands[i] =
            node->operands[i].value ? qgc_map_get(&f->values, node->operands[i].value) : NULL;
    qgc_node *copy = qgc_node_create(f->func, node->op, node->num_operands, operands,
                                     node->num_results, NULL, node->loc);
    memcpy(copy->attrs, node->attrs, qgc_op_num_attrs(qgc_node_op(node)) * sizeof *copy->attrs);
    copy->scope = node->scope;
    copy->constant = node->constant;
    for (uint32_t i = 0; i < node->num_extra; i++)
        qgc_node_set_extra(copy, node->extra[i].name, node->extra[i].value);
    copy_results(f, node, copy);
    if (node->func->target && is_expanded(f, node->func))
        *qgc_map_at(&f->diff->regions, copy) = node->func;
}

static void copy_body(flattening *f, const qgc_func *func);

/* Parameters are what the call reads, its results what the function returns. */
static void expand(flattening *f, const qgc_node *call, const qgc_func *callee)
{
    for (uint32_t i = 0; i < callee->num_params; i++)
        *qgc_map_at(&f->values, &callee->params[i]) =
            qgc_map_get(&f->values, qgc_node_operand(call, i));
    copy_body(f, callee);
    for (uint32_t i = 0; i < call->num_results; i++)
        *qgc_map_at(&f->values, &call->results[i]) =
            qgc_map_get(&f->values, qgc_node_operand(callee->last, i));
}

/* Calls nest no deeper than the verifier allows. */
static void copy_body(flattening *f, const qgc_func *func)
{
    QGC_EACH_NODE (node, func) {
        const qgc_func *callee = callee_of(f->from, node);
        if (callee && is_expanded(f, callee))
            expand(f, node, callee);
        else if (node->op != QGC_OP_RETURN || !is_expanded(f, func))
            copy_node(f, node);
    }
}

static void copy_func(flattening *f, const qgc_func *func)
{
    f->func = qgc_func_create(f->to, func->name, func->num_params, func->num_results, func->loc);
    f->func->target = func->target;
    for (uint32_t i = 0; i < func->num_params; i++) {
        const qgc_value *param = &func->params[i];
        qgc_func_set_param(f->func, i, param->name, param->type, param->loc);
        *qgc_map_at(&f->values, param) = &f->func->params[i];
        *qgc_map_at(&f->diff->originals, &f->func->params[i]) = (void *)param;
    }
    if (func->num_results)
        memcpy(f->func->result_types, func->result_types,
               func->num_results * sizeof(const qgc_type *));
    copy_body(f, func);
}

qgc_module *qgc_diff_flatten(qgc_diff *diff, const qgc_module *module)
{
    flattening f = {.diff = diff, .from = module, .to = qgc_module_create(module->context)};
    f.num_calls.arena = f.values.arena = &diff->scratch;
    count_calls(&f);
    f.to->form = module->form;
    QGC_EACH_FUNC (func, module)
        if (!is_expanded(&f, func))
            copy_func(&f, func);
    return f.to;
}
