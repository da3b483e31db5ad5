/* Rewrites to the simplest equal form. Requires nothing, keeps the form. Bits are kept: -0.0 and
 * NaN count (not which NaN). The rewrites themselves stand in canonicalize_<family>.c.
 * Does not handle: dead ops (dce), constants (const-fold), and what passes/pins.h holds. */
#include "passes/canonicalize.h"

#include "passes/pins.h"

/* An op may have several rows; the first that matches counts. */
static const struct {
    qgc_opcode op;
    qgc_rewrite_fn *rewrite;
} rows[] = {
    {QGC_OP_RELU, qgc_rewrite_idempotent},
    {QGC_OP_ABS, qgc_rewrite_idempotent},
    {QGC_OP_SIGN, qgc_rewrite_idempotent},
    {QGC_OP_NEG, qgc_rewrite_involution},
    {QGC_OP_NOT, qgc_rewrite_involution},
    {QGC_OP_BITWISE_NOT, qgc_rewrite_involution},
    {QGC_OP_FLOOR, qgc_rewrite_rounded},
    {QGC_OP_CEIL, qgc_rewrite_rounded},
    {QGC_OP_ROUND, qgc_rewrite_rounded},
    {QGC_OP_ADD, qgc_rewrite_neutral},
    {QGC_OP_SUB, qgc_rewrite_neutral},
    {QGC_OP_MUL, qgc_rewrite_neutral},
    {QGC_OP_DIV, qgc_rewrite_neutral},
    {QGC_OP_POW, qgc_rewrite_neutral},
    {QGC_OP_MIN, qgc_rewrite_neutral},
    {QGC_OP_MAX, qgc_rewrite_neutral},
    {QGC_OP_SHIFT_LEFT, qgc_rewrite_neutral},
    {QGC_OP_SHIFT_RIGHT, qgc_rewrite_neutral},
    {QGC_OP_BITWISE_AND, qgc_rewrite_neutral},
    {QGC_OP_BITWISE_OR, qgc_rewrite_neutral},
    {QGC_OP_BITWISE_XOR, qgc_rewrite_neutral},
    {QGC_OP_AND, qgc_rewrite_neutral},
    {QGC_OP_OR, qgc_rewrite_neutral},
    {QGC_OP_XOR, qgc_rewrite_neutral},
    {QGC_OP_MIN, qgc_rewrite_same_operand},
    {QGC_OP_MAX, qgc_rewrite_same_operand},
    {QGC_OP_AND, qgc_rewrite_same_operand},
    {QGC_OP_OR, qgc_rewrite_same_operand},
    {QGC_OP_BITWISE_AND, qgc_rewrite_same_operand},
    {QGC_OP_BITWISE_OR, qgc_rewrite_same_operand},
    {QGC_OP_CLIP, qgc_rewrite_idle_bounds},
    {QGC_OP_CLIP, qgc_rewrite_clip},
    {QGC_OP_CAST, qgc_rewrite_cast},
    {QGC_OP_WHERE, qgc_rewrite_where},
    {QGC_OP_RESHAPE, qgc_rewrite_list_operand},
    {QGC_OP_EXPAND, qgc_rewrite_list_operand},
    {QGC_OP_TILE, qgc_rewrite_list_operand},
    {QGC_OP_SQUEEZE, qgc_rewrite_list_operand},
    {QGC_OP_UNSQUEEZE, qgc_rewrite_list_operand},
    {QGC_OP_SPLIT, qgc_rewrite_list_operand},
    {QGC_OP_SLICE, qgc_rewrite_list_operand},
    {QGC_OP_PAD, qgc_rewrite_list_operand},
    {QGC_OP_ONE_HOT, qgc_rewrite_list_operand},
    {QGC_OP_TOP_K, qgc_rewrite_list_operand},
    {QGC_OP_TRILU, qgc_rewrite_list_operand},
    {QGC_OP_CUMSUM, qgc_rewrite_list_operand},
    {QGC_OP_CONSTANT_OF_SHAPE, qgc_rewrite_list_operand},
    {QGC_OP_RESIZE, qgc_rewrite_list_operand},
    {QGC_OP_REDUCE_SUM, qgc_rewrite_list_operand},
    {QGC_OP_REDUCE_MEAN, qgc_rewrite_list_operand},
    {QGC_OP_REDUCE_MAX, qgc_rewrite_list_operand},
    {QGC_OP_REDUCE_MIN, qgc_rewrite_list_operand},
    {QGC_OP_REDUCE_PROD, qgc_rewrite_list_operand},
    {QGC_OP_REDUCE_L1, qgc_rewrite_list_operand},
    {QGC_OP_REDUCE_L2, qgc_rewrite_list_operand},
    {QGC_OP_REDUCE_SUM_SQUARE, qgc_rewrite_list_operand},
    {QGC_OP_REDUCE_LOG_SUM, qgc_rewrite_list_operand},
    {QGC_OP_REDUCE_LOG_SUM_EXP, qgc_rewrite_list_operand},
    {QGC_OP_IDENTITY, qgc_rewrite_identity},
    {QGC_OP_RESHAPE, qgc_rewrite_reshape},
    {QGC_OP_FLATTEN, qgc_rewrite_reshape},
    {QGC_OP_SQUEEZE, qgc_rewrite_reshape},
    {QGC_OP_UNSQUEEZE, qgc_rewrite_reshape},
    {QGC_OP_EXPAND, qgc_rewrite_same_shape},
    {QGC_OP_TILE, qgc_rewrite_same_shape},
    {QGC_OP_SLICE, qgc_rewrite_whole_slice},
    {QGC_OP_PAD, qgc_rewrite_empty_pad},
    {QGC_OP_CONCAT, qgc_rewrite_single_part},
    {QGC_OP_SPLIT, qgc_rewrite_single_part},
    {QGC_OP_TRANSPOSE, qgc_rewrite_transpose},
    {QGC_OP_SHAPE_OF, qgc_rewrite_known_shape},
    {QGC_OP_SIZE_OF, qgc_rewrite_known_shape},
};

typedef enum outcome { KEPT, CHANGED, REPLACED } outcome;

static outcome rewrite_node(qgc_node *node, const qgc_pass_env *env)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].op != node->op)
            continue;
        qgc_value *by = rows[i].rewrite(node, env);
        if (!by)
            continue;
        if (by == &node->results[0])
            return CHANGED;
        qgc_value_replace_uses(&node->results[0], by);
        qgc_node_erase(node);
        return REPLACED;
    }
    return KEPT;
}

qgc_pass_status pass_canonicalize(qgc_module *module, const qgc_pass_env *env)
{
    qgc_pins pins;
    bool changed = false;
    qgc_pins_collect(module, env->scratch, &pins);
    QGC_EACH_FUNC (func, module)
        for (qgc_node *node = func->first, *next; node; node = next) {
            next = node->next;
            if (qgc_pins_hold(&pins, node))
                continue;
            outcome what = rewrite_node(node, env);
            changed |= what != KEPT;
            while (what == CHANGED) /* each change takes something away */
                what = rewrite_node(node, env);
        }
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}
