/* Converters: quantized ops. Division mode throughout, as ONNX defines it. Integer ops with a scale
 * become an integer op and its rescaling. */
#include "frontend/onnx/import.h"

#include <string.h>

/* [1] as a scalar: both are per tensor. */
static qgc_value *per_tensor(onnx_import *im, qgc_value *value)
{
    bool is_one =
        value && value->type->rank == 1 && qgc_dim_equal(value->type->dims[0], qgc_dim_number(1));
    return is_one ? onnx_reshape(im, value, NULL, 0) : value;
}

static bool scalar_constant(const qgc_value *value, const qgc_tensor **out)
{
    *out = onnx_constant(value);
    return *out && value->type->rank == 0;
}

/* A scale as attribute where it is one known number, else as operand. */
static void set_scale(onnx_import *im, qgc_node *node, qgc_value *scale)
{
    const qgc_tensor *known;
    scale = onnx_cast(im, scale, QGC_DTYPE_F32);
    if (!node || !scale)
        return;
    if (scalar_constant(scale, &known))
        onnx_set_float(im, node, "scale", *(const float *)known->data);
    else
        qgc_node_set_operand(node, 1, scale);
}

static void set_zero_point(onnx_import *im, qgc_node *node, qgc_value *zero_point, const char *attr,
                           uint32_t operand)
{
    const qgc_tensor *known;
    zero_point = onnx_cast(im, zero_point, QGC_DTYPE_I32);
    if (!node || !zero_point)
        return;
    bool is_known = scalar_constant(zero_point, &known);
    int32_t number = is_known ? *(const int32_t *)known->data : 0;
    if (number) /* 0 is the default */
        onnx_set_int(im, node, attr, number);
    else if (!is_known)
        qgc_node_set_operand(node, operand, zero_point);
}

static void set_axis(onnx_import *im, qgc_node *node, const qgc_value *scale)
{
    int64_t axis = onnx_int(im, "axis", 1);
    if (scale && scale->type->rank == 1)
        onnx_set_int(im, node, "axis", axis);
}

/* A scalar parameter beside a list is not: all per channel or none. */
static qgc_node *begin_step(onnx_import *im, const char *mnemonic, qgc_value *x, qgc_value *scale,
                            qgc_value *zero_point, qgc_dtype result)
{
    qgc_node *node = x && scale ? onnx_begin(im, mnemonic, 1, &x, 1) : NULL;
    set_scale(im, node, scale);
    set_zero_point(im, node, zero_point, "zero_point", 2);
    set_axis(im, node, scale);
    if (node)
        node->results[0].type = qgc_type_with_dtype(&im->context->types, x->type, result);
    return node;
}

static qgc_value *quantize(onnx_import *im, qgc_value *x, qgc_value *scale, qgc_value *zero_point,
                           qgc_dtype dtype)
{
    qgc_node *node = begin_step(im, "quantize", x, scale, zero_point, dtype);
    onnx_set_word(im, node, "mode", "divide");
    return onnx_end(im, node);
}

static bool quantized_type(onnx_import *im, const qgc_value *zero_point, qgc_dtype *out)
{
    int64_t code = onnx_int(im, "output_dtype", 0);
    *out = zero_point ? zero_point->type->dtype : QGC_DTYPE_U8;
    if (!code || qgc_onnx_dtype(code, out))
        return true;
    onnx_refuse(im, "output_dtype is %lld, which does not exist here", (long long)code);
    return false;
}

qgc_result convert_quantize_linear(onnx_import *im)
{
    qgc_dtype dtype;
    qgc_value *x = onnx_need(im, 0), *scale = per_tensor(im, onnx_need(im, 1));
    qgc_value *zero_point = per_tensor(im, onnx_in(im, 2));
    if (!x || !scale || !quantized_type(im, zero_point, &dtype))
        return QGC_FAILED;
    if (x->type->dtype == QGC_DTYPE_I32)
        x = onnx_cast(im, x, QGC_DTYPE_F32);
    return onnx_define(im, 0, quantize(im, x, scale, zero_point, dtype));
}

qgc_result convert_dequantize_linear(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0), *scale = per_tensor(im, onnx_need(im, 1));
    qgc_value *zero_point = per_tensor(im, onnx_in(im, 2));
    if (!x || !scale)
        return QGC_FAILED;
    qgc_node *node = begin_step(im, "dequantize", x, scale, zero_point, scale->type->dtype);
    return onnx_define(im, 0, onnx_end(im, node));
}

