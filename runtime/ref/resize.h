/* What each output position of a resize takes of the input, along one axis. */
#ifndef QGC_RUNTIME_REF_RESIZE_H
#define QGC_RUNTIME_REF_RESIZE_H

#include "ir/view.h"

enum { QGC_RESIZE_MAX_TAPS = 4 };

/* The sum of weight * element over the taps, those of weight 0 left out; of one tap alone the
 * element itself. */
typedef struct qgc_resize_taps {
    uint32_t num;
    bool is_outside; /* extrapolated */
    int64_t position[QGC_RESIZE_MAX_TAPS];
    float weight[QGC_RESIZE_MAX_TAPS];
} qgc_resize_taps;

/* Of a resize of fixed shapes whose parameters are constant: one list per axis, with an entry per
 * output position, in |arena|. NULL, or what is not constant. */
const char *qgc_resize_of_node(const qgc_node *node, qgc_arena *arena,
                               const qgc_resize_taps **out_taps);

/* Of an axis of |out| positions, those that are not extrapolated: [*first, *first + *size). False:
 * they are no neighbours. */
bool qgc_resize_inside(const qgc_resize_taps *taps, int64_t out, int64_t *first, int64_t *size);

/* The lowest bytes: an element of the result that is extrapolated. */
uint64_t qgc_resize_fill(const qgc_node *node);

#endif
