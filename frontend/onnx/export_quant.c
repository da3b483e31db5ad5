/* To ONNX: quantize and dequantize as QuantizeLinear and DequantizeLinear.
 *
 * ONNX divides by the scale. `mode = multiply` multiplies by its reciprocal, which gives another
 * integer on some ties: the model differs there by one step. */
#include "frontend/onnx/export.h"
#include "ir/quant_spec.h"

#include <string.h>

static int64_t integer_at(const qgc_tensor *tensor, size_t i)
{
    return tensor->dtype == QGC_DTYPE_I64 ? ((const int64_t *)tensor->data)[i]
                                          : ((const int32_t *)tensor->data)[i];
}

/* Zero points as the quantized type has them. */
static const char *narrow(onnx_export *ex, const qgc_tensor *known, qgc_dtype dtype)
{
    size_t bytes = qgc_dtype_bytes(dtype), count = known->bytes / sizeof(int32_t);
    qgc_tensor tensor = {.dtype = dtype, .rank = known->rank, .bytes = count * bytes};
    memcpy(tensor.shape, known->shape, sizeof tensor.shape);
    tensor.data = qgc_arena_alloc(ex->arena, tensor.bytes);
    for (size_t i = 0; i < count; i++) { /* little-endian: the low bytes come first */
        int64_t value = integer_at(known, i);
        memcpy((char *)tensor.data + i * bytes, &value, bytes);
    }
    return export_tensor(ex, export_fresh(ex, "zero_point"), &tensor);
}

/* NULL where it is an attribute. */
static const char *zero_operand(onnx_export *ex, uint32_t index, qgc_dtype dtype)
{
    const qgc_tensor *known = export_known(ex, index);
    if (known)
        return narrow(ex, known, dtype);
    return export_in(ex, index) ? export_cast(ex, export_in(ex, index), dtype) : NULL;
}

const char *export_zero_point(onnx_export *ex, const char *attr, uint32_t index, uint32_t of)
{
    qgc_dtype dtype = export_in_type(ex, of)->dtype;
    const char *operand = zero_operand(ex, index, dtype);
    return operand ? operand : export_scalar(ex, attr, dtype, (double)qgc_node_int(ex->node, attr));
}

/* One per scale: ONNX wants both in one shape. */
static const char *zero_point(onnx_export *ex, qgc_dtype dtype)
{
    int64_t size = 1;
    const qgc_type *scale = export_in_type(ex, 1);
    uint32_t rank = scale ? scale->rank : 0;
    const char *operand = zero_operand(ex, 2, dtype);
    if (operand)
        return operand;
    if (rank && qgc_dim_is_number(scale->dims[0]))
        size = scale->dims[0].value;
    else if (rank)
        export_refuse(ex, "the number of channels is not known");
    return export_fill(ex, "zero_point", dtype, rank, &size,
                       (double)qgc_node_int(ex->node, "zero_point"));
}

static const char *scale_value(onnx_export *ex)
{
    if (export_in(ex, 1))
        return export_in(ex, 1);
    return export_scalar(ex, "scale", QGC_DTYPE_F32, (double)qgc_node_float(ex->node, "scale"));
}

static void check_type(onnx_export *ex, qgc_dtype dtype)
{
    if (dtype == QGC_DTYPE_I32)
        export_refuse(ex, "QuantizeLinear gives 8 and 16 bits only, not i32");
    if (dtype == QGC_DTYPE_I16 || dtype == QGC_DTYPE_U16)
        export_need(ex, 21);
}

static void set_axis(onnx_export *ex, onnx_node *node)
{
    static const export_attr axis = {"axis", "axis", EXPORT_INT};
    export_map(ex, node, &axis);
}

/* ---- ranges narrower than the type ---- */

