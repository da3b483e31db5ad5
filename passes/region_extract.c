/* A region becomes a function of its own and a call. */
#include "passes/region.h"
#include "passes/seams.h"

#include <string.h>

typedef struct extractor {
    qgc_func *from, *to;
    const qgc_map *owners;
    uint32_t region;
    qgc_arena *scratch;
    qgc_map values; /* value of |from| -> value of |to| */
    QGC_VEC(qgc_node *) nodes;
    QGC_VEC(qgc_value *) inputs;
    QGC_VEC(qgc_value *) outputs;
} extractor;

static bool is_inside(const extractor *x, const qgc_node *node)
{
    const qgc_island *island = node ? qgc_map_get(x->owners, node) : NULL;
    return island && island->region == x->region;
}

/* Read by the region, but no part of it: copied. */
static bool is_copied(const extractor *x, const qgc_node *node)
{
    return node && !qgc_map_get(x->owners, node) &&
           (node->op == QGC_OP_DEQUANTIZE || qgc_node_op(node)->traits & QGC_TRAIT_CONSTANT);
}

/* ---- inputs and outputs ---- */

static void add_input(extractor *x, qgc_value *value)
{
    if (!value || is_inside(x, value->def) || qgc_map_get(&x->values, value))
        return;
    *qgc_map_at(&x->values, value) = value; /* seen */
    if (!is_copied(x, value->def)) {
        qgc_vec_push(x->scratch, &x->inputs, value);
        return;
    }
    for (uint32_t i = 0; i < value->def->num_operands; i++)
        add_input(x, qgc_node_operand(value->def, i));
}

static bool is_read_outside(const extractor *x, const qgc_value *value)
{
    for (const qgc_use *use = value->first_use; use; use = use->next) {
        if (is_inside(x, use->user))
            continue;
        if (use->user->op != QGC_OP_DEQUANTIZE || qgc_map_get(x->owners, use->user) ||
            is_read_outside(x, &use->user->results[0]))
            return true;
    }
    return false;
}

static void find_ends(extractor *x)
{
    QGC_EACH_NODE (node, x->from) {
        if (!is_inside(x, node))
            continue;
        qgc_vec_push(x->scratch, &x->nodes, node);
        for (uint32_t i = 0; i < node->num_operands; i++)
            add_input(x, qgc_node_operand(node, i));
        for (uint32_t i = 0; i < node->num_results; i++)
            if (is_read_outside(x, &node->results[i]))
                qgc_vec_push(x->scratch, &x->outputs, &node->results[i]);
    }
}

/* ---- the function ---- */

static qgc_value *copy_value(extractor *x, qgc_value *value);

static void copy_node(extractor *x, const qgc_node *node)
{
    qgc_value **operands = QGC_NEW_ARRAY(x->scratch, qgc_value *, node->num_operands);
    for (uint32_t i = 0; i < node->num_operands; i++)
        operands[i] = qgc_node_operand(node, i) ? copy_value(x, qgc_node_operand(node, i)) : NULL;
    qgc_node *copy = qgc_node_create(x->to, node->op, node->num_operands, operands,
                                     node->num_results, NULL, node->loc);
    memcpy(copy->attrs, node->attrs, qgc_op_num_attrs(qgc_node_op(node)) * sizeof *copy->attrs);
    copy->scope = node->scope;
    copy->constant = node->constant;
    for (uint32_t i = 0; i < node->num_extra; i++)
        qgc_node_set_extra(copy, node->extra[i].name, node->extra[i].value);
    for (uint32_t i = 0; i < node->num_results; i++) {
        copy->results[i].type = node->results[i].type;
        copy->results[i].loc = node->results[i].loc;
        qgc_value_set_name(x->to, &copy->results[i], node->results[i].name);
        *qgc_map_at(&x->values, &node->results[i]) = &copy->results[i];
    }
}

