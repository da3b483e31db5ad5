/* Moving elements whatever their type: only their size counts. */
#ifndef QGC_RUNTIME_REF_MOVE_H
#define QGC_RUNTIME_REF_MOVE_H

#include "runtime/ref/ref.h"

/* y[index] = x[offset + sum of index * strides]; strides in elements, one per dimension of |y|. */
void qgc_ref_move(const qgc_tensor *x, int64_t offset, const int64_t *strides, qgc_tensor *y);

/* Element |to| of |y| = element |from| of |x|; the element types are the same. */
void qgc_ref_copy_element(qgc_tensor *y, size_t to, const qgc_tensor *x, size_t from);

/* Product of shape[begin] .. shape[end - 1]. */
size_t qgc_ref_count(const qgc_tensor *t, uint32_t begin, uint32_t end);

/* A checked axis attribute in [0, rank). */
uint32_t qgc_ref_axis(const qgc_ref_call *call, uint32_t rank);

/* An INT or INTS attribute |name|, else the integers of operand |operand|, else NULL and 0. */
const int64_t *qgc_ref_list(qgc_ref_call *call, const char *name, uint32_t operand,
                            uint32_t *out_num);

/* list[i] as an axis in [0, rank); i itself where there is no list. */
uint32_t qgc_ref_axis_at(const int64_t *list, uint32_t i, uint32_t rank);

#endif
