/* To ONNX: what lowering makes. Products are ConvInteger and MatMulInteger; `requantize` is its
 * formula in f32 steps, with QuantizeLinear of scale 1 for the rounding and the bounds. */
#include "frontend/onnx/export.h"
#include "ir/quant_spec.h"

/* ---- products ---- */

static void matmul(onnx_export *ex, const char *w)
{
    const char *x_zero = export_zero_point(ex, "x_zero_point", 3, 0);
    const char *w_zero = export_zero_point(ex, "w_zero_point", 4, 1);
    onnx_node *node = EXPORT_NODE(ex, "MatMulInteger", export_in(ex, 0), w, x_zero, w_zero);
    if (export_in(ex, 2))
        node = EXPORT_NODE(ex, "Add", export_result(ex, node), export_in(ex, 2));
    export_end(ex, node);
}

static void check_weight(onnx_export *ex)
{
    if (qgc_dtype_bytes(export_in_type(ex, 1)->dtype) != 1)
        export_refuse(ex, "ONNX multiplies integers of 8 bits only");
}

void export_int_matmul(onnx_export *ex)
{
    check_weight(ex);
    matmul(ex, export_in(ex, 1));
}

void export_int_linear(onnx_export *ex)
{
    check_weight(ex);
    onnx_node *node = EXPORT_NODE(ex, "Transpose", export_in(ex, 1));
    export_set_ints(ex, node, "perm", (const int64_t[]){1, 0}, 2);
    matmul(ex, export_result(ex, node));
}

/* ---- sums and products of differences ---- */

static const char *centred(onnx_export *ex, uint32_t index, const char *zero, qgc_dtype dtype)
{
    const char *wide = export_cast(ex, export_in(ex, index), dtype);
    return zero ? EXPORT_OP(ex, "Sub", wide, zero) : wide;
}

static const char *wide_zero(onnx_export *ex, const char *attr, qgc_dtype dtype)
{
    int64_t value = qgc_node_int(ex->node, attr);
    return value ? export_scalar(ex, attr, dtype, (double)value) : NULL;
}

void export_int_sum(onnx_export *ex)
{
    static const export_attr keepdims = {"keepdims", "keepdims", EXPORT_FLAG};
    const qgc_attr *axes = export_attribute(ex, "axes");
    qgc_dtype dtype = ex->node->results[0].type->dtype;
    const char *zero = wide_zero(ex, "x_zero_point", dtype), *list = NULL;
    if (export_in(ex, 1))
        zero = export_cast(ex, export_in(ex, 1), dtype);
    if (axes->kind == QGC_ATTR_INTS && axes->num)
        list = export_ints(ex, "axes", axes->ints, axes->num);
    onnx_node *node = EXPORT_NODE(ex, "ReduceSum", centred(ex, 0, zero, dtype), list);
    export_map(ex, node, &keepdims);
    if (axes->kind == QGC_ATTR_INTS && !axes->num)
        export_set_int(ex, node, "noop_with_empty_axes", 1);
    export_end(ex, node);
}

void export_int_mul(onnx_export *ex)
{
    qgc_dtype dtype = ex->node->results[0].type->dtype;
    const char *a = centred(ex, 0, wide_zero(ex, "a_zero_point", dtype), dtype);
    const char *b = centred(ex, 1, wide_zero(ex, "b_zero_point", dtype), dtype);
    export_end(ex, EXPORT_NODE(ex, "Mul", a, b));
}

void export_lookup(onnx_export *ex)
{
    const char *index = export_cast(ex, export_in(ex, 0), QGC_DTYPE_I32);
    if (export_in_type(ex, 0)->dtype == QGC_DTYPE_I8)
        index = EXPORT_OP(ex, "Add", index, export_scalar(ex, "lowest", QGC_DTYPE_I32, 128));
    export_end(ex, EXPORT_NODE(ex, "Gather", export_in(ex, 1), index));
}

/* ---- requantize ---- */

typedef struct requantize {
    uint32_t num, multipliers, c; /* terms; flat indices of the operands */
    uint32_t rank, axis;          /* of the result */
    bool per_channel, zero_first;
    qgc_dtype dtype;
} requantize;

static requantize read_requantize(onnx_export *ex)
{
    const qgc_node *node = ex->node;
    requantize r = {.dtype = node->results[0].type->dtype, .rank = node->results[0].type->rank};
    uint32_t begin;
    r.num = qgc_node_operand_range(node, 0, &begin);
    r.multipliers = r.num;
    r.c = r.num + 1;
    r.per_channel = qgc_node_has(node, "axis");
    int64_t axis = r.per_channel ? qgc_node_int(node, "axis") : 0;
    r.axis = (uint32_t)(axis < 0 ? axis + r.rank : axis);
    r.zero_first = qgc_node_word(node, "mode") == 1;
    return r;
}

/* [C] along the axis of the result. */
static const char *along_axis(onnx_export *ex, const requantize *r, const char *list)
{
    int64_t shape[QGC_MAX_RANK] = {-1, 1, 1, 1, 1, 1, 1, 1};
    return export_reshape(ex, list, shape, r->rank - r->axis);
}