/* What stands for |value| in the function; constants and dequantizes are copied on first use. */
static qgc_value *copy_value(extractor *x, qgc_value *value)
{
    qgc_value *copy = qgc_map_get(&x->values, value);
    if (copy == value && is_copied(x, value->def))
        copy_node(x, value->def);
    return qgc_map_get(&x->values, value);
}

static void build_func(extractor *x, qgc_name name, qgc_name target)
{
    QGC_ASSERT(x->nodes.size, "region %u is empty", x->region);
    qgc_loc loc = x->nodes.data[0]->loc;
    x->to = qgc_func_create(x->from->module, name, (uint32_t)x->inputs.size,
                            (uint32_t)x->outputs.size, loc);
    x->to->target = target;
    for (uint32_t i = 0; i < x->inputs.size; i++) {
        qgc_value *input = x->inputs.data[i];
        qgc_func_set_param(x->to, i, input->name, input->type, input->loc);
        *qgc_map_at(&x->values, input) = &x->to->params[i];
    }
    for (size_t i = 0; i < x->nodes.size; i++)
        copy_node(x, x->nodes.data[i]);
    qgc_value **results = QGC_NEW_ARRAY(x->scratch, qgc_value *, x->outputs.size);
    for (size_t i = 0; i < x->outputs.size; i++) {
        results[i] = qgc_map_get(&x->values, x->outputs.data[i]);
        x->to->result_types[i] = results[i]->type;
    }
    qgc_node_create(x->to, QGC_OP_RETURN, (uint32_t)x->outputs.size, results, 0, NULL, loc);
}

/* ---- the call ---- */

static bool reads_any(const qgc_node *node, const qgc_map *values)
{
    for (uint32_t i = 0; i < node->num_operands; i++)
        if (qgc_node_operand(node, i) && qgc_map_get(values, qgc_node_operand(node, i)))
            return true;
    return false;
}

/* Between the region's nodes: what reads it goes behind the call. */
static void move_readers(extractor *x, const qgc_node *call, qgc_node *behind)
{
    qgc_map late = {.arena = x->scratch};
    for (qgc_node *node = x->nodes.data[0], *next; node != call; node = next) {
        next = node->next;
        bool inside = is_inside(x, node);
        if (!inside && !reads_any(node, &late))
            continue;
        for (uint32_t i = 0; i < node->num_results; i++)
            *qgc_map_at(&late, &node->results[i]) = &node->results[i];
        if (!inside)
            qgc_node_move_before(node, behind);
    }
}

static qgc_node *make_call(extractor *x, qgc_node *before)
{
    qgc_node *call = qgc_node_create(x->from, QGC_OP_CALL, (uint32_t)x->inputs.size, x->inputs.data,
                                     (uint32_t)x->outputs.size, before, x->to->loc);
    call->attrs[0] = qgc_attr_from_name(QGC_ATTR_FUNC, x->to->name);
    return call;
}

static void erase_region(extractor *x)
{
    for (size_t i = x->nodes.size; i-- > 0;) {
        qgc_node *node = x->nodes.data[i];
        for (uint32_t r = 0; r < node->num_results; r++)
            while (node->results[r].first_use) /* dequantizes that only the region read */
                qgc_node_erase(node->results[r].first_use->user);
        qgc_node_erase(node);
    }
}

void qgc_region_extract(qgc_func *func, const qgc_map *owners, uint32_t region, qgc_name name,
                        qgc_name target, qgc_arena *scratch)
{
    extractor x = {.from = func, .owners = owners, .region = region, .scratch = scratch};
    x.values.arena = scratch;
    find_ends(&x);
    build_func(&x, name, target);
    qgc_node *behind = x.nodes.data[x.nodes.size - 1]->next;
    qgc_node *call = make_call(&x, behind);
    move_readers(&x, call, behind);
    for (uint32_t i = 0; i < x.outputs.size; i++) {
        qgc_value *old = x.outputs.data[i];
        call->results[i].type = old->type;
        qgc_value_take_over(func, old, &call->results[i]);
    }
    erase_region(&x);
}