qgc_result convert_dynamic_quantize(onnx_import *im)
{
    qgc_value *x = onnx_need(im, 0);
    qgc_node *node = x ? onnx_begin(im, "choose_qparams", 1, &x, 2) : NULL;
    qgc_spec *spec = QGC_NEW(im->arena, qgc_spec);
    *spec = (qgc_spec){.kind = QGC_SPEC_OWN,
                       .has_dtype = true,
                       .dtype = QGC_DTYPE_U8,
                       .scheme = QGC_SCHEME_AFFINE};
    onnx_set(im, node, "spec", (qgc_attr){.kind = QGC_ATTR_SPEC, .spec = spec});
    onnx_set_float(im, node, "eps", 0x1p-126f); /* ONNX has no least scale */
    qgc_value *scale = onnx_end(im, node);
    if (!node || !scale)
        return QGC_FAILED;
    qgc_value *zero_point = &node->results[1];
    QGC_TRY(onnx_define(im, 0, quantize(im, x, scale, zero_point, QGC_DTYPE_U8)));
    QGC_TRY(onnx_define(im, 1, scale));
    return onnx_wants_output(im, 2) ? onnx_define(im, 2, onnx_cast(im, zero_point, QGC_DTYPE_U8))
                                    : QGC_OK;
}

qgc_value *onnx_quantize(onnx_import *im, qgc_value *x, qgc_value *scale, qgc_value *zero_point)
{
    if (!x || !scale)
        return NULL;
    qgc_dtype dtype = zero_point ? zero_point->type->dtype : QGC_DTYPE_U8;
    scale = per_tensor(im, scale);
    return quantize(im, x, scale, per_tensor(im, zero_point), dtype);
}

qgc_value *onnx_dequantize(onnx_import *im, qgc_value *q, qgc_value *scale, qgc_value *zero_point)
{
    if (!q || !scale)
        return NULL;
    scale = per_tensor(im, scale);
    zero_point = per_tensor(im, zero_point);
    return onnx_end(im, begin_step(im, "dequantize", q, scale, zero_point, QGC_DTYPE_F32));
}

/* ---- integer ops ---- */

/* A constant list of one number as a scalar. */
static qgc_value *unless_uniform(onnx_import *im, qgc_value *value)
{
    const qgc_tensor *known = onnx_constant(value);
    size_t bytes = known ? qgc_dtype_bytes(known->dtype) : 0;
    if (!known || known->rank != 1 || !known->bytes)
        return value;
    const uint8_t *data = known->data;
    for (size_t i = bytes; i < known->bytes; i += bytes)
        if (memcmp(data, data + i, bytes) != 0)
            return value;
    qgc_tensor *scalar = QGC_NEW(im->arena, qgc_tensor);
    *scalar = (qgc_tensor){.dtype = known->dtype, .bytes = bytes, .data = known->data};
    return onnx_const(im, scalar, NULL);
}

/* Operands x, w, bias and zero points; attributes of a convolution where it is one. */
static qgc_node *begin_integer(onnx_import *im, const char *mnemonic, qgc_value *const xwb[3],
                               qgc_value *x_zero_point, qgc_value *w_zero_point)
{
    if (!xwb[0] || !xwb[1])
        return NULL;
    qgc_node *node = onnx_begin(im, mnemonic, 3, xwb, 1);
    set_zero_point(im, node, unless_uniform(im, per_tensor(im, x_zero_point)), "x_zero_point", 3);
    set_zero_point(im, node, unless_uniform(im, per_tensor(im, w_zero_point)), "w_zero_point", 4);
    return node;
}

static qgc_node *begin_integer_conv(onnx_import *im, qgc_value *const xwb[3],
                                    qgc_value *x_zero_point, qgc_value *w_zero_point)
{
    uint32_t rank = xwb[0] ? xwb[0]->type->rank : 0;
    if (rank < 3 || rank > 5) {
        onnx_refuse(im, "input of rank %u, expected 3 to 5", rank);
        return NULL;
    }
    const char *mnemonic = qgc_arena_printf(im->arena, "int_conv%ud", rank - 2);
    qgc_node *node = begin_integer(im, mnemonic, xwb, x_zero_point, w_zero_point);
    onnx_set_window(im, node);
    onnx_set_int(im, node, "groups", onnx_int(im, "group", 1));
    return node;
}

