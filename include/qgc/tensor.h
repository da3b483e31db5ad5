/* A dense tensor in memory, row-major, no strides. */
#ifndef QGC_TENSOR_H
#define QGC_TENSOR_H

#include "qgc/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QGC_MAX_RANK 8

/* A view: who owns |data| is said where a tensor is handed over. |data| is aligned to the element
 * size at least (64 bytes where qgc allocated it). Elements are in the machine's byte order,
 * which is little-endian on every supported host. |bytes| = product of shape * element size. */
typedef struct qgc_tensor {
    qgc_dtype dtype;
    uint32_t rank; /* 0 (scalar) to QGC_MAX_RANK */
    int64_t shape[QGC_MAX_RANK];
    void *data;
    size_t bytes;
} qgc_tensor;

#ifdef __cplusplus
}
#endif
#endif
