/* Owning tensors: allocation, copy, comparison. Views (include/qgc/tensor.h) into files or other
 * tensors are never passed to qgc_tensor_destroy. */
#ifndef QGC_RUNTIME_TENSOR_H
#define QGC_RUNTIME_TENSOR_H

#include "base/diag.h"
#include "qgc/tensor.h"

enum {
    QGC_TENSOR_ALIGN = 64, /* bytes; of |data| */
    QGC_TENSOR_SLACK = 64, /* zero bytes after the last element that vector code may read */
};

/* What writers take: both parts borrowed. */
typedef struct qgc_named_tensor {
    qgc_str name;
    qgc_tensor tensor;
} qgc_named_tensor;

/* Elements of |shape|, and elements * element size. False for a rank above QGC_MAX_RANK, a negative
 * dimension, or a product of the non-zero dimensions that does not fit int64_t bytes: a shape with
 * a 0 in it is no way around the limit. */
bool qgc_shape_count(uint32_t rank, const int64_t *shape, size_t *out_count);
bool qgc_shape_bytes(qgc_dtype dtype, uint32_t rank, const int64_t *shape, size_t *out_bytes);

/* "3x224x224"; "scalar" for rank 0. NUL-terminated, in |arena|. */
const char *qgc_shape_text(qgc_arena *arena, uint32_t rank, const int64_t *shape);

/* Zeroed elements, aligned to QGC_TENSOR_ALIGN, with QGC_TENSOR_SLACK. Owned by the caller until
 * qgc_tensor_destroy. Reports QGC_D_BAD_TYPE for a shape that qgc_shape_bytes refuses and
 * QGC_D_RUN_FAILED when memory is exhausted; |out| is then an empty tensor that may be destroyed.
 */
qgc_result qgc_tensor_create(qgc_diag *diag, qgc_dtype dtype, uint32_t rank, const int64_t *shape,
                             qgc_tensor *out);

/* Frees the elements and leaves a zeroed tensor; a zeroed tensor is fine. */
void qgc_tensor_destroy(qgc_tensor *tensor);

/* An owning copy of |from|; fails as qgc_tensor_create does. */
qgc_result qgc_tensor_copy(qgc_diag *diag, const qgc_tensor *from, qgc_tensor *out);

/* Number of elements. */
size_t qgc_tensor_count(const qgc_tensor *tensor);

bool qgc_tensor_same_type(const qgc_tensor *a, const qgc_tensor *b);

/* Row-major index of the first element that differs, SIZE_MAX where none does. Bitwise (0.0 and
 * -0.0 differ), except that all NaNs are equal (design of the numerics: payloads carry nothing).
 * The types must be the same. */
size_t qgc_tensor_first_difference(const qgc_tensor *a, const qgc_tensor *b);

/* Same type and no difference. */
bool qgc_tensor_equal(const qgc_tensor *a, const qgc_tensor *b);

/* Whether every byte is 0 or 1, as elements of type bool must be; files may hold anything. */
bool qgc_bools_valid(const void *data, size_t bytes);

#endif
