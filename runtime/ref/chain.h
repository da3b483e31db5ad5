/* The fma chains of docs/quantization.md §5, shared by convolution, linear and matmul: a block of
 * outputs side by side, each its own chain over the same x. Outputs are independent, so a block may
 * be computed in vectors; the order along a chain is never changed.
 *
 * The computation type: f32 for f32, f16 and bf16; f64 for f64; 64-bit integers for integers, whose
 * low bits are the sum modulo 2^bits. */
#ifndef QGC_RUNTIME_REF_CHAIN_H
#define QGC_RUNTIME_REF_CHAIN_H

#include "runtime/ref/ref.h"

enum { QGC_CHAIN_MAX_WIDTH = 32 };

/* F32, F64 or I64: what elements of |dtype| compute in. */
qgc_dtype qgc_chain_dtype(qgc_dtype dtype);

/* Outputs per block for |num| outputs in a row: 1, 8 or 32. */
size_t qgc_chain_width(size_t num);

/* acc[j] = fma(x[k], w[k * width + j], acc[j]) for k = 0 .. num-1, each j < width. All three of
 * the computation type |type|; the pointers do not overlap. */
void qgc_chain_run(qgc_dtype type, size_t width, void *acc, const void *x, size_t num,
                   const void *w);

/* Element |from| of |t|, converted, becomes element |to| of |dest|, of the computation type. */
void qgc_chain_load(void *dest, size_t to, const qgc_tensor *t, size_t from);
/* Element |from| of |acc|, of the computation type of t, rounded once, becomes element |to|. */
void qgc_chain_store(qgc_tensor *t, size_t to, const void *acc, size_t from);

/* A matrix [rows, columns] of a tensor's elements, as blocks of columns. */
typedef struct qgc_chain_matrix {
    size_t base, row_step, column_step; /* in elements of the tensor */
    size_t rows, columns;
} qgc_chain_matrix;

/* [column block][row][width] from element |to| of |dest|; lanes behind the last column are left as
 * they are (zero). */
void qgc_chain_pack(void *dest, size_t to, size_t width, const qgc_tensor *t,
                    const qgc_chain_matrix *matrix);

#endif
