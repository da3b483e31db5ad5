/* Kernels as plans describe them: shapes, strides and epilogue, all constant. No LLVM here. */
#ifndef QGC_CODEGEN_KERNEL_H
#define QGC_CODEGEN_KERNEL_H

#include "base/str.h"

typedef enum qgc_kernel_kind {
#define QGC_KERNEL(id, name, planner, emitter) QGC_KERNEL_##id,
#include "codegen/kernels.def"
    QGC_NUM_KERNELS
} qgc_kernel_kind;

/* How every generated kernel is called. |in|, |out|: addresses of the step's buffers; |constants|:
 * of the step's constants; units of work [begin, end), which threads share. */
typedef void qgc_kernel_fn(const void *const *in, void *const *out, const void *const *constants,
                           int64_t begin, int64_t end);

/* What a step asks of code generation; the kind's own struct begins with it. */
typedef struct qgc_kernel {
    qgc_kernel_kind kind;
    const char *name; /* of the function */
    int64_t units;
    uint32_t num_constants;
    const void **constants;
} qgc_kernel;

/* Integer epilogue: clamp(rne(f32(acc) * multiplier[c] + bias[c]) + zero_point, lo, hi), stored as
 * u8. (A signed output is stored with 128 added to value, zero point and bounds.) */
typedef struct qgc_epilogue {
    bool has_bias; /* of the float kind; an integer bias stands in the accumulator's start */
    int32_t zero_point, lo, hi;
} qgc_epilogue;

/* Dense convolution of NHWC u8 by s8 weights; linear and matmul are the case of one pixel per row.
 *
 * out[r][x][o] = epilogue(start[o] + sum over runs t, bytes k of in[r][x][t][k] * w[o][t][k])
 *
 * A run is what lies contiguous in the input for one kernel row: kernel_w * channels bytes where
 * the dilation is 1, else channels bytes for each tap. The input's border holds the zero point. */
typedef struct qgc_conv_kernel {
    qgc_kernel base; /* units: output rows, images * out_h */
    int64_t rows_per_image;
    int64_t out_w, out_c;
    int64_t in_image, in_row, in_pixel; /* bytes: next image; next output row; next output pixel */
    int64_t out_row, out_pixel;         /* bytes; images lie one after the other */
    int64_t num_runs;
    const int64_t *run_offsets; /* bytes from the pixel's first tap */
    int64_t run_steps;          /* 4-byte steps of each run: ceil(bytes / 4) */
    qgc_epilogue epilogue;
    uint32_t tile_vectors; /* per pixel: a block of channels has tile_vectors * lanes */
    uint32_t tile_pixels;  /* most pixels of a register tile */
} qgc_conv_kernel;

/* Its constants: weights s8 [block][run][step][lane of the block][4]; the accumulator's start i32,
 * multipliers f32 and bias f32 (NULL without one), each padded to whole blocks. */
enum {
    QGC_CONV_WEIGHTS,
    QGC_CONV_START,
    QGC_CONV_MULTIPLIERS,
    QGC_CONV_BIAS,
    QGC_CONV_NUM_CONSTANTS
};

#endif