qgc_result convert_conv_integer(onnx_import *im)
{
    qgc_value *operands[4];
    onnx_operands(im, 2, 4, operands);
    qgc_value *xwb[] = {operands[0], operands[1], NULL};
    qgc_node *node = begin_integer_conv(im, xwb, operands[2], operands[3]);
    return onnx_define(im, 0, onnx_end(im, node));
}

qgc_result convert_matmul_integer(onnx_import *im)
{
    qgc_value *operands[4];
    onnx_operands(im, 2, 4, operands);
    qgc_value *xwb[] = {operands[0], operands[1], NULL};
    qgc_node *node = begin_integer(im, "int_matmul", xwb, operands[2], operands[3]);
    return onnx_define(im, 0, onnx_end(im, node));
}

/* ---- integer ops with scales ---- */

/* What stands between an accumulator and the result. */
typedef struct rescale {
    qgc_value *multiplier; /* (x scale * w scale) / y scale: a scalar, or one per channel */
    qgc_value *zero_point;
    uint32_t axis;
} rescale;

static bool read_rescale(onnx_import *im, uint32_t y_scale, float factor, rescale *out)
{
    qgc_value *x_scale = per_tensor(im, onnx_need(im, 1));
    qgc_value *w_scale = per_tensor(im, onnx_need(im, 4));
    qgc_value *product = onnx_binary(im, "mul", x_scale, w_scale);
    if (product && factor != 1)
        product = onnx_binary(im, "mul", product, onnx_scalar(im, (double)factor, QGC_DTYPE_F32));
    out->multiplier = onnx_binary(im, "div", product, per_tensor(im, onnx_need(im, y_scale)));
    out->zero_point = per_tensor(im, onnx_need(im, y_scale + 1));
    return out->multiplier && out->zero_point;
}

static qgc_value *with_requantize(onnx_import *im, qgc_value *acc, const rescale *how,
                                  int32_t zero_point)
{
    const qgc_tensor *m = onnx_constant(how->multiplier);
    bool per_channel = how->multiplier->type->rank == 1;
    qgc_dim dims[] = {qgc_dim_number(1), qgc_dim_number(1)};
    if (per_channel)
        dims[1] = how->multiplier->type->dims[0];
    qgc_value *operands[] = {acc, NULL, NULL};
    if (per_channel)
        operands[1] = onnx_reshape(im, how->multiplier, dims, 2);
    qgc_node *node = onnx_begin(im, "requantize", 3, operands, 1);
    if (per_channel)
        onnx_set_int(im, node, "axis", how->axis);
    else
        onnx_set(im, node, "multipliers",
                 (qgc_attr){.kind = QGC_ATTR_FLOATS, .num = 1, .floats = m->data});
    onnx_set_int(im, node, "zero_point", zero_point);
    if (node)
        node->results[0].type =
            qgc_type_with_dtype(&im->context->types, acc->type, how->zero_point->type->dtype);
    return onnx_end(im, node);
}

/* The same bits, where a zero point or scale is only known at run time: acc * m, then a quantize
 * with scale 1. */
static qgc_value *with_quantize(onnx_import *im, qgc_value *acc, const rescale *how)
{
    qgc_value *multiplier = how->multiplier;
    qgc_dim dims[QGC_MAX_RANK];
    uint32_t rank = acc->type->rank - how->axis;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i ? qgc_dim_number(1) : multiplier->type->dims[0];
    if (multiplier->type->rank == 1)
        multiplier = onnx_reshape(im, multiplier, dims, rank);
    qgc_value *x = onnx_binary(im, "mul", onnx_cast(im, acc, QGC_DTYPE_F32), multiplier);
    return quantize(im, x, onnx_scalar(im, 1, QGC_DTYPE_F32), how->zero_point,
                    how->zero_point->type->dtype);
}

static qgc_result define_rescaled(onnx_import *im, qgc_value *acc, const rescale *how)
{
    const qgc_tensor *zero_point;
    if (!acc)
        return QGC_FAILED;
    bool is_known = scalar_constant(how->zero_point, &zero_point) && onnx_constant(how->multiplier);
    if (!is_known)
        return onnx_define(im, 0, with_quantize(im, acc, how));
    int32_t number = zero_point->dtype == QGC_DTYPE_U8 ? *(const uint8_t *)zero_point->data
                                                       : *(const int8_t *)zero_point->data;
    return onnx_define(im, 0, with_requantize(im, acc, how, number));
}

