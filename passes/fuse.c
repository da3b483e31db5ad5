/* Prepares a float graph for annotate. Requires and provides form float.
 *
 * 1. Per-channel affine ops behind an op with weights fold into it (fuse_affine.c).
 * 2. The values inside a chain op-with-weights [+ add] [+ relu | clip | hardswish [+ scalars]] are
 * marked: they get no observer, since a kernel computes the chain in one go. Ops stay ops; the mark
 * names the chain's last value: %c = conv2d %x, %w {fuse.into = %r} %r = relu %c Every near-miss is
 * a remark. Does not handle: chains across functions. */
#include "passes/fuse.h"
#include "runtime/tensor.h"

static bool is_op_with_weights(const qgc_node *node)
{
    return node && qgc_find_weighted_op(node->op);
}

static bool has_constant_bounds(const qgc_node *clip)
{
    for (uint32_t i = 1; i < clip->num_operands; i++) {
        const qgc_value *bound = clip->operands[i].value;
        if (bound && !(bound->def && bound->def->constant))
            return false;
    }
    return true;
}

static bool is_activation(const qgc_node *node)
{
    return node->op == QGC_OP_RELU || node->op == QGC_OP_HARDSWISH ||
           (node->op == QGC_OP_CLIP && has_constant_bounds(node));
}

void qgc_fuse_say_user(const qgc_pass_env *env, const qgc_node *user)
{
    qgc_diag_add(&env->context->diag, "user", "@%s.%%%s", user->func->name->data,
                 user->results[0].name->data);
}

void qgc_fuse_say_copy(const qgc_pass_env *env, const qgc_node *node, const qgc_node *user,
                       const char *condition)
{
    qgc_diag *diag = &env->context->diag;
    qgc_diag_add(diag, "condition", "%s", condition);
    qgc_diag_add(diag, "found", "%u uses", node->results[0].num_uses);
    qgc_fuse_say_user(env, user);
    qgc_diag_add_shown(diag, "fix", "give %%%s a %s of its own: a copy of %%%s",
                       user->results[0].name->data, qgc_node_op(node)->mnemonic,
                       node->results[0].name->data);
}

static bool would_fuse(const qgc_node *user)
{
    return user->op == QGC_OP_ADD || is_activation(user);
}

/* The only user, where it continues a chain; else NULL, and a remark where one use too many is all
 * that is in the way. */
static qgc_node *next_in_chain(const qgc_node *node, const qgc_pass_env *env)
{
    const qgc_value *value = &node->results[0];
    if (!value->num_uses)
        return NULL;
    qgc_node *user = value->first_use->user;
    if (value->num_uses == 1)
        return would_fuse(user) ? user : NULL;
    for (const qgc_use *use = value->first_use; use; use = use->next) {
        if (!would_fuse(use->user))
            continue;
        if (qgc_no_match(env, node, "not fused with %s %%%s: %%%s has %u uses, expected 1",
                         qgc_node_op(use->user)->mnemonic, use->user->results[0].name->data,
                         value->name->data, value->num_uses))
            qgc_fuse_say_copy(env, node, use->user, "single_use");
        break;
    }
    return NULL;
}

static qgc_name mark_name(const qgc_pass_env *env)
{
    return qgc_context_name(env->context, "fuse.into");
}

static bool mark(qgc_node *node, const qgc_value *last, const qgc_pass_env *env)
{
    qgc_attr value = qgc_attr_from_name(QGC_ATTR_VALUE, last->name);
    const qgc_attr *old = qgc_node_extra(node, mark_name(env));
    if (old && qgc_attr_equal(old, &value))
        return false;
    qgc_node_set_extra(node, mark_name(env), value);
    return true;
}

/* An add takes one chain along: the first of its operands in the text. */
static bool add_is_taken(const qgc_node *add, const qgc_node *from, const qgc_pass_env *env)
{
    for (uint32_t i = 0; i < 2; i++) {
        const qgc_node *def = add->operands[i].value->def;
        if (!def || def == from)
            continue;
        if (qgc_node_extra(def, mark_name(env))) {
            if (qgc_no_match(env, from, "not fused with add %%%s: it is fused with %%%s",
                             add->results[0].name->data, def->results[0].name->data)) {
                qgc_diag_add(&env->context->diag, "condition", "one_chain");
                qgc_fuse_say_user(env, add);
            }
            return true;
        }
    }
    return false;
}

/* mul, div, add or sub of |x| and a scalar constant, in the shape of |x|. */
static bool is_scalar_step(const qgc_node *node, const qgc_value *x)
{
    if (node->op != QGC_OP_MUL && node->op != QGC_OP_DIV && node->op != QGC_OP_ADD &&
        node->op != QGC_OP_SUB)
        return false;
    const qgc_value *other = qgc_node_operand(node, qgc_node_operand(node, 0) == x);
    return other->def && other->def->constant && qgc_tensor_count(other->def->constant) == 1 &&
           node->results[0].type == x->type;
}

static qgc_node *next_scalar_step(const qgc_node *node)
{
    const qgc_value *x = &node->results[0];
    qgc_node *user = x->num_uses == 1 ? x->first_use->user : NULL;
    return user && is_scalar_step(user, x) ? user : NULL;
}

enum { MAX_LINKS = 8 }; /* a view's */

/* At most: op, add, activation. Behind hardswish, which is a function of floats in any case, also
 * arithmetic with scalars. */
static bool mark_chain(qgc_node *head, const qgc_pass_env *env)
{
    qgc_node *links[MAX_LINKS] = {head};
    uint32_t num = 1;
    qgc_node *next = next_in_chain(head, env);
    if (next && next->op == QGC_OP_ADD) {
        if (add_is_taken(next, head, env))
            return false;
        links[num++] = next;
        next = next_in_chain(next, env);
    }
    if (next && is_activation(next))
        links[num++] = next;
    bool is_function = links[num - 1]->op == QGC_OP_HARDSWISH;
    for (; is_function && num < MAX_LINKS && (next = next_scalar_step(links[num - 1])); num++)
        links[num] = next;
    bool changed = false;
    for (uint32_t i = 0; i + 1 < num; i++)
        changed |= mark(links[i], &links[num - 1]->results[0], env);
    return changed;
}

static bool fold_func(qgc_func *func, const qgc_pass_env *env)
{
    bool changed = false;
    for (qgc_node *node = func->first, *next; node; node = next) {
        next = node->next;
        changed |= qgc_fold_affine(node, env);
    }
    return changed;
}

static bool mark_func(qgc_func *func, const qgc_pass_env *env)
{
    bool changed = false;
    QGC_EACH_NODE (node, func)
        if (is_op_with_weights(node))
            changed |= mark_chain(node, env);
    return changed;
}

qgc_pass_status pass_fuse(qgc_module *module, const qgc_pass_env *env)
{
    bool changed = false;
    QGC_EACH_FUNC (func, module) {
        changed |= fold_func(func, env);
        changed |= mark_func(func, env);
    }
    return changed ? QGC_PASS_CHANGED : QGC_PASS_UNCHANGED;
}
