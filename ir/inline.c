#include "ir/inline.h"

#include "ir/infer.h"

#include <string.h>

typedef struct inliner {
    qgc_func *func;
    qgc_map values; /* of the callee -> their copies */
    uint32_t num_nodes;
} inliner;

static void copy_extra(qgc_node *to, const qgc_node *from)
{
    for (uint32_t i = 0; i < from->num_extra; i++)
        qgc_node_set_extra(to, from->extra[i].name, from->extra[i].value);
}

/* A callee that is open in its dimensions is as the call's operands are. */
static qgc_result set_types(qgc_node *copy, const qgc_node *node)
{
    bool is_static = true;
    for (uint32_t i = 0; i < node->num_results; i++) {
        copy->results[i].type = node->results[i].type;
        is_static = is_static && node->results[i].type->is_static;
    }
    if (is_static)
        return QGC_OK;
    qgc_arena scratch = {0};
    const qgc_type **types = QGC_NEW_ARRAY(&scratch, const qgc_type *, node->num_results);
    for (uint32_t i = 0; i < node->num_results; i++)
        types[i] = node->results[i].type;
    qgc_result result = qgc_node_infer(copy, types, false);
    for (uint32_t i = 0; i < node->num_results && result == QGC_OK; i++)
        copy->results[i].type = types[i];
    qgc_arena_destroy(&scratch);
    return result;
}

static qgc_result copy_node(inliner *in, const qgc_node *node, qgc_node *call)
{
    qgc_func *func = in->func;
    qgc_arena scratch = {0};
    qgc_value **operands = QGC_NEW_ARRAY(&scratch, qgc_value *, node->num_operands);
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (node->operands[i].value)
            operands[i] = qgc_map_get(&in->values, node->operands[i].value);
    qgc_node *copy = qgc_node_create(func, node->op, node->num_operands, operands,
                                     node->num_results, call, node->loc);
    qgc_arena_destroy(&scratch);
    memcpy(copy->attrs, node->attrs, qgc_op_num_attrs(qgc_node_op(node)) * sizeof *copy->attrs);
    copy_extra(copy, node);
    copy->constant = node->constant;
    copy->scope = node->scope;
    for (uint32_t i = 0; i < node->num_results; i++) {
        qgc_value *result = &copy->results[i];
        result->loc = node->results[i].loc;
        qgc_name name = qgc_func_unique_name(func, qgc_name_str(node->results[i].name));
        qgc_value_set_name(func, result, name);
        *qgc_map_at(&in->values, &node->results[i]) = result;
    }
    return set_types(copy, node);
}

/* What is returned takes the place of the call's results, and their names where it is new here. */
static void connect(inliner *in, const qgc_node *terminator, qgc_node *call)
{
    for (uint32_t i = 0; i < call->num_results; i++) {
        const qgc_value *returned = terminator->operands[i].value;
        qgc_value *by = qgc_map_get(&in->values, returned);
        if (returned->def)
            qgc_value_take_over(in->func, &call->results[i], by);
        else
            qgc_value_replace_uses(&call->results[i], by);
    }
    qgc_node_erase(call);
}

static qgc_result inline_call(inliner *in, qgc_node *call)
{
    qgc_arena scratch = {0};
    const qgc_func *callee = qgc_module_find_func(in->func->module, call->attrs[0].name);
    qgc_result result = QGC_OK;
    in->values = (qgc_map){.arena = &scratch};
    for (uint32_t i = 0; i < callee->num_params; i++)
        *qgc_map_at(&in->values, &callee->params[i]) = call->operands[i].value;
    for (const qgc_node *n = callee->first; n != callee->last && result == QGC_OK; n = n->next)
        result = ++in->num_nodes > QGC_INLINE_MAX_NODES
                     ? qgc_report(&in->func->module->context->diag, call->loc, QGC_D_TOO_DEEP,
                                  "@%s is over %d nodes with the functions that it calls",
                                  in->func->name->data, QGC_INLINE_MAX_NODES)
                     : copy_node(in, n, call);
    if (result == QGC_OK)
        connect(in, callee->last, call);
    qgc_arena_destroy(&scratch);
    return result;
}

static bool is_kept(const qgc_node *node, bool (*keeps)(const qgc_func *callee))
{
    if (node->op == QGC_OP_LOOP)
        return true;
    return keeps(qgc_module_find_func(node->func->module, node->attrs[0].name));
}

static qgc_result inline_all(qgc_func *func, bool (*keeps)(const qgc_func *callee))
{
    inliner in = {.func = func};
    qgc_node *node = func->first;
    while (node) {
        bool calls = node->op == QGC_OP_CALL || node->op == QGC_OP_LOOP;
        if (!calls || (keeps && is_kept(node, keeps))) {
            node = node->next;
            continue;
        }
        if (node->op == QGC_OP_LOOP)
            return qgc_report(&func->module->context->diag, node->loc, QGC_D_NOT_COMPILED,
                              "@%s cannot be put in place: its number of turns is known at run "
                              "time only",
                              node->attrs[0].name->data);
        /* What came in place of the call may call, too. */
        qgc_node *previous = node->previous;
        QGC_TRY(inline_call(&in, node));
        node = previous ? previous->next : func->first;
    }
    return QGC_OK;
}

qgc_result qgc_func_inline(qgc_func *func)
{
    return inline_all(func, NULL);
}

qgc_result qgc_func_inline_except(qgc_func *func, bool (*keeps)(const qgc_func *callee))
{
    return inline_all(func, keeps);
}
