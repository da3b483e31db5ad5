/* Rewrites of ops that move or describe elements, and of operands that are shapes. */
#include "ir/contents.h"
#include "passes/canonicalize.h"

#include <string.h>

/* No dimension is '?': two values of this type have one shape. */
static bool is_exact(const qgc_type *type)
{
    for (uint32_t i = 0; i < type->rank; i++)
        if (qgc_dim_is_unknown(type->dims[i]))
            return false;
    return true;
}

static qgc_value *as_it_is(const qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *x = qgc_node_operand(node, 0);
    const qgc_type *type = node->results[0].type;
    if (x->type == type && is_exact(type))
        return x;
    if (x->type == type)
        qgc_no_match(env, node, "whether %s stays is not known", qgc_type_str(env->scratch, type));
    return NULL;
}

/* ---- ops that change nothing ---- */

qgc_value *qgc_rewrite_identity(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *x = qgc_node_operand(node, 0);
    if (x->type == node->results[0].type)
        return x;
    qgc_no_match(env, node, "the result is %s, %%%s is %s",
                 qgc_type_str(env->scratch, node->results[0].type), x->name->data,
                 qgc_type_str(env->scratch, x->type));
    return NULL;
}

qgc_value *qgc_rewrite_same_shape(qgc_node *node, const qgc_pass_env *env)
{
    return as_it_is(node, env);
}

/* |name| is absent, attribute and operand, or a list of |value| only. */
static bool all_are(const qgc_node *node, const char *name, uint32_t operand, int64_t value)
{
    const qgc_attr *attr = qgc_node_attr(node, name);
    if (!attr)
        return !qgc_node_operand(node, operand);
    for (uint32_t i = 0; i < attr->num; i++)
        if (attr->ints[i] != value)
            return false;
    return true;
}

qgc_value *qgc_rewrite_whole_slice(qgc_node *node, const qgc_pass_env *env)
{
    return all_are(node, "steps", 4, 1) ? as_it_is(node, env) : NULL;
}

qgc_value *qgc_rewrite_empty_pad(qgc_node *node, const qgc_pass_env *env)
{
    (void)env;
    bool is_empty = qgc_node_has(node, "pads") && all_are(node, "pads", 1, 0);
    return is_empty ? qgc_node_operand(node, 0) : NULL;
}

qgc_value *qgc_rewrite_single_part(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *x = qgc_node_operand(node, 0);
    (void)env;
    bool is_single = node->num_operands == 1 || node->op == QGC_OP_SPLIT;
    return is_single && node->num_results == 1 && x->type == node->results[0].type ? x : NULL;
}

/* ---- transpose ---- */

static uint32_t perm_at(const qgc_node *node, uint32_t rank, uint32_t i)
{
    const qgc_attr *perm = qgc_node_attr(node, "perm");
    if (!perm)
        return rank - 1 - i;
    return (uint32_t)(perm->ints[i] < 0 ? perm->ints[i] + rank : perm->ints[i]);
}

qgc_value *qgc_rewrite_transpose(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *x = qgc_node_operand(node, 0);
    uint32_t rank = x->type->rank;
    int64_t perm[QGC_MAX_RANK];
    (void)env;
    const qgc_node *inner = x->def && x->def->op == QGC_OP_TRANSPOSE ? x->def : NULL;
    bool keeps = true;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t axis = perm_at(node, rank, i);
        perm[i] = inner ? perm_at(inner, rank, axis) : axis;
        keeps &= perm[i] == i;
    }
    qgc_value *source = inner ? qgc_node_operand(inner, 0) : x;
    if (keeps && source->type == node->results[0].type)
        return source;
    if (!inner)
        return NULL;
    qgc_node_set_operand(node, 0, source);
    qgc_node_set_attr(node, "perm", qgc_attr_from_ints(&node->func->module->arena, perm, rank));
    return &node->results[0];
}

/* ---- reshape and its kin ---- */

static bool only_reshapes(const qgc_node *node)
{
    return node && (node->op == QGC_OP_RESHAPE || node->op == QGC_OP_FLATTEN ||
                    node->op == QGC_OP_SQUEEZE || node->op == QGC_OP_UNSQUEEZE);
}

