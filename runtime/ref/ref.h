/* Reference kernels: one per op, plain loops, written to be read. They define what an op computes;
 * generated code must give the same bytes. The names are those in the op table's rows. */
#ifndef QGC_RUNTIME_REF_H
#define QGC_RUNTIME_REF_H

#include "ir/view.h"
#include "runtime/tensor.h"

typedef struct qgc_ref_call {
    qgc_context *context;
    const qgc_node *node; /* attributes: ir/view.h */
    uint32_t num_operands, num_results;
    const qgc_tensor *const *operands; /* flat; NULL where absent */
    qgc_tensor *results;               /* allocated with the inferred shapes, zeroed */
    qgc_arena *scratch;                /* emptied after the call */
} qgc_ref_call;

/* The constraints of the op's row hold. QGC_FAILED: reported with qgc_ref_fail. */
typedef qgc_result qgc_ref_fn(qgc_ref_call *call);

qgc_ref_fn *qgc_ref_kernel(qgc_opcode op);

/* These values cannot be computed with (a bad index, say). Always QGC_FAILED. */
qgc_result qgc_ref_fail(qgc_ref_call *call, const char *format, ...) QGC_PRINTF(2, 3);

/* Likewise: element |i| of |indices| is not in [-size, size). */
qgc_result qgc_ref_fail_index(qgc_ref_call *call, const qgc_tensor *indices, size_t i,
                              int64_t size);

/* ---- element access: how kernels stay independent of the element type ---- */

/* Computation type of an element type: f16, bf16 and f32 compute in f32, f64 in f64, integers in
 * i64 (u64 bits for u64), bool as 0 or 1. */
float qgc_get_f32(const qgc_tensor *t, size_t index);     /* any float type but f64: exact */
void qgc_set_f32(qgc_tensor *t, size_t index, float v);   /* rounds once to the element type */
double qgc_get_f64(const qgc_tensor *t, size_t index);    /* any type; i64 and u64 round */
void qgc_set_f64(qgc_tensor *t, size_t index, double v);  /* float types; rounds once */
int64_t qgc_get_int(const qgc_tensor *t, size_t index);   /* integers and bool; u64 as its bits */
void qgc_set_int(qgc_tensor *t, size_t index, int64_t v); /* modulo 2^bits; bool: v != 0 */

/* Strides in elements, row-major. */
void qgc_strides(const qgc_tensor *t, int64_t *out);
/* Strides of |t| seen as broadcast to |rank| dimensions |shape|: 0 where it repeats. */
void qgc_broadcast_strides(const qgc_tensor *t, uint32_t rank, const int64_t *shape, int64_t *out);
/* Steps |index| through |shape| in row-major order; false after the last. */
bool qgc_next_index(uint32_t rank, const int64_t *shape, int64_t *index);

#endif
