/* Constants in place of a node whose operands are known. */
#include "ir/graph.h"
#include "runtime/interp.h"

#include <string.h>

static qgc_node *replace_by_const(qgc_node *node, uint32_t index, const qgc_tensor *computed)
{
    qgc_func *func = node->func;
    qgc_arena *arena = &func->module->arena;
    qgc_tensor *tensor = QGC_NEW(arena, qgc_tensor);
    *tensor = *computed;
    tensor->data = qgc_arena_alloc(arena, computed->bytes);
    if (computed->bytes)
        memcpy(tensor->data, computed->data, computed->bytes);
    qgc_node *constant = qgc_node_create(func, QGC_OP_CONST, 0, NULL, 1, node, node->loc);
    constant->attrs[0] = (qgc_attr){.kind = QGC_ATTR_TENSOR, .tensor = tensor};
    constant->constant = tensor;
    constant->scope = node->scope;
    constant->results[0].type = qgc_type_of_tensor(&func->module->context->types, tensor);
    qgc_value_take_over(func, &node->results[index], &constant->results[0]);
    return constant;
}

bool qgc_interp_constants(const qgc_node *node, const qgc_tensor **operands)
{
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        operands[i] = value && value->def ? value->def->constant : NULL;
        if (value && !operands[i])
            return false;
    }
    return true;
}

qgc_result qgc_interp_fold(qgc_node *node, const qgc_tensor *const *operands, qgc_node **constants)
{
    qgc_arena scratch = {0};
    qgc_tensor *results = QGC_NEW_ARRAY(&scratch, qgc_tensor, node->num_results);
    qgc_result result = qgc_interp_node(node, operands, results);
    for (uint32_t i = 0; i < node->num_results && result == QGC_OK; i++) {
        qgc_node *constant = replace_by_const(node, i, &results[i]);
        if (constants)
            constants[i] = constant;
        qgc_tensor_destroy(&results[i]);
    }
    if (result == QGC_OK)
        qgc_node_erase(node);
    qgc_arena_destroy(&scratch);
    return result;
}
