/* The plug-in's own layer over oneDNN's C API: what differs between versions 2 and 3 stands in
 * dnn.c. A kernel is one primitive with memory for its arguments, and loops in C before and behind
 * it. */
#ifndef QGC_ONEDNN_H
#define QGC_ONEDNN_H

#include "qgc/backend.h"

#include <dnnl.h>

typedef struct onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
} onednn;

/* A dense array as oneDNN is to see it: dimensions, and strides in elements (NULL: the primitive
 * chooses the layout and reorders are put around it). */
typedef struct dnn_array {
    int rank;
    dnnl_dims_t dims, strides;
    dnnl_data_type_t type;
    const void *data; /* a constant's elements, else NULL */
} dnn_array;

enum { DNN_MAX_ARGS = 8 };

typedef struct dnn_argument {
    int arg;                    /* DNNL_ARG_... */
    int input;                  /* index of the kernel's input; -1: a constant; -2: the output */
    dnnl_memory_t plain, inner; /* the caller's layout, the primitive's; may be one */
    dnnl_primitive_t reorder;   /* between them, or NULL */
} dnn_argument;

typedef enum dnn_kind { DNN_CONV, DNN_MATMUL, DNN_MAX_POOL, DNN_AVG_POOL, DNN_ADD } dnn_kind;

/* Quantized average pools and sums are computed on real numbers: f = (q - zero_point) * multiplier.
 */
typedef struct dnn_real {
    float *values; /* NULL: the input is read as it is */
    int64_t num;
    int is_signed;
    int32_t zero_point;
    float multiplier;
} dnn_real;

/* What follows quantized ops:
 *   y = clamp(rne(acc * m[c] + (addend - za) * ma + bias[c]) + zy, lo, hi)
 *   of a float result: y = acc * m[c] + bias[c] */
typedef struct dnn_epilogue {
    int is_used, is_float_sum, is_float_result, is_signed;
    int64_t num, num_channels, inner; /* channel of element i: i / inner % num_channels */
    const float *multipliers, *bias;  /* num_channels; bias may be NULL */
    int has_add, add_is_signed;
    int32_t add_zero_point, zero_point, lo, hi;
    float add_multiplier;
} dnn_epilogue;

typedef struct dnn_kernel {
    onednn *dnn;
    dnn_kind kind;
    dnnl_primitive_t primitive;
    int num_args;
    dnn_argument args[DNN_MAX_ARGS];
    dnnl_memory_t zero_point; /* of the source, or NULL */
    int32_t source_zero_point;
    /* what the primitive reads and writes in place of the op's own tensors, or NULL */
    void *sum;
    dnn_real real[2];
    dnn_epilogue epilogue;
} dnn_kernel;

/* What a primitive is made of. Pointers are borrowed. */
typedef struct dnn_problem {
    dnn_kind kind;
    dnn_array source, weights, result; /* ADD: weights is the second operand; pools have none */
    const dnn_array *bias;             /* f32 ops */
    int pads_count;                    /* AVG_POOL: positions of the padding are counted */
    dnnl_dims_t strides, dilations, pad_begin, pad_end, window;
    int32_t source_zero_point;
} dnn_problem;

/* 0, or what oneDNN says. */
int dnn_open(onednn *dnn);
void dnn_close(onednn *dnn);
/* Makes the primitive and its memory; on failure everything is released again. */
int dnn_create(onednn *dnn, const dnn_problem *problem, dnn_kernel *out);
void dnn_release(void *kernel);
/* A qgc_backend_kernel_fn. */
int dnn_run(void *kernel, const void *const *inputs, void *const *outputs, int64_t begin,
            int64_t end);

/* lower.c: of qgc_backend_pattern. */
qgc_backend_lower_fn lower_conv, lower_matmul, lower_max_pool, lower_avg_pool, lower_add;

#endif
