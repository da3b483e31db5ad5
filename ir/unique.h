/* Equal slices of a tensor, for the infer hook and the kernel of unique. */
#ifndef QGC_IR_UNIQUE_H
#define QGC_IR_UNIQUE_H

#include "base/arena.h"
#include "qgc/tensor.h"

/* How a tensor is cut into slices: element j of slice i in outer block o stands at
 * (o * num + i) * inner + j. */
typedef struct qgc_slices {
    size_t outer, num, inner;
} qgc_slices;

typedef struct qgc_unique {
    size_t num;      /* groups of equal slices */
    size_t *first;   /* per group: its first slice */
    size_t *count;   /* per group: slices */
    size_t *inverse; /* per slice: its group */
} qgc_unique;

/* |axis| < 0: the elements one by one. */
qgc_slices qgc_slices_along(const qgc_tensor *t, int64_t axis);

/* Slices are equal where all elements are; -0.0 equals 0.0, a NaN every NaN. Groups come in
 * ascending order (lexicographic, NaN above every number), or in that of their first slices. */
qgc_unique qgc_unique_find(qgc_arena *arena, const qgc_tensor *t, qgc_slices slices,
                           bool ascending);

#endif
