/* Scales and zero points as operands or attributes: the checks that several ops share. */
#ifndef QGC_IR_QUANT_PARAMS_H
#define QGC_IR_QUANT_PARAMS_H

#include "ir/infer.h"
#include "runtime/quant.h"

/* Rules (C1) to (C7) of quantize, dequantize and fake_quant: operands scale and zero_point (rows 1
 * and 2), attributes scale, zero_point and axis. |x|: what is cut into channels along axis;
 * |dtype|: the quantized type, one that qgc_quant_dtype_range knows. */
qgc_result qgc_check_scales(qgc_infer *in, const qgc_type *x, qgc_dtype dtype);

/* A zero point of an integer op, attribute |name| or the operand at |index| of the same name: given
 * once, a scalar (or a list of |channels| numbers where that is not NULL), in the range of |dtype|;
 * all of it is rule |rule|. */
qgc_result qgc_check_zero_point(qgc_infer *in, const char *name, uint32_t index, qgc_dtype dtype,
                                const qgc_dim *channels, int rule);

/* i32 where all of |x| and |w| (or NULL) have 8 bits, else i64. */
qgc_dtype qgc_accumulator_dtype(const qgc_type *x, const qgc_type *w);

#endif
