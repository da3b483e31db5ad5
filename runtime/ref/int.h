/* What the integer kernels share: operands as differences from their zero points. */
#ifndef QGC_RUNTIME_REF_INT_H
#define QGC_RUNTIME_REF_INT_H

#include "runtime/ref/ref.h"

/* Operand rows of int_linear, int_matmul and the integer convolutions. */
enum { QGC_INT_X, QGC_INT_W, QGC_INT_BIAS, QGC_INT_XZ, QGC_INT_WZ };

/* 1 where the zero point is an attribute or a scalar, else the number of channels. */
size_t qgc_int_length(const qgc_tensor *zero_point);
/* The zero point of |channel|: the operand at |index|, or the attribute |name|. */
int64_t qgc_int_zero_point(const qgc_ref_call *call, const char *name, uint32_t index,
                           size_t channel);
/* All elements of operand |index| less |zero_point|; in the call's scratch arena. */
int32_t *qgc_int_shifted(qgc_ref_call *call, uint32_t index, int64_t zero_point);
/* 0 where there is no bias. */
uint64_t qgc_int_bias(const qgc_ref_call *call, size_t channel);

#endif