static bool narrow_range(onnx_export *ex, qgc_dtype dtype, qgc_int_range *out)
{
    const qgc_attr *range = export_attribute(ex, "range");
    qgc_int_range full;
    if (range->kind != QGC_ATTR_INTS || !qgc_quant_dtype_range(dtype, &full))
        return false;
    *out = (qgc_int_range){(int32_t)range->ints[0], (int32_t)range->ints[1]};
    return out->lo != full.lo || out->hi != full.hi;
}

/* ONNX Runtime clips no 16-bit integers: the floats whose integers are the bounds. */
static const char *clip_floats(onnx_export *ex, const char *x, qgc_int_range range)
{
    float scale = qgc_node_float(ex->node, "scale");
    int32_t zero = (int32_t)qgc_node_int(ex->node, "zero_point");
    if (export_in(ex, 1) || export_in(ex, 2)) {
        export_refuse(ex, "a range of 16 bits with computed or per-channel parameters");
        return x;
    }
    float lo = (float)(range.lo - zero) * scale, hi = (float)(range.hi - zero) * scale;
    const char *least = export_scalar(ex, "lo", QGC_DTYPE_F32, (double)lo);
    return EXPORT_OP(ex, "Clip", x, least, export_scalar(ex, "hi", QGC_DTYPE_F32, (double)hi));
}

/* The node that gives the integers; its output is still to be named. */
static onnx_node *quantize(onnx_export *ex, const char *scale, const char *zero, qgc_dtype dtype)
{
    qgc_int_range range = {0};
    const char *x = export_in(ex, 0);
    bool is_narrow = narrow_range(ex, dtype, &range), is_byte = qgc_dtype_bytes(dtype) == 1;
    check_type(ex, dtype);
    if (export_in_type(ex, 0)->dtype != QGC_DTYPE_F32)
        x = export_cast(ex, x, QGC_DTYPE_F32);
    if (is_narrow && !is_byte)
        x = clip_floats(ex, x, range);
    onnx_node *node = EXPORT_NODE(ex, "QuantizeLinear", x, scale, zero);
    set_axis(ex, node);
    if (!is_narrow || !is_byte)
        return node;
    const char *all = export_result(ex, node), *lo = export_scalar(ex, "lo", dtype, range.lo);
    return EXPORT_NODE(ex, "Clip", all, lo, export_scalar(ex, "hi", dtype, range.hi));
}

static void dequantize(onnx_export *ex, const char *q, const char *scale, const char *zero)
{
    qgc_dtype dtype = ex->node->results[0].type->dtype;
    onnx_node *node = EXPORT_NODE(ex, "DequantizeLinear", q, scale, zero);
    set_axis(ex, node);
    if (dtype != QGC_DTYPE_F32) {
        node = EXPORT_NODE(ex, "Cast", export_result(ex, node));
        export_set_int(ex, node, "to", export_dtype_code(dtype));
    }
    export_end(ex, node);
}

void export_quantize(onnx_export *ex)
{
    qgc_dtype dtype = ex->node->results[0].type->dtype;
    const char *zero = zero_point(ex, dtype);
    export_end(ex, quantize(ex, scale_value(ex), zero, dtype));
}

/* ONNX dequantizes i32 without a zero point. */
static const char *no_zero_point(onnx_export *ex)
{
    const qgc_tensor *known = export_known(ex, 2);
    bool is_zero = !qgc_node_int(ex->node, "zero_point") && (!export_in(ex, 2) || known);
    for (size_t i = 0; known && i < known->bytes; i++)
        is_zero &= !((const char *)known->data)[i];
    if (!is_zero)
        export_refuse(ex, "ONNX dequantizes i32 without a zero point only");
    return NULL;
}

void export_dequantize(onnx_export *ex)
{
    qgc_dtype dtype = export_in_type(ex, 0)->dtype;
    if (dtype != QGC_DTYPE_I32)
        check_type(ex, dtype);
    const char *scale = scale_value(ex);
    const char *zero = dtype == QGC_DTYPE_I32 ? no_zero_point(ex) : zero_point(ex, dtype);
    dequantize(ex, export_in(ex, 0), scale, zero);
}

