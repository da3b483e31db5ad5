/* The named conditions of quantizer rows. */
#include "passes/constants.h"
#include "passes/quantizer.h"
#include "runtime/tensor.h"

#include <math.h>

static bool single_use(const qgc_take_chain *chain)
{
    for (uint32_t i = 0; i + 1 < chain->num; i++)
        if (chain->nodes[i]->results[0].num_uses != 1)
            return false;
    return true;
}

/* The value of the WEIGHT operand of the chain's first op, or NULL. */
static const qgc_value *weight_of(const qgc_take_chain *chain)
{
    const qgc_node *node = chain->nodes[0];
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (qgc_node_op(node)->operands[qgc_node_operand_row(node, i)].quant == QGC_Q_WEIGHT)
            return node->operands[i].value;
    return NULL;
}

static bool own_weight(const qgc_take_chain *chain)
{
    const qgc_value *weight = weight_of(chain);
    return weight && weight->num_uses == 1;
}

static bool same_shapes(const qgc_take_chain *chain)
{
    const qgc_node *last = chain->nodes[chain->num - 1];
    const qgc_type *first = NULL;
    for (uint32_t i = 0; i < last->num_operands; i++) {
        if (!qgc_is_data_operand(last, i))
            continue;
        const qgc_type *type = last->operands[i].value->type;
        first = first ? first : type;
        if (type != first) /* types are unique */
            return false;
    }
    return true;
}

static int64_t groups_of(const qgc_node *node)
{
    const qgc_attr *groups = qgc_node_attr(node, "groups");
    return groups ? groups->i : 1;
}

static bool one_group(const qgc_take_chain *chain)
{
    return groups_of(chain->nodes[0]) == 1;
}

static bool not_depthwise(const qgc_take_chain *chain)
{
    const qgc_node *node = chain->nodes[0];
    const qgc_type *type = node->operands[0].value->type;
    if (type->rank < 2 || groups_of(node) == 1)
        return true;
    return !qgc_dim_is_number(type->dims[1]) || type->dims[1].value != groups_of(node);
}

/* 3.4028235e15: the greatest float, divided by 10^23, past which PyTorch's histogram fails. */
static bool small_constants(const qgc_take_chain *chain)
{
    const qgc_node *node = chain->nodes[0];
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        const qgc_tensor *data = value && value->def ? value->def->constant : NULL;
        if (data && data->dtype == QGC_DTYPE_F32 && qgc_tensor_count(data) == 1 &&
            !(fabsf(*(const float *)data->data) <= 3.4028235e15f))
            return false;
    }
    return true;
}

static bool follows_taken(const qgc_take_chain *chain)
{
    const qgc_node *node = chain->nodes[0];
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const qgc_value *value = node->operands[i].value;
        if (qgc_is_data_operand(node, i) &&
            !(value->def && qgc_map_get(&chain->taken->nodes, value->def) == &qgc_taken_last))
            return false;
    }
    return true;
}

static bool is_product(const qgc_node *node)
{
    for (uint32_t i = 0; i < qgc_op_num_operands(qgc_node_op(node)); i++)
        if (qgc_node_op(node)->operands[i].quant == QGC_Q_WEIGHT)
            return true;
    return false;
}

static bool feeds_product(const qgc_take_chain *chain)
{
    const qgc_value *result = &chain->nodes[chain->num - 1]->results[0];
    for (const qgc_use *use = result->first_use; use; use = use->next)
        if (is_product(use->user))
            return true;
    return false;
}

static const qgc_take_condition table[] = {
    {"single_use", "inside the chain each value has one user", single_use},
    {"own_weight", "the weight of the first op has one user", own_weight},
    {"same_shapes", "the operands of the last op have one type", same_shapes},
    {"one_group", "the first op is not grouped", one_group},
    {"not_depthwise", "the first op does not have a group per channel", not_depthwise},
    {"small_constants", "no single constant is beyond 3.4028235e15", small_constants},
    {"follows_taken", "all operands of the first op are results of chains taken before",
     follows_taken},
    {"feeds_product", "a user of the last op has weights", feeds_product},
};

const qgc_take_condition *qgc_take_condition_find(qgc_str name, qgc_text *known)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (qgc_str_equal(name, qgc_str_from(table[i].name)))
            return &table[i];
        qgc_text_printf(known, "%s%s", i ? ", " : "", table[i].name);
    }
    return NULL;
}