qgc_result convert_qlinear_conv(onnx_import *im)
{
    rescale how = {.axis = 1};
    qgc_value *in[9];
    onnx_operands(im, 8, 9, in);
    if (!read_rescale(im, 6, 1, &how))
        return QGC_FAILED;
    qgc_value *xwb[] = {in[0], in[3], in[8]};
    qgc_node *node = begin_integer_conv(im, xwb, in[2], in[5]);
    return define_rescaled(im, onnx_end(im, node), &how);
}

qgc_result convert_qlinear_matmul(onnx_import *im)
{
    rescale how = {0};
    qgc_value *in[8];
    onnx_operands(im, 8, 8, in);
    if (!read_rescale(im, 6, 1, &how))
        return QGC_FAILED;
    qgc_value *xwb[] = {in[0], in[3], NULL};
    qgc_node *node = begin_integer(im, "int_matmul", xwb, in[2], in[5]);
    qgc_value *acc = onnx_end(im, node);
    how.axis = acc ? acc->type->rank - 1 : 0;
    return define_rescaled(im, acc, &how);
}

/* ---- ONNX Runtime's own ops (domain com.microsoft) ---- */

/* A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, y_scale, y_zero_point. */
qgc_result convert_qgemm(onnx_import *im)
{
    rescale how = {.axis = 1};
    bool trans_b = onnx_int(im, "transB", 0) != 0;
    qgc_value *in[7];
    onnx_operands(im, 6, 7, in);
    qgc_value *xwb[] = {in[0], in[3], in[6]};
    if (onnx_int(im, "transA", 0) || im->node->num_inputs < 9)
        return onnx_refuse(im, "transA, or a result in floats");
    if (xwb[2] && xwb[2]->type->rank != 1)
        return onnx_refuse(im, "C of rank %u", xwb[2]->type->rank);
    if (!read_rescale(im, 7, onnx_float(im, "alpha", 1), &how))
        return QGC_FAILED;
    const char *mnemonic = trans_b ? "int_linear" : "int_matmul";
    qgc_node *node = begin_integer(im, mnemonic, xwb, in[2], in[5]);
    return define_rescaled(im, onnx_end(im, node), &how);
}

/* A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point; the zero points join
 * the sum before rounding. */
static bool add_parameters(onnx_import *im, float *scales, int64_t *zero_points)
{
    static const uint32_t scale_at[] = {1, 4, 6};
    for (int i = 0; i < 3; i++) {
        const qgc_tensor *scale, *zero_point;
        qgc_value *z = onnx_cast(im, per_tensor(im, onnx_need(im, scale_at[i] + 1)), QGC_DTYPE_I32);
        if (!scalar_constant(per_tensor(im, onnx_need(im, scale_at[i])), &scale) ||
            !scalar_constant(z, &zero_point))
            return false;
        scales[i] = *(const float *)scale->data;
        zero_points[i] = *(const int32_t *)zero_point->data;
    }
    return true;
}

qgc_result convert_qlinear_add(onnx_import *im)
{
    float scales[3];
    int64_t zero_points[3];
    qgc_value *a = onnx_need(im, 0), *b = onnx_need(im, 3);
    qgc_value *terms[] = {a, b, NULL, NULL};
    if (!add_parameters(im, scales, zero_points) || !terms[0] || !terms[1])
        return onnx_refuse(im, "scales and zero points are not constant scalars");
    float *multipliers = QGC_NEW_ARRAY(im->arena, float, 2);
    multipliers[0] = scales[0] / scales[2];
    multipliers[1] = scales[1] / scales[2];
    qgc_node *node = onnx_begin(im, "requantize", 4, terms, 1);
    onnx_set(im, node, "multipliers",
             (qgc_attr){.kind = QGC_ATTR_FLOATS, .num = 2, .floats = multipliers});
    onnx_set_ints(im, node, "term_zero_points", zero_points, 2);
    onnx_set_int(im, node, "zero_point", zero_points[2]);
    onnx_set_word(im, node, "mode", "zp_first");
    if (node)
        node->results[0].type = onnx_broadcast_type(im, terms[0], terms[1]);
    return onnx_define(im, 0, onnx_end(im, node));
}
