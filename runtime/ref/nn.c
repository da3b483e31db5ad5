/* Convolution, linear, matmul, pooling, normalization: the fma chains of docs/quantization.md §5.
 */
#include "runtime/ref/ref.h"

#include <math.h>

qgc_result ref_linear(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0], *w = call->operands[1], *b = call->operands[2];
    qgc_tensor *y = &call->results[0];
    size_t out = (size_t)w->shape[0], in = (size_t)w->shape[1];
    size_t rows = out ? qgc_tensor_count(y) / out : 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            if (x->dtype == QGC_DTYPE_F64) {
                double acc = b ? qgc_get_f64(b, o) : 0;
                for (size_t k = 0; k < in; k++)
                    acc = fma(qgc_get_f64(x, r * in + k), qgc_get_f64(w, o * in + k), acc);
                qgc_set_f64(y, r * out + o, acc);
                continue;
            }
            float acc = b ? qgc_get_f32(b, o) : 0;
            for (size_t k = 0; k < in; k++)
                acc = fmaf(qgc_get_f32(x, r * in + k), qgc_get_f32(w, o * in + k), acc);
            qgc_set_f32(y, r * out + o, acc);
        }
    return QGC_OK;
}
