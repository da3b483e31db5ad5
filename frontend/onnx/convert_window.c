/* Converters: the window functions of signal processing, sums of cosines. */
#include "frontend/onnx/import.h"

#include <string.h>

/* w[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), N the size, or the size - 1 of a symmetric
 * window. */
typedef struct window {
    const char *op;
    double a0, a1, a2;
} window;

static const window windows[] = {{"HannWindow", 0.5, 0.5, 0},
                                 {"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
                                 {"BlackmanWindow", 0.42, 0.5, 0.08}};

static qgc_value *constant(onnx_import *im, double value)
{
    return onnx_scalar(im, value, QGC_DTYPE_F32);
}

static qgc_value *scaled_cosine(onnx_import *im, qgc_value *phase, double turns, double factor)
{
    qgc_value *angle = onnx_binary(im, "mul", phase, constant(im, turns * 6.283185307179586));
    qgc_value *cosine = onnx_unary(im, "cos", angle);
    return onnx_binary(im, "mul", cosine, constant(im, factor));
}

static qgc_value *evaluate(onnx_import *im, qgc_value *phase, const window *w)
{
    qgc_value *sum = constant(im, w->a0);
    sum = onnx_binary(im, "sub", sum, scaled_cosine(im, phase, 1, w->a1));
    return w->a2 != 0 ? onnx_binary(im, "add", sum, scaled_cosine(im, phase, 2, w->a2)) : sum;
}

qgc_result convert_window(onnx_import *im)
{
    qgc_dtype dtype;
    const window *w = windows;
    while (strcmp(w->op, im->node->op->data) != 0)
        w++;
    qgc_value *size = onnx_cast(im, onnx_need(im, 0), QGC_DTYPE_I64);
    if (!size || !qgc_onnx_dtype(onnx_int(im, "output_datatype", 1), &dtype))
        return onnx_refuse(im, "output_datatype does not exist here");
    qgc_value *begin = onnx_scalar_int(im, 0), *step = onnx_scalar_int(im, 1);
    qgc_value *operands[] = {begin, size, step};
    qgc_value *steps = onnx_end(im, onnx_begin(im, "range", 3, operands, 1));
    qgc_value *period = size;
    if (!onnx_int(im, "periodic", 1))
        period = onnx_binary(im, "sub", size, onnx_scalar_int(im, 1));
    qgc_value *phase = onnx_cast(im, steps, QGC_DTYPE_F32);
    phase = onnx_binary(im, "div", phase, onnx_cast(im, period, QGC_DTYPE_F32));
    return onnx_define(im, 0, onnx_cast(im, evaluate(im, phase, w), dtype));
}
