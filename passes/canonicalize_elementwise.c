/* Rewrites of elementwise ops. */
#include "passes/canonicalize.h"
#include "runtime/ref/ref.h"

#include <math.h>

/* |value| in place of the node's result, where the types agree: broadcasting may have made the
 * result larger. */
static qgc_value *replace_by(const qgc_node *node, qgc_value *value, const qgc_pass_env *env)
{
    if (value->type == node->results[0].type)
        return value;
    qgc_no_match(env, node, "the result is %s, %%%s is %s",
                 qgc_type_str(env->scratch, node->results[0].type), value->name->data,
                 qgc_type_str(env->scratch, value->type));
    return NULL;
}

static const qgc_tensor *constant_of(const qgc_value *value)
{
    return value && value->def ? value->def->constant : NULL;
}

static bool is_result_of(const qgc_value *value, qgc_opcode op)
{
    return value->def && value->def->op == op;
}

/* ---- one operand ---- */

qgc_value *qgc_rewrite_idempotent(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *x = qgc_node_operand(node, 0);
    return is_result_of(x, node->op) ? replace_by(node, x, env) : NULL;
}

qgc_value *qgc_rewrite_involution(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *x = qgc_node_operand(node, 0);
    return is_result_of(x, node->op) ? replace_by(node, qgc_node_operand(x->def, 0), env) : NULL;
}

qgc_value *qgc_rewrite_rounded(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *x = qgc_node_operand(node, 0);
    bool is_integer = is_result_of(x, QGC_OP_FLOOR) || is_result_of(x, QGC_OP_CEIL) ||
                      is_result_of(x, QGC_OP_ROUND);
    return is_integer ? replace_by(node, x, env) : NULL;
}

/* ---- neutral operands ---- */

/* LEAST and GREATEST of the type; of floats the infinities. */
typedef enum neutral_kind { ZERO, ONE, ALL_BITS, LEAST, GREATEST } neutral_kind;

static bool is_extreme(const qgc_tensor *t, size_t i, bool is_greatest)
{
    qgc_dtype dtype = t->dtype;
    if (qgc_dtype_get_kind(dtype) == QGC_FLOAT)
        return qgc_get_f64(t, i) == (is_greatest ? (double)INFINITY : -(double)INFINITY);
    uint64_t mask = UINT64_MAX >> (64 - 8 * qgc_dtype_bytes(dtype));
    uint64_t bits = (uint64_t)qgc_get_int(t, i) & mask;
    uint64_t greatest = qgc_dtype_get_kind(dtype) == QGC_UNSIGNED ? mask : mask >> 1;
    return bits == (is_greatest ? greatest : mask - greatest);
}

/* The neutral right operand of an op; also neutral on the left where it commutes. */
static const struct {
    qgc_opcode op;
    neutral_kind kind;
    bool on_both_sides; /* of an op that does not commute: max(+0, -0) is +0 */
    bool is_minus_zero; /* floats: +0 + -0 is +0, so only -0 is neutral */
    bool no_floats;     /* qgc_f32_pow(x, 1) is within 1.5 ulp of x, not x */
} neutrals[] = {
    {.op = QGC_OP_ADD, .kind = ZERO, .is_minus_zero = true},
    {.op = QGC_OP_SUB, .kind = ZERO},
    {.op = QGC_OP_MUL, .kind = ONE},
    {.op = QGC_OP_DIV, .kind = ONE},
    {.op = QGC_OP_POW, .kind = ONE, .no_floats = true},
    {.op = QGC_OP_MIN, .kind = GREATEST, .on_both_sides = true},
    {.op = QGC_OP_MAX, .kind = LEAST, .on_both_sides = true},
    {.op = QGC_OP_SHIFT_LEFT, .kind = ZERO},
    {.op = QGC_OP_SHIFT_RIGHT, .kind = ZERO},
    {.op = QGC_OP_BITWISE_AND, .kind = ALL_BITS},
    {.op = QGC_OP_BITWISE_OR, .kind = ZERO},
    {.op = QGC_OP_BITWISE_XOR, .kind = ZERO},
    {.op = QGC_OP_AND, .kind = ONE},
    {.op = QGC_OP_OR, .kind = ZERO},
    {.op = QGC_OP_XOR, .kind = ZERO},
};