/* squeeze and unsqueeze, one after the other, of the same axes. */
static bool is_pair(const qgc_node *outer, const qgc_node *inner)
{
    bool opposite = (outer->op == QGC_OP_SQUEEZE && inner->op == QGC_OP_UNSQUEEZE) ||
                    (outer->op == QGC_OP_UNSQUEEZE && inner->op == QGC_OP_SQUEEZE);
    if (!opposite || !qgc_node_has(outer, "axes") || !qgc_node_has(inner, "axes"))
        return false;
    const qgc_node *nodes[] = {outer, inner};
    uint32_t sets[2] = {0};
    for (int n = 0; n < 2; n++) {
        const qgc_attr *axes = qgc_node_attr(nodes[n], "axes");
        const qgc_type *larger = nodes[n]->op == QGC_OP_SQUEEZE
                                     ? qgc_node_operand(nodes[n], 0)->type
                                     : nodes[n]->results[0].type;
        for (uint32_t i = 0; i < axes->num; i++)
            sets[n] |= 1u << (axes->ints[i] < 0 ? axes->ints[i] + larger->rank : axes->ints[i]);
    }
    return sets[0] == sets[1];
}

/* Zeros that copy a dimension mean another one with another operand. */
static bool copies_dims(const qgc_node *node, const qgc_pass_env *env)
{
    const qgc_attr *shape = qgc_node_attr(node, "shape");
    if (!qgc_node_flag(node, "copy_zero"))
        return false;
    for (uint32_t i = 0; shape && i < shape->num; i++)
        if (qgc_dim_is_number(shape->dims[i]) && shape->dims[i].value != 0)
            continue;
        else
            shape = NULL;
    if (!shape)
        qgc_no_match(env, node, "its shape may copy dimensions of the reshape before");
    return !shape;
}

static qgc_value *reshape_to_type(qgc_node *node, qgc_value *source)
{
    qgc_value *operands[] = {source, NULL};
    const qgc_type *type = node->results[0].type;
    qgc_arena *arena = &node->func->module->arena;
    qgc_node *by = qgc_node_create(node->func, QGC_OP_RESHAPE, 2, operands, 1, node, node->loc);
    qgc_dim *dims = QGC_NEW_ARRAY(arena, qgc_dim, type->rank);
    memcpy(dims, type->dims, type->rank * sizeof *dims);
    qgc_node_set_attr(by, "shape",
                      (qgc_attr){.kind = QGC_ATTR_DIMS, .num = type->rank, .dims = dims});
    by->scope = node->scope;
    by->results[0].type = type;
    qgc_value_take_over(node->func, &node->results[0], &by->results[0]);
    return &by->results[0];
}

qgc_value *qgc_rewrite_reshape(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *x = qgc_node_operand(node, 0);
    const qgc_type *type = node->results[0].type;
    qgc_value *same = as_it_is(node, env);
    if (same || !only_reshapes(x->def))
        return same;
    qgc_value *source = qgc_node_operand(x->def, 0);
    if (source->type == type && (is_exact(type) || is_pair(node, x->def)))
        return source;
    if (node->op != QGC_OP_RESHAPE)
        return is_exact(type) ? reshape_to_type(node, source) : NULL;
    if (copies_dims(node, env))
        return NULL;
    qgc_node_set_operand(node, 0, source);
    return &node->results[0];
}

/* ---- shapes as values ---- */

static const qgc_tensor *tensor_of(qgc_arena *arena, const qgc_type *type, const qgc_dim *dims,
                                   uint32_t num)
{
    qgc_tensor *t = QGC_NEW(arena, qgc_tensor);
    int64_t *data = QGC_NEW_ARRAY(arena, int64_t, num);
    *t = (qgc_tensor){.dtype = QGC_DTYPE_I64,
                      .rank = type->rank,
                      .shape = {num},
                      .data = data,
                      .bytes = num * sizeof *data};
    for (uint32_t i = 0; i < num; i++)
        data[i] = dims[i].value;
    return t;
}

