/* Sliding windows at actual sizes: what the attributes stride, dilation, padding and auto_pad mean
 * to kernels (hooks: ir/window.h). */
#ifndef QGC_RUNTIME_REF_WINDOW_H
#define QGC_RUNTIME_REF_WINDOW_H

#include "ir/view.h"

enum { QGC_MAX_SPATIAL = 3 };

/* One spatial dimension. Tap |k| of output |o| reads input o * stride + k * dilation - begin where
 * that is in [0, size). */
typedef struct qgc_window_dim {
    int64_t size, kernel, out;
    int64_t stride, dilation, begin, end;
} qgc_window_dim;

typedef struct qgc_window_sizes {
    const int64_t *in, *kernel, *out; /* one per spatial dimension */
} qgc_window_sizes;

/* |num| spatial dimensions, put behind dimensions of size 1 up to QGC_MAX_SPATIAL. What auto_pad
 * asks for is split: with same_upper the larger half is the end, with same_lower the begin; nothing
 * is taken away where it is negative. |transposed|: of conv_transpose, where the padding follows
 * likewise (as with same_lower) from a given output_size. */
void qgc_window_read(const qgc_node *node, uint32_t num, const qgc_window_sizes *sizes,
                     bool transposed, qgc_window_dim *dims);

/* The taps [*first, *last) of output |o| that lie in bounds. */
void qgc_window_taps(const qgc_window_dim *dim, int64_t o, int64_t *first, int64_t *last);

#endif