static size_t neutral_row(qgc_opcode op)
{
    size_t row = 0;
    while (neutrals[row].op != op)
        row++;
    return row;
}

static bool is_neutral_element(const qgc_tensor *t, size_t i, size_t row)
{
    neutral_kind kind = neutrals[row].kind;
    if (kind == LEAST || kind == GREATEST)
        return is_extreme(t, i, kind == GREATEST);
    if (qgc_dtype_get_kind(t->dtype) == QGC_FLOAT) {
        double x = qgc_get_f64(t, i);
        return kind == ONE ? x == 1 : x == 0 && (signbit(x) != 0) == neutrals[row].is_minus_zero;
    }
    uint64_t bits = (uint64_t)qgc_get_int(t, i);
    uint64_t mask = UINT64_MAX >> (64 - 8 * qgc_dtype_bytes(t->dtype));
    return (bits & mask) == (kind == ZERO ? 0 : kind == ONE ? 1 : mask);
}

static bool is_neutral(const qgc_value *value, size_t row)
{
    const qgc_tensor *t = constant_of(value);
    if (!t)
        return false;
    size_t num = qgc_tensor_count(t), i = 0;
    while (i < num && is_neutral_element(t, i, row))
        i++;
    return i == num;
}

qgc_value *qgc_rewrite_neutral(qgc_node *node, const qgc_pass_env *env)
{
    size_t row = neutral_row(node->op);
    qgc_value *a = qgc_node_operand(node, 0), *b = qgc_node_operand(node, 1);
    bool commutes =
        neutrals[row].on_both_sides || (qgc_node_op(node)->traits & QGC_TRAIT_COMMUTATIVE);
    qgc_value *kept = is_neutral(b, row) ? a : commutes && is_neutral(a, row) ? b : NULL;
    if (!kept)
        return NULL;
    if (neutrals[row].no_floats && qgc_dtype_get_kind(kept->type->dtype) == QGC_FLOAT) {
        qgc_no_match(env, node, "it does not give every x back exactly");
        return NULL;
    }
    return replace_by(node, kept, env);
}

qgc_value *qgc_rewrite_same_operand(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *a = qgc_node_operand(node, 0);
    return a == qgc_node_operand(node, 1) ? replace_by(node, a, env) : NULL;
}

/* ---- clip ---- */

/* Constant scalars of one type: a <= b. False for NaN. */
static bool at_most(const qgc_tensor *a, const qgc_tensor *b)
{
    switch (qgc_dtype_get_kind(a->dtype)) {
    case QGC_FLOAT:
        return qgc_get_f64(a, 0) <= qgc_get_f64(b, 0);
    case QGC_UNSIGNED:
        return (uint64_t)qgc_get_int(a, 0) <= (uint64_t)qgc_get_int(b, 0);
    default:
        return qgc_get_int(a, 0) <= qgc_get_int(b, 0);
    }
}

/* The bounds of |inner| once more. min alone would not do: it may lie above the inner max. */
static bool repeats(const qgc_node *outer, const qgc_node *inner)
{
    qgc_value *min = qgc_node_operand(outer, 1);
    return (!min || min == qgc_node_operand(inner, 1)) &&
           qgc_node_operand(outer, 2) == qgc_node_operand(inner, 2);
}

/* Constant bounds that exist: a <= b. */
static bool is_ordered(const qgc_value *a, const qgc_value *b)
{
    return constant_of(a) && constant_of(b) && at_most(constant_of(a), constant_of(b));
}

/* min..max of |inner| lies within those of |outer|, all of them constants or absent. An inner clip
 * with min above max gives max, so that one counts as a lower bound, too. */
