#include "passes/constants.h"

#include "runtime/interp.h"

#include <math.h>
#include <string.h>

enum {
    IMPURE = QGC_TRAIT_BARRIER | QGC_TRAIT_CALL | QGC_TRAIT_TERMINATOR,
    MAX_VISITS = 256, /* of ops between constants and a use, one for each way that leads there */
};

static bool is_constant(const qgc_value *value, int *visits)
{
    const qgc_node *node = value->def;
    if (!node || ++*visits > MAX_VISITS)
        return false;
    uint32_t traits = qgc_node_op(node)->traits;
    if (traits & QGC_TRAIT_CONSTANT)
        return true;
    if ((traits & IMPURE && !(traits & QGC_TRAIT_OBSERVER)) || !node->num_operands ||
        !value->type || !value->type->is_static)
        return false;
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (node->operands[i].value && !is_constant(node->operands[i].value, visits))
            return false;
    return true;
}

bool qgc_is_constant(const qgc_value *value)
{
    int visits = 0;
    return is_constant(value, &visits);
}

static bool are_finite(const qgc_tensor *data)
{
    if (data->dtype != QGC_DTYPE_F32)
        return true;
    for (size_t i = 0; i < data->bytes / sizeof(float); i++)
        if (!isfinite(((const float *)data->data)[i]))
            return false;
    return true;
}

bool qgc_constant_is_finite(const qgc_value *value, qgc_arena *arena)
{
    qgc_diag *diag = &value->def->func->module->context->diag;
    size_t reported = diag->list.size;
    qgc_arena_mark mark = qgc_arena_get_mark(arena);
    const qgc_tensor *data;
    bool is_known = qgc_constant_data(value, arena, &data) == QGC_OK;
    bool result = !is_known || are_finite(data);
    qgc_diag_rollback(diag, reported);
    qgc_arena_reset(arena, mark);
    return result;
}

static void keep(const qgc_tensor *computed, qgc_arena *arena, const qgc_tensor **out)
{
    qgc_tensor *copy = QGC_NEW(arena, qgc_tensor);
    *copy = *computed;
    copy->data = qgc_arena_alloc(arena, computed->bytes);
    if (computed->bytes)
        memcpy(copy->data, computed->data, computed->bytes);
    *out = copy;
}

static qgc_result evaluate(const qgc_value *value, qgc_arena *arena, const qgc_tensor **out)
{
    const qgc_node *node = value->def;
    const qgc_tensor **operands = QGC_NEW_ARRAY(arena, const qgc_tensor *, node->num_operands);
    qgc_tensor *results = QGC_NEW_ARRAY(arena, qgc_tensor, node->num_results);
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (node->operands[i].value)
            QGC_TRY(qgc_constant_data(node->operands[i].value, arena, &operands[i]));
    QGC_TRY(qgc_interp_node(node, operands, results));
    keep(&results[value->index], arena, out);
    for (uint32_t i = 0; i < node->num_results; i++)
        qgc_tensor_destroy(&results[i]);
    return QGC_OK;
}

qgc_result qgc_constant_data(const qgc_value *value, qgc_arena *arena, const qgc_tensor **out)
{
    const qgc_node *node = value->def;
    if (qgc_node_op(node)->traits & QGC_TRAIT_OBSERVER)
        return qgc_constant_data(node->operands[0].value, arena, out);
    if (node->constant)
        return *out = node->constant, QGC_OK;
    if (!(qgc_node_op(node)->traits & QGC_TRAIT_CONSTANT))
        return evaluate(value, arena, out);
    return qgc_report(&node->func->module->context->diag, node->loc, QGC_D_RUN_FAILED,
                      "%%%s has no data: the module names no weights file", value->name->data);
}

void qgc_erase_unused(qgc_value *value)
{
    qgc_node *node = value->def;
    if (!node)
        return;
    for (uint32_t i = 0; i < node->num_results; i++)
        if (node->results[i].num_uses)
            return;
    uint32_t num = node->num_operands;
    qgc_value **operands = QGC_NEW_ARRAY(&node->func->module->arena, qgc_value *, num);
    for (uint32_t i = 0; i < num; i++)
        operands[i] = node->operands[i].value;
    qgc_node_erase(node);
    for (uint32_t i = 0; i < num; i++) {
        bool again = false; /* an operand may come twice; its node is gone after the first */
        for (uint32_t k = 0; k < i; k++)
            again |= operands[k] && operands[i] && operands[k]->def == operands[i]->def;
        if (operands[i] && !again)
            qgc_erase_unused(operands[i]);
    }
}