qgc_value *qgc_rewrite_known_shape(qgc_node *node, const qgc_pass_env *env)
{
    qgc_func *func = node->func;
    const qgc_type *type = node->results[0].type;
    uint32_t num;
    const qgc_dim *dims;
    if (!qgc_value_contents(env->context, env->scratch, &node->results[0], &num, &dims))
        return NULL;
    for (uint32_t i = 0; i < num; i++)
        if (!qgc_dim_is_number(dims[i])) {
            qgc_no_match(env, node, "%s is not a number yet", qgc_dim_str(env->scratch, dims[i]));
            return NULL;
        }
    qgc_node *by = qgc_node_create(func, QGC_OP_CONST, 0, NULL, 1, node, node->loc);
    by->constant = tensor_of(&func->module->arena, type, dims, num);
    by->attrs[0] = (qgc_attr){.kind = QGC_ATTR_TENSOR, .tensor = by->constant};
    by->scope = node->scope;
    by->results[0].type = type;
    qgc_value_take_over(func, &node->results[0], &by->results[0]);
    return &by->results[0];
}

/* ---- operands that could be attributes ---- */

static bool ints_of(qgc_arena *arena, const qgc_attr_spec *row, const qgc_dim *dims, uint32_t num,
                    qgc_attr *out)
{
    int64_t *ints = QGC_NEW_ARRAY(arena, int64_t, num);
    for (uint32_t i = 0; i < num; i++) {
        if (!qgc_dim_is_number(dims[i]))
            return false;
        ints[i] = dims[i].value;
    }
    if (row->kind == QGC_ATTR_INTS)
        *out = (qgc_attr){.kind = QGC_ATTR_INTS, .num = num, .ints = ints};
    else if (num == 1)
        *out = qgc_attr_from_int(ints[0]);
    return row->kind == QGC_ATTR_INTS || num == 1;
}

static bool dims_of(qgc_arena *arena, const qgc_dim *dims, uint32_t num, qgc_attr *out)
{
    qgc_dim *copy = QGC_NEW_ARRAY(arena, qgc_dim, num);
    for (uint32_t i = 0; i < num; i++) {
        if (qgc_dim_is_unknown(dims[i]))
            return false;
        copy[i] = dims[i];
    }
    *out = (qgc_attr){.kind = QGC_ATTR_DIMS, .num = num, .dims = copy};
    return true;
}

static bool floats_of(qgc_arena *arena, const qgc_value *value, qgc_attr *out)
{
    const qgc_tensor *t = value->def ? value->def->constant : NULL;
    if (!t || t->dtype != QGC_DTYPE_F32 || t->rank != 1)
        return false;
    float *floats = QGC_NEW_ARRAY(arena, float, (size_t)t->shape[0]);
    if (t->bytes)
        memcpy(floats, t->data, t->bytes);
    *out = (qgc_attr){.kind = QGC_ATTR_FLOATS, .num = (uint32_t)t->shape[0], .floats = floats};
    return true;
}

static bool attr_of(const qgc_node *node, const qgc_pass_env *env, const qgc_attr_spec *row,
                    const qgc_value *value, qgc_attr *out)
{
    qgc_arena *arena = &node->func->module->arena;
    uint32_t num;
    const qgc_dim *dims;
    if (row->kind == QGC_ATTR_FLOATS)
        return floats_of(arena, value, out);
    if (!qgc_value_contents(env->context, env->scratch, value, &num, &dims))
        return false;
    return row->kind == QGC_ATTR_DIMS ? dims_of(arena, dims, num, out)
                                      : ints_of(arena, row, dims, num, out);
}

/* Operand and attribute of one name: the attribute, where the contents are known. */
qgc_value *qgc_rewrite_list_operand(qgc_node *node, const qgc_pass_env *env)
{
    const qgc_op_info *op = qgc_node_op(node);
    bool changed = false;
    for (uint32_t i = 0; i < node->num_operands; i++) {
        const char *name = op->operands[i].name;
        int row = qgc_op_attr_index(op, qgc_str_from(name));
        const qgc_value *value = qgc_node_operand(node, i);
        qgc_attr attr;
        if (row < 0 || !value)
            continue;
        if (!attr_of(node, env, &op->attrs[row], value, &attr)) {
            qgc_no_match(env, node, "the contents of %s are not known", name);
            continue;
        }
        qgc_node_set_attr(node, name, attr);
        qgc_node_set_operand(node, i, NULL);
        changed = true;
    }
    return changed ? &node->results[0] : NULL;
}