static bool lies_within(const qgc_node *outer, const qgc_node *inner)
{
    const qgc_value *min = qgc_node_operand(outer, 1), *max = qgc_node_operand(outer, 2);
    const qgc_value *lo = qgc_node_operand(inner, 1), *hi = qgc_node_operand(inner, 2);
    bool fits_below = !min || (is_ordered(min, lo) && (!hi || is_ordered(min, hi)));
    return fits_below && (!max || is_ordered(hi, max));
}

/* A bound that no value lies beyond, as if it were absent. */
qgc_value *qgc_rewrite_idle_bounds(qgc_node *node, const qgc_pass_env *env)
{
    bool changed = false;
    (void)env;
    for (uint32_t i = 1; i <= 2; i++) {
        const qgc_tensor *bound = constant_of(qgc_node_operand(node, i));
        if (bound && is_extreme(bound, 0, i == 2)) {
            qgc_node_set_operand(node, i, NULL);
            changed = true;
        }
    }
    return changed ? &node->results[0] : NULL;
}

qgc_value *qgc_rewrite_clip(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *x = qgc_node_operand(node, 0);
    if (!qgc_node_operand(node, 1) && !qgc_node_operand(node, 2))
        return replace_by(node, x, env);
    if (!is_result_of(x, QGC_OP_CLIP))
        return NULL;
    if (repeats(node, x->def) || lies_within(node, x->def))
        return replace_by(node, x, env);
    qgc_no_match(env, node, "the bounds of %%%s are not known to lie within", x->name->data);
    return NULL;
}

/* ---- cast ---- */

/* Bits of precision: every integer of so many bits is exact. */
static size_t precision(qgc_dtype dtype)
{
    switch (dtype) {
    case QGC_DTYPE_F64:
        return 53;
    case QGC_DTYPE_F32:
        return 24;
    case QGC_DTYPE_F16:
        return 11;
    case QGC_DTYPE_BF16:
        return 8;
    case QGC_DTYPE_BOOL:
        return 1;
    default:
        return 8 * qgc_dtype_bytes(dtype);
    }
}

/* Casting to |wide| and back gives every |narrow| back. Integers wrap, so width alone counts; f16
 * and bf16 do not hold each other. */
static bool holds(qgc_dtype wide, qgc_dtype narrow)
{
    bool to_float = qgc_dtype_get_kind(wide) == QGC_FLOAT;
    bool from_float = qgc_dtype_get_kind(narrow) == QGC_FLOAT;
    if (from_float)
        return to_float && qgc_dtype_bytes(wide) > qgc_dtype_bytes(narrow);
    if (wide == QGC_DTYPE_BOOL)
        return narrow == QGC_DTYPE_BOOL;
    return precision(wide) >= precision(narrow);
}

qgc_value *qgc_rewrite_cast(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *x = qgc_node_operand(node, 0);
    qgc_dtype to = node->results[0].type->dtype;
    if (x->type->dtype == to)
        return replace_by(node, x, env);
    if (!is_result_of(x, QGC_OP_CAST) || qgc_node_operand(x->def, 0)->type->dtype != to)
        return NULL;
    if (holds(x->type->dtype, to))
        return replace_by(node, qgc_node_operand(x->def, 0), env);
    qgc_no_match(env, node, "%s does not hold every %s", qgc_dtype_name(x->type->dtype),
                 qgc_dtype_name(to));
    return NULL;
}

/* ---- where ---- */

/* The operand that a constant condition selects everywhere; 0 where it is mixed. */
static uint32_t selected(const qgc_tensor *cond)
{
    size_t num = qgc_tensor_count(cond), num_true = 0;
    for (size_t i = 0; i < num; i++)
        num_true += qgc_get_int(cond, i) != 0;
    return num_true == num ? 1 : num_true == 0 ? 2 : 0;
}

qgc_value *qgc_rewrite_where(qgc_node *node, const qgc_pass_env *env)
{
    qgc_value *a = qgc_node_operand(node, 1);
    if (a == qgc_node_operand(node, 2))
        return replace_by(node, a, env);
    const qgc_tensor *cond = constant_of(qgc_node_operand(node, 0));
    uint32_t index = cond ? selected(cond) : 0;
    return index ? replace_by(node, qgc_node_operand(node, index), env) : NULL;
}