/* Multiplier |i|: a number, or a part of the operand that broadcasts to the result. */
static const char *multiplier(onnx_export *ex, const requantize *r, uint32_t i)
{
    const char *all = export_in(ex, r->multipliers);
    if (!all)
        return export_scalar(ex, "m", QGC_DTYPE_F32,
                             (double)qgc_node_float_at(ex->node, "multipliers", i));
    const char *part = EXPORT_OP(ex, "Gather", all, export_scalar(ex, "i", QGC_DTYPE_I64, i));
    bool is_list = r->per_channel && export_in_type(ex, r->multipliers)->rank == 2;
    return is_list ? along_axis(ex, r, part) : part;
}

static const char *constant_term(onnx_export *ex, const requantize *r)
{
    const char *c = export_in(ex, r->c);
    if (!c) {
        float number = qgc_node_float(ex->node, "c");
        return number != 0 ? export_scalar(ex, "c", QGC_DTYPE_F32, (double)number) : NULL;
    }
    bool is_list = r->per_channel && export_in_type(ex, r->c)->rank == 1;
    return is_list ? along_axis(ex, r, c) : c;
}

static int64_t term_zero(onnx_export *ex, uint32_t i)
{
    return qgc_node_has(ex->node, "term_zero_points")
               ? qgc_node_int_at(ex->node, "term_zero_points", i)
               : 0;
}

static const char *sum_of(onnx_export *ex, const char *a, const char *b)
{
    return a && b ? EXPORT_OP(ex, "Add", a, b) : a ? a : b;
}

/* f32(t - z): exact in i64; a term without zero point needs one rounding only. */
static const char *term(onnx_export *ex, uint32_t i, int64_t zero)
{
    const char *value = export_in(ex, i);
    if (zero) {
        value = export_cast(ex, value, QGC_DTYPE_I64);
        value = EXPORT_OP(ex, "Sub", value, export_scalar(ex, "z", QGC_DTYPE_I64, (double)zero));
    }
    return export_cast(ex, value, QGC_DTYPE_F32);
}

/* zero_point - (z1 * m1 + z2 * m2 + ...) */
static const char *first_sum(onnx_export *ex, const requantize *r)
{
    const char *sum = NULL;
    double zero_point = (double)qgc_node_int(ex->node, "zero_point");
    for (uint32_t i = 0; i < r->num; i++) {
        const char *zero = export_scalar(ex, "z", QGC_DTYPE_F32, (double)term_zero(ex, i));
        sum = sum_of(ex, sum, EXPORT_OP(ex, "Mul", zero, multiplier(ex, r, i)));
    }
    return EXPORT_OP(ex, "Sub", export_scalar(ex, "zero_point", QGC_DTYPE_F32, zero_point), sum);
}

/* Before opset 21 the zero point says the type, from there on it does so, too. */
static onnx_node *rounded(onnx_export *ex, const requantize *r, const char *sum)
{
    double zero = r->zero_first ? 0 : (double)qgc_node_int(ex->node, "zero_point");
    const char *one = export_scalar(ex, "one", QGC_DTYPE_F32, 1);
    return EXPORT_NODE(ex, "QuantizeLinear", sum, one,
                       export_scalar(ex, "zero_point", r->dtype, zero));
}

static void finish(onnx_export *ex, const requantize *r, onnx_node *node)
{
    qgc_int_range full;
    qgc_quant_dtype_range(r->dtype, &full);
    const char *lo = NULL, *hi = NULL;
    if (qgc_node_has(ex->node, "lo") && qgc_node_int(ex->node, "lo") != full.lo)
        lo = export_scalar(ex, "lo", r->dtype, (double)qgc_node_int(ex->node, "lo"));
    if (qgc_node_has(ex->node, "hi") && qgc_node_int(ex->node, "hi") != full.hi)
        hi = export_scalar(ex, "hi", r->dtype, (double)qgc_node_int(ex->node, "hi"));
    if (lo || hi)
        node = EXPORT_NODE(ex, "Clip", export_result(ex, node), lo, hi);
    export_end(ex, node);
}

void export_requantize(onnx_export *ex)
{
    requantize r = read_requantize(ex);
    if (r.dtype == QGC_DTYPE_I32)
        export_refuse(ex, "QuantizeLinear gives 8 and 16 bits only, not i32");
    if (r.dtype == QGC_DTYPE_I16 || r.dtype == QGC_DTYPE_U16)
        export_need(ex, 21);
    const char *c = constant_term(ex, &r), *sum = NULL;
    if (r.zero_first)
        sum = sum_of(ex, first_sum(ex, &r), c);
    for (uint32_t i = 0; i < r.num; i++) {
        const char *value = term(ex, i, r.zero_first ? 0 : term_zero(ex, i));
        sum = sum_of(ex, sum, EXPORT_OP(ex, "Mul", value, multiplier(ex, &r, i)));
    }
    sum = r.zero_first ? sum : sum_of(ex, sum, c);
    finish(ex, &r, rounded(ex, &r, sum));
}
