/* Graphs that hold quantization steps already. */
#ifndef QGC_PASSES_PREPARE_PARTIAL_H
#define QGC_PASSES_PREPARE_PARTIAL_H

#include "passes/pass.h"

/* quantize, dequantize and fake_quant. */
bool qgc_is_step(const qgc_node *node);

/* Takes away the annotations of values that a step gives or reads, and those that share with them,
 * each with a remark. */
void qgc_drop_quantized(qgc_func *func, const qgc_pass_env *env);

#endif
