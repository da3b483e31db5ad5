/* The shapes of convolutions, float and integer: operands x, w and a bias, attributes as in conv2d.
 */
#ifndef QGC_IR_CONV_H
#define QGC_IR_CONV_H

#include "ir/infer.h"

/* Rules (C2) to (C8) of conv2d. |dims|: the result's, as many as x has. */
qgc_result qgc_conv_dims(qgc_infer *in, qgc_dim *dims);
/* Rules (C2) to (C10) of conv_transpose2d. */
qgc_result qgc_conv_transpose_dims(qgc_infer *in, qgc_dim *dims);

#endif
