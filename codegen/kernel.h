/* Kernels as plans describe them: shapes, strides and epilogue, all constant. No LLVM here. */
#ifndef QGC_CODEGEN_KERNEL_H
#define QGC_CODEGEN_KERNEL_H

#include "base/str.h"

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
    const char *name;
    int64_t num_rows; /* output rows, images * out_h: what threads share */
    int64_t rows_per_image;
    int64_t out_w, out_c;
    int64_t in_image, in_row, in_pixel; /* bytes: next image; next output row; next output pixel */
    int64_t out_row, out_pixel;         /* bytes; images lie one after the other */
    int64_t num_runs;
    const int64_t *run_offsets; /* bytes from the pixel's first tap */
    int64_t run_steps;          /* 4-byte steps of each run: ceil(bytes / 4) */
    qgc_epilogue epilogue;
} qgc_conv_kernel;

/* Packed weights: [block of output channels][run][step][lane of the block][4]; a block is what one
 * register tile covers. */
typedef struct qgc_conv_tile {
    uint32_t vectors; /* per pixel: a block has vectors * lanes channels */
    uint32_t pixels;  /* most pixels of a tile */
} qgc_conv_tile;

#endif
