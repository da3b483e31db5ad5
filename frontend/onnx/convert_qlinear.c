/* Converters: ONNX Runtime's quantized ops (domain com.microsoft) that are a float op between a
 * dequantize and a quantize: that form is what they compute, or approximate. */
#include "frontend/onnx/import.h"

#include <string.h>

static qgc_value *dequantized(onnx_import *im, uint32_t input)
{
    qgc_value *q = onnx_need(im, input), *scale = onnx_need(im, input + 1);
    return onnx_dequantize(im, q, scale, onnx_in(im, input + 2));
}

/* Scale and zero point of the result are input |input| and the next one. */
static qgc_result define_quantized(onnx_import *im, qgc_value *y, uint32_t input)
{
    qgc_value *scale = onnx_need(im, input);
    return onnx_define(im, 0, onnx_quantize(im, y, scale, onnx_in(im, input + 1)));
}

qgc_result convert_qlinear_leaky_relu(onnx_import *im)
{
    qgc_value *x = dequantized(im, 0);
    qgc_node *node = x ? onnx_begin(im, "leaky_relu", 1, &x, 1) : NULL;
    onnx_set_float(im, node, "alpha", onnx_float(im, "alpha", 0.01f));
    return define_quantized(im, onnx_end(im, node), 3);
}

qgc_result convert_qlinear_sigmoid(onnx_import *im)
{
    return define_quantized(im, onnx_unary(im, "sigmoid", dequantized(im, 0)), 3);
}

qgc_result convert_qlinear_softmax(onnx_import *im)
{
    qgc_value *x = dequantized(im, 0);
    if (!x)
        return QGC_FAILED;
    int64_t rank = x->type->rank, axis = onnx_int(im, "axis", -1);
    bool flat = onnx_int(im, "opset", 13) < 13;
    axis += axis < 0 ? rank : 0;
    if (flat && axis != rank - 1)
        return onnx_refuse(im, "softmax over several dimensions");
    qgc_node *node = onnx_begin(im, "softmax", 1, &x, 1);
    onnx_set_int(im, node, "axis", axis);
    return define_quantized(im, onnx_end(im, node), 3);
}

qgc_result convert_qlinear_mul(onnx_import *im)
{
    qgc_value *a = dequantized(im, 0), *b = dequantized(im, 3);
    return define_quantized(im, onnx_binary(im, "mul", a, b), 6);
}

/* Y_scale, Y_zero_point, then three inputs per part. */
qgc_result convert_qlinear_concat(onnx_import *im)
{
    uint32_t num = (im->node->num_inputs - 2) / 3;
    if (im->node->num_inputs < 5 || im->node->num_inputs != 2 + 3 * num)
        return onnx_refuse(im, "%u inputs, expected 2 and three per part", im->node->num_inputs);
    qgc_value **parts = QGC_NEW_ARRAY(im->arena, qgc_value *, num);
    for (uint32_t i = 0; i < num; i++) {
        qgc_value *part = dequantized(im, 2 + 3 * i), *scale = onnx_need(im, 0);
        parts[i] = onnx_quantize(im, part, scale, onnx_in(im, 1));
        if (!parts[i])
            return QGC_FAILED;
    }
    qgc_node *node = onnx_begin(im, "concat", num, parts, 1);
    onnx_set_int(im, node, "axis", onnx_int(im, "axis", 1));
    return onnx_define(im, 0, onnx_end(im, node));
}

static qgc_result refuse_channels_last(onnx_import *im)
{
    return onnx_int(im, "channels_last", 0) ? onnx_refuse(im, "channels_last is not supported")
                                            : QGC_OK;
}

qgc_result convert_qlinear_avg_pool(onnx_import *im)
{
    QGC_TRY(refuse_channels_last(im));
    qgc_node *node = onnx_begin_avg_pool(im, dequantized(im, 0));
    return define_quantized(im, onnx_end(im, node), 3);
}

qgc_result convert_qlinear_global_avg_pool(onnx_import *im)
{
    QGC_TRY(refuse_channels_last(im));
    return define_quantized(im, onnx_unary(im, "global_avg_pool", dequantized(im, 0)), 3);
}
