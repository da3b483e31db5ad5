/* Folding a list of numbers in the order that docs/quantization.md §5 fixes: element i goes to lane
 * i mod 16, each lane is folded in order from the identity, then lanes[i] takes lanes[i + 8],
 * [i + 4], [i + 2], [i + 1]. */
#ifndef QGC_RUNTIME_REF_LANES_H
#define QGC_RUNTIME_REF_LANES_H

#include "qgc/base.h"

/* MAX is NaN where either is NaN, else a < b ? b : a; MIN mirrors it. */
typedef enum qgc_fold { QGC_FOLD_SUM, QGC_FOLD_PROD, QGC_FOLD_MAX, QGC_FOLD_MIN } qgc_fold;

/* No elements: 0, 1, -inf, inf. */
float qgc_fold_f32(qgc_fold fold, const float *values, size_t num);
double qgc_fold_f64(qgc_fold fold, const double *values, size_t num);
/* Modulo 2^64, so that the order does not show. |is_unsigned|: the values are the bits of u64 (MAX
 * and MIN compare so). No elements: 0, 1, the lowest, the highest. */
int64_t qgc_fold_int(qgc_fold fold, bool is_unsigned, const int64_t *values, size_t num);

#endif
