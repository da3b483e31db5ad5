/* Rewrites to the simplest equal form. Requires nothing, keeps the form. Bits are kept: -0.0 and
 * NaN count. Each row: an op and its rewrite; the rewrite returns the value that replaces the first
 * result, or NULL (saying why with qgc_no_match where a user might have expected it).
 * Does not handle: dead ops (dce) and constants (const-fold). */
#include "passes/pass.h"

typedef qgc_value *rewrite_fn(qgc_node *node, const qgc_pass_env *env);

/* relu(relu(x)) = relu(x): the second sees no negative number. */
static qgc_value *rewrite_relu(qgc_node *node, const qgc_pass_env *env)
{
    (void)env;
    qgc_value *x = qgc_node_operand(node, 0);
    return x->def && x->def->op == QGC_OP_RELU ? x : NULL;
}

static const struct {
    qgc_opcode op;
    rewrite_fn *rewrite;
} rows[] = {
    {QGC_OP_RELU, rewrite_relu},
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