void export_fake_quant(onnx_export *ex)
{
    qgc_dtype dtype = qgc_node_dtype(ex->node, "to");
    const char *scale = scale_value(ex), *zero = zero_point(ex, dtype);
    const char *q = export_result(ex, quantize(ex, scale, zero, dtype));
    dequantize(ex, q, scale, zero);
}

void export_fake_cast(onnx_export *ex)
{
    onnx_node *node = EXPORT_NODE(ex, "Cast", export_cast(ex, export_in(ex, 0), QGC_DTYPE_F16));
    export_set_int(ex, node, "to", export_dtype_code(QGC_DTYPE_F32));
    export_end(ex, node);
}

/* ---- dynamic quantization ---- */

static const char *f32(onnx_export *ex, const char *hint, double value)
{
    return export_scalar(ex, hint, QGC_DTYPE_F32, value);
}

/* max(max x, 0) or min(min x, 0) */
static const char *bound(onnx_export *ex, const char *reduce, const char *choose)
{
    onnx_node *node = EXPORT_NODE(ex, reduce, export_in(ex, 0));
    export_set_int(ex, node, "keepdims", 0);
    const char *extreme = export_result(ex, node);
    return EXPORT_OP(ex, choose, extreme, f32(ex, "zero", 0));
}

static void choose_symmetric(onnx_export *ex, const qgc_quant_spec *spec, const char *eps)
{
    double half = ((double)spec->range.hi - spec->range.lo) / 2;
    double middle = (double)((spec->range.lo + (int64_t)spec->range.hi + 1) >> 1);
    const char *lo = bound(ex, "ReduceMin", "Min"), *hi = bound(ex, "ReduceMax", "Max");
    const char *largest = EXPORT_OP(ex, "Max", EXPORT_OP(ex, "Neg", lo), hi);
    const char *scale = EXPORT_OP(ex, "Div", largest, f32(ex, "half", half));
    export_bind(ex, EXPORT_NODE(ex, "Max", scale, eps), 0);
    export_bind(ex, EXPORT_NODE(ex, "Identity", export_scalar(ex, "zero", QGC_DTYPE_I32, middle)),
                1);
}

static void choose_affine(onnx_export *ex, const qgc_quant_spec *spec, const char *eps)
{
    double qmin = spec->range.lo, qmax = spec->range.hi;
    const char *lo = bound(ex, "ReduceMin", "Min"), *hi = bound(ex, "ReduceMax", "Max");
    const char *width = EXPORT_OP(ex, "Sub", hi, lo);
    const char *scale = EXPORT_OP(ex, "Div", width, f32(ex, "steps", qmax - qmin));
    export_bind(ex, EXPORT_NODE(ex, "Max", scale, eps), 0);
    const char *steps = EXPORT_OP(ex, "Round", EXPORT_OP(ex, "Div", lo, export_out(ex, 0)));
    const char *least = f32(ex, "qmin", qmin);
    const char *zero = EXPORT_OP(ex, "Sub", least, steps);
    zero = EXPORT_OP(ex, "Clip", zero, least, f32(ex, "qmax", qmax));
    onnx_node *cast = EXPORT_NODE(ex, "Cast", zero);
    export_set_int(ex, cast, "to", export_dtype_code(QGC_DTYPE_I32));
    export_bind(ex, cast, 1);
}

void export_choose_qparams(onnx_export *ex)
{
    qgc_quant_spec spec = qgc_spec_quant(qgc_node_spec(ex->node, "spec"));
    const char *eps = f32(ex, "eps", (double)qgc_node_float(ex->node, "eps"));
    if (spec.scheme == QGC_QUANT_SYMMETRIC)
        choose_symmetric(ex, &spec, eps);
    else
        choose_affine(ex, &spec, eps);
}
