/* The loops behind the elementwise kernels. An op is a row: one function per computation type, the
 * ones that its operand types allow (f16, bf16 and f32 compute in f32; bool in i64 as 0 or 1). */
#ifndef QGC_RUNTIME_REF_ELEMENTWISE_H
#define QGC_RUNTIME_REF_ELEMENTWISE_H

#include "runtime/ref/ref.h"

typedef enum qgc_compute {
    QGC_COMPUTE_F32,
    QGC_COMPUTE_F64,
    QGC_COMPUTE_I64,
    QGC_COMPUTE_U64
} qgc_compute;
qgc_compute qgc_compute_type(qgc_dtype dtype);

/* ---- walking over a result and its broadcast operands ---- */

enum { QGC_MAX_STREAMS = 3 };

/* A row is a run of result elements through which every operand has one step. */
typedef struct qgc_rows {
    uint32_t num, rank;
    int64_t shape[QGC_MAX_RANK]; /* of the result, without the dimension along the row */
    int64_t index[QGC_MAX_RANK];
    int64_t strides[QGC_MAX_STREAMS][QGC_MAX_RANK];
    size_t length;
    size_t at, from[QGC_MAX_STREAMS]; /* first element of the row in the result, the operands */
    size_t step[QGC_MAX_STREAMS];
} qgc_rows;

/* The first row; false where the result is empty. The operands broadcast to |y|. */
bool qgc_rows_begin(qgc_rows *rows, const qgc_tensor *y, uint32_t num,
                    const qgc_tensor *const *operands);
bool qgc_rows_next(qgc_rows *rows);

/* ---- rows of functions ---- */

typedef struct qgc_unary_row {
    float (*f32)(float x);
    double (*f64)(double x);
    int64_t (*i64)(int64_t x);
    uint64_t (*u64)(uint64_t x);
} qgc_unary_row;
/* y has the type of x. */
void qgc_ref_unary(const qgc_unary_row *row, qgc_tensor *y, const qgc_tensor *x);

typedef struct qgc_binary_row {
    float (*f32)(float a, float b);
    double (*f64)(double a, double b);
    int64_t (*i64)(int64_t a, int64_t b);
    uint64_t (*u64)(uint64_t a, uint64_t b);
} qgc_binary_row;
/* y, a and b have one element type; a may be y itself. */
void qgc_ref_binary(const qgc_binary_row *row, qgc_tensor *y, const qgc_tensor *a,
                    const qgc_tensor *b);

typedef struct qgc_compare_row {
    bool (*f32)(float a, float b);
    bool (*f64)(double a, double b);
    bool (*i64)(int64_t a, int64_t b);
    bool (*u64)(uint64_t a, uint64_t b);
} qgc_compare_row;
/* y is bool. */
void qgc_ref_compare(const qgc_compare_row *row, qgc_tensor *y, const qgc_tensor *a,
                     const qgc_tensor *b);

/* A function with constants, from up to two float attributes (NULL: not used). */
typedef struct qgc_scaled_row {
    float (*f32)(float x, float p, float q);
    double (*f64)(double x, double p, double q);
    const char *p, *q;
} qgc_scaled_row;
void qgc_ref_scaled(const qgc_scaled_row *row, const qgc_node *node, qgc_tensor *y,
                    const qgc_tensor *x);

#endif
