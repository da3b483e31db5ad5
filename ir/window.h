/* Sliding windows (convolution, pooling): what the attributes stride, dilation, padding and
 * auto_pad mean, for hooks (kernels: runtime/ref/window.h). |kernel|: taps along a dimension; its
 * extent is dilation * (kernel - 1) + 1. */
#ifndef QGC_IR_WINDOW_H
#define QGC_IR_WINDOW_H

#include "ir/infer.h"

/* Numbers of the rules of an op's row: |steps|: stride and dilation have one entry per spatial
 * dimension, 1 or more; |padding|: two entries per spatial dimension, 0 or more, absent with
 * auto_pad; |fits|: the window fits the padded input. */
typedef struct qgc_window_rules {
    int steps, padding, fits;
} qgc_window_rules;

/* The attributes of |num| spatial dimensions; absent lists are filled with their defaults. */
typedef struct qgc_window_attrs {
    uint32_t num;
    const int64_t *stride, *dilation;
    const int64_t *padding; /* all begins, then all ends */
    qgc_auto_pad auto_pad;
} qgc_window_attrs;

qgc_result qgc_in_window(qgc_infer *in, uint32_t num, const qgc_window_rules *rules,
                         qgc_window_attrs *out);

/* dilation * (kernel - 1) + 1. */
qgc_dim qgc_window_extent(qgc_infer *in, const qgc_window_attrs *attrs, uint32_t axis,
                          qgc_dim kernel);

/* Output size along spatial dimension |axis|:
 *   floor((size + begin + end - extent) / stride) + 1, ceil instead of floor with |ceil_mode|;
 *   then one less where the last window would start at or behind size + begin.
 * With auto_pad same: ceil(size / stride). Unknown where the symbols do not decide. */
qgc_result qgc_window_out(qgc_infer *in, const qgc_window_attrs *attrs, int fits_rule,
                          uint32_t axis, qgc_dim size, qgc_dim kernel, bool ceil_mode,
                          qgc_dim *out);

#endif
