/* Literal quantized graphs hold weights as integers behind dequantize; kernels want constants. */
#ifndef QGC_CODEGEN_FOLD_WEIGHTS_H
#define QGC_CODEGEN_FOLD_WEIGHTS_H

#include "ir/graph.h"

/* Computes dequantize of constants, and what moves its elements, where a convolution or product has
 * it as weights or bias: const-fold leaves steps of quantization, which a reader is to see, but
 * nobody reads a compiled copy. Bit for bit the same, by the interpreter's kernels. */
void qgc_fold_weights(qgc_func *func);

#endif
