/* Rewrites to the simplest equal form. Requires nothing, keeps the form. Bits are kept: -0.0 and
 * NaN count (not which NaN). The rewrites themselves stand in canonicalize_<family>.c.
 * Does not handle: dead ops (dce) and constants (const-fold). */
#include "passes/canonicalize.h"

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
    {QGC_OP_CLIP, qgc_rewrite_clip},
    {QGC_OP_CAST, qgc_rewrite_cast},
    {QGC_OP_WHERE, qgc_rewrite_where},
};

static bool rewrite_node(qgc_node *node, const qgc_pass_env *env)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].op != node->op)
            continue;
        qgc_value *by = rows[i].rewrite(node, env);
        if (!by)
            continue;
        qgc_value_replace_uses(&node->results[0], by);
        qgc_node_erase(node);
        return true;
    }
    return false;
}

qgc_pass_status pass_canonicalize(qgc_module *module, const qgc_pass_env *env)
{
    bool changed = false;
    QGC_EACH_FUNC (func, module)
        for (qgc_node *node = func->first, *next; node; node = next) {
            next = node->next;
            changed |= rewrite_node(node, env);
        }
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}
