/* Kernels as plans describe them: shapes, strides and epilogue, all constant. No LLVM here. */
#ifndef QGC_CODEGEN_KERNEL_H
#define QGC_CODEGEN_KERNEL_H

#include "base/str.h"
#include "ir/ops.h"
#include "qgc/base.h"

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
    const char *name; /* of the function, which equal kernels share */
    int64_t units;
    uint32_t num_constants;
    const void **constants; /* each from qgc_planner_constant, or NULL */
    const char *tile;       /* of registers, which codegen/guard.h watches: as text; or NULL */
    bool has_smaller_tile;  /* it need not be this one */
} qgc_kernel;

/* Integer epilogue: clamp(rne(f32(acc) * multiplier[c] + ... + bias[c]) + zero_point, lo, hi),
 * stored as u8. (A signed output is stored with 128 added to value, zero point and bounds.) */
typedef struct qgc_epilogue {
    bool is_raw;     /* none: the sums are stored, as i32 */
    bool has_bias;   /* of the float kind; an integer bias stands in the accumulator's start */
    bool has_addend; /* + f32(addend - addend_zero_point) * addend_multiplier[c] before the bias */
    bool is_small;   /* proved: the rounded sum is within +-2^30 */
    /* The accumulator starts 0x4b000000 further on: its bits are those of the float 2^23 + acc. In
     * place of the bias stands -2^23 * multiplier[c], and one fma(2^23 + acc, multiplier, that)
     * gives what converting and multiplying does. Proved: acc < 2^23, and a negative sum ends at
     * |lo|, as it does here, where 2^23 + acc is read with twice the precision. */
    bool is_shifted;
    bool has_nan; /* not excluded: infinities of both signs may meet */
    int32_t nan;  /* the rounded sum where it is not a number */
    int32_t addend_zero_point;
    int32_t zero_point, lo, hi;
} qgc_epilogue;

/* Where a kernel's pixels lie in a buffer, in bytes: the first one; the next image, row, pixel.
 * Images of three dimensions are planes, one after the other in the rows; else |plane| is 0. */
typedef struct qgc_pixels {
    int64_t first, image, row, pixel, plane;
} qgc_pixels;

/* One stride leads from any pixel to the next, in images of |rows| rows of |width|. */
static inline bool qgc_pixels_are_flat(const qgc_pixels *p, int64_t images, int64_t rows,
                                       int64_t width)
{
    return (rows == 1 || p->row == width * p->pixel) &&
           (images == 1 || p->image == rows * width * p->pixel);
}

/* The channel, within its block, of lane |l| of vector |v|. Blocks of two and four vectors are
 * stored through the in-lane packs of x86: the order in which those give natural order. */
static inline int64_t qgc_block_channel(uint32_t vectors, uint32_t lanes, uint32_t v, uint32_t l)
{
    if (vectors == 2 || vectors == 4)
        return 4 * vectors * (l / 4) + 4 * v + l % 4;
    return (int64_t)v * lanes + l;
}

/* Dense convolution of NHWC u8 by s8 weights; linear and matmul are the case of one row.
 *
 * out[p][o] = epilogue(start[o] + sum over runs t, bytes k of in[p][t][k] * w[o][t][k])
 *
 * A run is what lies contiguous in the input for one kernel row: kernel_w * channels bytes where
 * the dilation is 1, else channels bytes for each tap. The input's border holds the zero point.
 * With groups, all of it for each group: out_c channels from group_bytes of the input.
 *
 * Output pixels whose windows hang over the border by the same taps make a part. What those taps
 * would add, the zero point times their weights, stands in the part's own start. Columns are told
 * apart only where a run is a whole kernel row, of which some steps are left out. */
typedef struct qgc_conv_part {
    int64_t first_row, rows;
    int64_t first_column, columns;
    int64_t first_run, end_run;   /* computed */
    int64_t first_step, end_step; /* of each run */
    int64_t tiles;                /* of the part; by_row: of each row */
    int64_t units;                /* tiles; by_row: rows */
    bool by_row;                  /* tiles end with rows: pixels of one are a constant apart */
} qgc_conv_part;
enum { QGC_CONV_MAX_ROWS = 5, QGC_CONV_MAX_COLUMNS = 5, QGC_CONV_MAX_PARTS = 9 };

/* How a convolution takes its products where the level has no dot product of bytes. A byte step is
 * pmaddubsw of four bytes, for weights with which no pair of products passes 16 bits, which is
 * proved; a word step takes them as i16. Both are exact. None set: every step widens its bytes. */
typedef struct qgc_conv_pairs {
    bool has_bytes; /* all are byte steps; is_listed: some */
    bool is_wide;   /* word steps read the step's last input, where x lies as i16 */
    bool is_listed; /* steps stand in QGC_CONV_STEPS: byte steps of all runs, then word steps */
    int64_t byte_steps, word_steps; /* listed: as many as the block with most of them has */
} qgc_conv_pairs;

typedef struct qgc_conv_kernel {
    qgc_kernel base; /* units: tiles of output pixels, of all images, balanced; by_block: of each
                        block of channels, one block after the other */
    int64_t images, out_h, out_w, out_c;
    qgc_pixels in, out, addend; /* of the output's pixels; in: their first taps */
    int64_t groups, group_bytes;
    int64_t num_runs;
    const int64_t *run_offsets; /* bytes from the pixel's first tap */
    int64_t run_steps;          /* 4-byte steps of each run: ceil(bytes / 4) */
    uint32_t num_parts;
    qgc_conv_part parts[QGC_CONV_MAX_PARTS]; /* their units follow one another */
    qgc_epilogue epilogue;
    uint32_t tile_vectors; /* per pixel: a block of channels has tile_vectors * lanes */
    uint32_t tile_pixels;  /* most pixels of a register tile */
    bool by_block; /* there is more to read of weights than of pixels: threads share the weights */
    bool zero_point_is_input; /* the second one, i32: its product with the weights' sum is taken
                                 from each start. The epilogue is raw. */
    qgc_conv_pairs pairs;
} qgc_conv_kernel;

static inline int64_t qgc_conv_word_bytes(const qgc_conv_kernel *k)
{
    return k->pairs.is_wide ? 8 : 4;
}
/* Bytes of weights of a block, for each of its lanes. */
static inline int64_t qgc_conv_lane_bytes(const qgc_conv_kernel *k)
{
    if (k->pairs.is_listed)
        return 4 * k->pairs.byte_steps + qgc_conv_word_bytes(k) * k->pairs.word_steps;
    return k->num_runs * k->run_steps * qgc_conv_word_bytes(k);
}
/* A block's list, i32: of byte steps the first one of each run and the end, of word steps; the
 * bytes from the first tap to each byte step, then of i16 to each word step. */
static inline int64_t qgc_conv_list_size(const qgc_conv_kernel *k)
{
    return 2 * (k->num_runs + 1) + k->pairs.byte_steps + k->pairs.word_steps;
}

static inline int64_t qgc_conv_tiles(const qgc_conv_kernel *k)
{
    int64_t tiles = 0;
    for (uint32_t i = 0; i < k->num_parts; i++)
        tiles += k->parts[i].units;
    return tiles;
}

/* Convolution of NHWC, linear and matmul where x or w has 16 bits or w a zero point:
 *
 * sum[p][o] = start[o] + sum over rows, runs, steps, k < 2 of x[p][run][2 * step + k] *
 * w[o][...][k]
 *
 * x as stored, of u16 less 32768; w less its zero point, as one i16 or in two planes, low + 256 *
 * high, with low in -128..127. A run is contiguous in the input, as of conv; depthwise it is a tap,
 * of one step, whose second weight is 0. Sums of i32 are added to ones of i64 before they can
 * overflow: see |flush|. */
typedef enum qgc_words_flush {
    QGC_WORDS_AT_END,
    QGC_WORDS_BY_ROW, /* of the kernel */
    QGC_WORDS_BY_RUN,
    QGC_WORDS_BY_STEPS
} qgc_words_flush;
typedef struct qgc_words_kernel {
    qgc_kernel base; /* units: rows of the result, of all images */
    int64_t images, out_h, out_w, out_c, groups;
    int64_t group_bytes;     /* of x */
    qgc_pixels in, out;      /* of the output's pixels; in: their first taps */
    int64_t rows, row_bytes; /* of the kernel; bytes of x from one to the next */
    int64_t runs, run_bytes; /* of each row, likewise */
    int64_t run_steps;
    qgc_dtype x;        /* u8, u16, i16 */
    uint32_t out_bytes; /* of an element: raw 4 or 8 */
    bool is_depthwise;  /* output channel c reads input channel c */
    uint32_t planes;
    qgc_words_flush flush;
    int64_t flush_steps;
    bool is_narrow; /* proved: i32 holds the sums. Their starts are i32, else i64 */
    bool is_double; /* proved: f64 holds them; the starts are f64 */
    qgc_epilogue epilogue;
    uint32_t tile_vectors, tile_pixels;
} qgc_words_kernel;

/* Its constants; per group padded to whole vectors, in natural order. Weights i16: [group][block]
 * [row][run][step][vector][plane][lane][2]. */
enum {
    QGC_WORDS_WEIGHTS,
    QGC_WORDS_START,
    QGC_WORDS_MULTIPLIERS,
    QGC_WORDS_BIAS, /* NULL: none */
    QGC_WORDS_NUM_CONSTANTS
};

/* Constants of kernels with an epilogue. Weights s8, of conv: [group][block][run][step][vector]
 * [lane][4]; the accumulator's start i32, multipliers f32, bias and addend multipliers f32 (NULL
 * without one), per group padded to whole vectors, in the blocks' order of channels. Of conv, one
 * list of starts for each part; weights of word steps i16: [half][vector][lane][2]; of listed steps
 * [group][block], byte steps, then word steps; their lists [group][block]. */
enum {
    QGC_CONV_WEIGHTS,
    QGC_CONV_START,
    QGC_CONV_MULTIPLIERS,
    QGC_CONV_BIAS,
    QGC_CONV_ADDEND_MULTIPLIERS,
    QGC_CONV_WEIGHT_SUMS, /* i32; NULL: the zero point is known */
    QGC_CONV_STEPS,       /* NULL: they are not listed */
    QGC_CONV_NUM_CONSTANTS
};

/* Convolution of NHWC u8 whose groups have as many channels as outputs, 1, 2, 4 or 8. Channels
 * go in chunks of four vectors, in the order of a block of four vectors. What is read of the input
 * serves several outputs of its row, and all rows of a tile that it is in the window of.
 *
 * Depthwise, the bytes of four neighbouring pixels of a channel make the 32-bit lane that a dot
 * product takes; each output has its weights shifted to where its window begins. Wider groups take
 * one pixel: within each 16 bytes its four words are repeated, x[d] has word d in all lanes. Those
 * are the channels of the lanes' own groups, for such groups do not cross 16 channels; vector v
 * takes |steps| of them, from v / steps * steps on. Two channels take a word of two groups, with
 * weights 0 for the other one. */
enum { QGC_DEPTHWISE_UNROLLED = 7, QGC_DEPTHWISE_UNROLLED_STEPS = 64 };
typedef struct qgc_depthwise_kernel {
    qgc_kernel base; /* units [block][chunk]: blocks of output rows, full ones of all images, then
                        the others, each in chunks of channels */
    int64_t images, out_h, out_w, channels;
    qgc_pixels in;            /* of the input's pixels, from the first output's first tap */
    qgc_pixels out, addend;   /* of the output's pixels */
    int64_t stride;           /* in input pixels */
    int64_t kernel_h;         /* rows of the kernel */
    int64_t row_stride;       /* input rows from an output row to the next one */
    int64_t row_dilation;     /* input rows from a kernel row to the next one */
    int64_t width;            /* of the window with its dilation */
    int64_t taps, dilation;   /* of a row of the window */
    uint32_t group_channels;  /* 1: depthwise */
    uint32_t pixels;          /* that are read together: 4 depthwise, else 1 */
    uint32_t rows;            /* of a tile and of a full block */
    uint32_t outputs, groups; /* of a row of a tile: neighbouring outputs, groups of pixels */
    qgc_epilogue epilogue;
} qgc_depthwise_kernel;

/* Constants as of conv; weights [chunk][kernel row][output][group][vector][lane][4], of wider
 * groups [chunk][kernel row][tap][step][vector][lane][4]. */

/* Lanes of the vectors of a chunk: all that the level has, fewer for a short last one. */
static inline uint32_t qgc_chunk_lanes(int64_t channels, uint32_t most)
{
    uint32_t lanes = 4;
    while (lanes < most && 4 * (int64_t)lanes < channels)
        lanes *= 2;
    return lanes;
}

/* Chunks of channels at a level with vectors of |lanes|. */
static inline int64_t qgc_depthwise_chunks(const qgc_depthwise_kernel *k, uint32_t lanes)
{
    return (k->channels + 4 * (int64_t)lanes - 1) / (4 * (int64_t)lanes);
}

/* Some pixel of |group| is in the window of |output|, and no pixel between its taps. */
static inline bool qgc_depthwise_meets(const qgc_depthwise_kernel *k, uint32_t output,
                                       uint32_t group)
{
    int64_t from = (int64_t)group * k->pixels - output * k->stride;
    bool is_between = k->pixels == 1 && from % k->dilation != 0;
    return from + k->pixels > 0 && from < k->width && !is_between;
}
/* Groups of pixels that |outputs| neighbours read. */
static inline uint32_t qgc_depthwise_groups(const qgc_depthwise_kernel *k, uint32_t outputs)
{
    return (uint32_t)(((outputs - 1) * k->stride + k->width + k->pixels - 1) / k->pixels);
}
/* Dot products that a tap of one pixel takes, per vector. */
static inline uint32_t qgc_depthwise_steps(const qgc_depthwise_kernel *k)
{
    return k->group_channels > 4 ? k->group_channels / 4 : 1;
}
/* Kernel rows are a loop, of tiles of one row. */
static inline bool qgc_depthwise_is_long(const qgc_depthwise_kernel *k)
{
    return k->kernel_h > QGC_DEPTHWISE_UNROLLED ||
           (k->pixels == 1 &&
            k->kernel_h * k->taps * qgc_depthwise_steps(k) > QGC_DEPTHWISE_UNROLLED_STEPS);
}
/* Vectors of weights: of a kernel row; before those with which |output| takes |group|. */
static inline int64_t qgc_depthwise_row_vectors(const qgc_depthwise_kernel *k)
{
    return 4 *
           (k->pixels == 1 ? k->taps * qgc_depthwise_steps(k) : (int64_t)k->outputs * k->groups);
}
static inline int64_t qgc_depthwise_vectors_before(const qgc_depthwise_kernel *k, uint32_t output,
                                                   uint32_t group)
{
    int64_t tap = ((int64_t)group - output * k->stride) / k->dilation;
    return 4 *
           (k->pixels == 1 ? tap * qgc_depthwise_steps(k) : (int64_t)output * k->groups + group);
}

/* The kernel row that meets input row |y| for row |row| of a tile, or -1. */
static inline int64_t qgc_depthwise_row(const qgc_depthwise_kernel *k, int64_t y, uint32_t row)
{
    int64_t from = y - row * k->row_stride;
    bool meets = from >= 0 && from % k->row_dilation == 0 && from / k->row_dilation < k->kernel_h;
    return meets ? from / k->row_dilation : -1;
}
/* Input rows that a tile of |rows| rows spans. */
static inline int64_t qgc_depthwise_span(const qgc_depthwise_kernel *k, uint32_t rows)
{
    return (rows - 1) * k->row_stride + (k->kernel_h - 1) * k->row_dilation + 1;
}

/* Pools of NHWC: the largest of a window's elements in bounds; of floats their average, summed in
 * row-major order from +0; of u8 their sum less the zero point each and an epilogue. A sum over
 * axes that lie together is one window of everything. */
typedef enum qgc_pool_fold { QGC_POOL_SUM, QGC_POOL_MAX, QGC_POOL_AVERAGE } qgc_pool_fold;
typedef struct qgc_pool_kernel {
    qgc_kernel base; /* units: output rows, of all images */
    qgc_pool_fold fold;
    qgc_dtype dtype; /* as stored: u8; MAX: u16, i16, f32, too; AVERAGE: f32 */
    bool
        counts_border; /* AVERAGE: of the window inside the border, not of the elements in bounds */
    bool
        is_adaptive; /* windows [floor(o * in / out), ceil((o + 1) * in / out)) of each dimension */
    int64_t images, out_h, out_w, channels;
    int64_t in_h, in_w;
    qgc_pixels in, out; /* of the input's and the output's pixels */
    int64_t kernel[2], stride[2], dilation[2], begin[2], end[2];
    int32_t zero_point;   /* of the sum */
    bool has_multipliers; /* by position, in the second input: f32 [out_h][out_w] */
    float multiplier, c;
    qgc_epilogue epilogue;
} qgc_pool_kernel;

/* Bytes through a table of bytes or of 16 bits, the kernel's one constant. */
typedef struct qgc_lookup_kernel {
    qgc_kernel base; /* units: rows */
    int64_t rows_per_image, row_bytes;
    uint32_t element_bytes; /* of the table and the result */
    qgc_pixels in, out;
} qgc_lookup_kernel;

/* Bytes as i16. */
enum { QGC_WIDEN_BLOCK = 4096 };
typedef struct qgc_widen_kernel {
    qgc_kernel base; /* units: QGC_WIDEN_BLOCK bytes */
    int64_t bytes;
} qgc_widen_kernel;

/* Elementwise requantize over rank nested loops, outermost first. */
enum { QGC_MAP_MAX_DIMS = 8, QGC_MAP_MAX_TERMS = 4 };

typedef struct qgc_map_operand {
    qgc_dtype dtype;                   /* as stored */
    int64_t first;                     /* bytes */
    int64_t strides[QGC_MAP_MAX_DIMS]; /* bytes; the innermost 0 or one element */
} qgc_map_operand;

typedef struct qgc_map_kernel {
    qgc_kernel base; /* units: rows of the innermost loop; of one loop alone: QGC_MAP_BLOCK elements
                      */
    uint32_t rank;
    int64_t dims[QGC_MAP_MAX_DIMS];
    bool is_product; /* of two terms: one integer, which is the only term of the epilogue */
    uint32_t num_terms;
    /* Inputs of the step in this order, as far as they are there: terms, multipliers, c. */
    qgc_map_operand terms[QGC_MAP_MAX_TERMS], multipliers, c, out;
    int64_t term_zero_points[QGC_MAP_MAX_TERMS];
    int64_t multiplier_step;     /* bytes, from one term's to the next's */
    bool has_multipliers, has_c; /* as inputs; else: */
    float multiplier_values[QGC_MAP_MAX_TERMS], c_value;
    float before; /* zp_first: what the sum starts from */
    bool has_before;
    qgc_epilogue epilogue;
} qgc_map_kernel;

enum { QGC_MAP_BLOCK = 4096 };

/* Elements moved as they are, over rank nested loops; outermost first, the innermost is the one
 * whose elements lie together in the output, if there is one. */
enum { QGC_MOVE_MAX_DIMS = 16, QGC_MOVE_BLOCK = 4096 };

typedef struct qgc_move_dim {
    int64_t size, in, out; /* elements; bytes from one to the next */
    uint32_t table;        /* not 0: the constant with the bytes of each position, i64 */
} qgc_move_dim;
enum { QGC_MOVE_COMPUTED = INT32_MAX }; /* a table that is input 1 */

typedef struct qgc_move_kernel {
    qgc_kernel
        base; /* units: iterations of the outer loops; of one loop alone: QGC_MOVE_BLOCK elements */
    uint32_t rank, num_outer; /* outer loops are units, the others run within one */
    qgc_move_dim dims[QGC_MOVE_MAX_DIMS];
    int64_t in_first, out_first;
    uint32_t element_bytes;
    bool is_tiled; /* the last two loops: elements lie together along one in the input, along the
                      other in the output; tiles of 16 bytes each way are transposed, a unit is a
                      row of them */
    bool is_fill;  /* there is no input: the element is constant 0 */
    bool flip;     /* of one byte: the top bit changes */
} qgc_move_kernel;

/* Indices as the bytes to what they choose, i64: those of a tuple of |num_columns|, one tuple for
 * each position of the loops.
 *
 * out[p] = sum over loops of p[d] * bytes + sum over columns of (index < 0 ? index + size : index)
 * * bytes
 *
 * An index outside of its column's size gives any number; the second output, one i64, is the place
 * of the first such index, from 1 on, or 0. */
typedef struct qgc_indices_dim {
    int64_t size, bytes;
} qgc_indices_dim;

typedef struct qgc_indices_kernel {
    qgc_kernel base; /* units: 1 */
    uint32_t rank, num_columns;
    qgc_indices_dim dims[QGC_MAX_RANK], columns[QGC_MAX_RANK];
    uint32_t index_bytes; /* 4 or 8 */
} qgc_indices_kernel;

/* Resizing of f32 along one axis, linear or cubic: weighted sums of a few positions, which are
 * known.
 *
 * y[outer][o][inner] = start[o] + sum over taps t of weight[o][t] * x[outer][position[o][t]][inner]
 *
 * in the order of the taps, each step rounded. Tables have all of it, in groups of |width| numbers:
 * of one o, or, by_element, of neighbours of a row, which is [o][inner] then: o says where their
 * elements are. What is copied starts from -0 and has the weight 1; an absent tap adds -0. */
typedef struct qgc_resize_kernel {
    qgc_kernel base; /* units: |per_unit| groups of one row; by_element: of a tile of rows */
    int64_t outer, in, out, inner;
    uint32_t taps, full; /* most that a sum has; those from |full| on may be absent */
    bool by_element;
    uint32_t width;
    int64_t per_unit;
    uint32_t vectors; /* of a tile: side by side in inner; by_element: rows */
    /* By_element: elements come out of so many vectors that lie together, by a permutation; 0: each
     * from where it is. */
    uint32_t sources;
} qgc_resize_kernel;

/* Its constants: [group][tap][width], of start [group][width]. */
enum {
    QGC_RESIZE_START,     /* f32 */
    QGC_RESIZE_WEIGHTS,   /* f32 */
    QGC_RESIZE_MASKS,     /* i32, all bits of a tap's elements, or none; NULL: all are there */
    QGC_RESIZE_POSITIONS, /* i64, bytes in the row; by_element i32, elements in the row or, with
                             sources, from the base */
    QGC_RESIZE_BASES,     /* i64, bytes in the row, of each group; NULL: no sources */
    QGC_RESIZE_ROWS, /* i64, where x's row of each outer one begins; NULL: they follow one another
                      */
    QGC_RESIZE_NUM_CONSTANTS
};

static inline int64_t qgc_resize_groups(const qgc_resize_kernel *k)
{
    return k->by_element ? (k->out * k->inner + k->width - 1) / k->width : k->out;
}
/* By_element: the first element of group |g|. The last group reaches back over the one before. */
static inline int64_t qgc_resize_first(const qgc_resize_kernel *k, int64_t g)
{
    int64_t last = k->out * k->inner - k->width, first = g * k->width;
    return first < last ? first : last > 0 ? last : 0;
}

/* Sums of integer products of any types, positions and zero points, which no faster kernel takes:
 *
 * acc[image][group][position][o] = bias[o] + sum over taps, channels of (x - zx) * (w - zw[o])
 *
 * A position is one of each of three dimensions; of each it lists what it takes of x and w. */
typedef struct qgc_taps_dim {
    int64_t out;
    uint32_t positions; /* constant: i64 of each: first tap, end, bytes of acc */
    uint32_t taps;      /* constant: i64 of each: bytes of x, bytes of w */
} qgc_taps_dim;

typedef struct qgc_taps_kernel {
    qgc_kernel base; /* units: images * groups * positions of the first two dimensions */
    int64_t images, in_image, out_image; /* bytes */
    int64_t groups, in_group, w_group, out_group;
    qgc_taps_dim dims[3];
    int64_t rows, in_row, out_row; /* neighbours that share their position's taps */
    int64_t channels, in_channel, w_channel;
    int64_t outputs, out_step; /* o, whose weights lie together; bytes of acc */
    qgc_dtype x, w;
    bool is_wide;                           /* sums of i64, else i32 */
    bool w_is_input, x_zero_point_is_input; /* inputs behind x, in this order */
    int32_t x_zero_point, w_zero_point;
    uint32_t weights, bias,
        w_zero_points; /* constants, 0: none; lists of groups * padded outputs */
    int64_t padded;
} qgc_taps_kernel;

/* Products of matrices of which both are computed, of bytes, in two steps. The first packs the
 * columns of w as conv has its weights, once for each matrix; the other is tiles of dot products:
 *
 * y[batch][m][n] = epilogue(start[n] - wz * sum over k of (x[m][k] - xz) + sum of x[m][k] *
 * w[k][n])
 *
 * Packed are [matrix][block][step][vector][lane][4] bytes, s8, then [matrix][padded columns]
 * starts, i32: what the constant list has, less the zero point of x times the column's sum. */
typedef struct qgc_matmul_kernel {
    qgc_kernel base; /* units: tiles of rows, of all results; packs: blocks of columns, of all
                        matrices, the short last ones behind */
    bool packs;
    bool flip; /* packs: w is unsigned */
    int64_t rows, columns, depth;
    int64_t batches, w_matrices;
    int32_t dot_zero_point; /* of x as dot products take it */
    int32_t w_zero_point;   /* of the signed form. Not 0: sums of x's rows are an input, i32 */
    uint32_t tile_rows;     /* the last tile reaches back over the one before */
    uint32_t tile_vectors;
    qgc_epilogue epilogue;
} qgc_matmul_kernel;

/* Its constants: those of conv without the weights, and of each result the bytes of its x and the
 * number of its w, i64. */
enum { QGC_MATMUL_OPERANDS = QGC_CONV_WEIGHTS };

static inline int64_t qgc_matmul_vectors(const qgc_matmul_kernel *k, uint32_t lanes)
{
    return (k->columns + lanes - 1) / lanes;
}
/* Of one matrix. */
static inline int64_t qgc_matmul_packed_bytes(const qgc_matmul_kernel *k, uint32_t lanes)
{
    return qgc_matmul_vectors(k, lanes) * lanes * ((k->depth + 3) / 4 * 4);
}

/* What makes one result of a row of elements that lie together, or another row. Floats are folded
 * in 16 lanes, element i in lane i mod 16, as runtime/ref/lanes.h has it; integers modulo 2^bits of
 * the result. */
typedef enum qgc_rows_kind {
    QGC_ROWS_FOLD,
    QGC_ROWS_SOFTMAX,
    QGC_ROWS_LOG_SOFTMAX,
    QGC_ROWS_NORM
} qgc_rows_kind;
typedef enum qgc_rows_fold {
    QGC_ROWS_SUM,
    QGC_ROWS_PROD,
    QGC_ROWS_MAX,
    QGC_ROWS_MIN
} qgc_rows_fold;
typedef enum qgc_rows_prepare {
    QGC_ROWS_AS_IS,
    QGC_ROWS_ABSOLUTE,
    QGC_ROWS_SQUARED,
    QGC_ROWS_EXPONENTIAL
} qgc_rows_prepare;
typedef enum qgc_rows_finish {
    QGC_ROWS_NO_MORE,
    QGC_ROWS_AVERAGE,
    QGC_ROWS_ROOT,
    QGC_ROWS_LOGARITHM
} qgc_rows_finish;

typedef struct qgc_rows_kernel {
    qgc_kernel base; /* units: rows */
    qgc_rows_kind kind;
    int64_t num;     /* elements of a row */
    qgc_dtype dtype; /* of the elements: f32; of a fold 8 and 16 bits, too */
    qgc_dtype out;   /* of a fold: f32, the elements' own, i32 or i64 */
    qgc_rows_fold fold;
    qgc_rows_prepare prepare;
    qgc_rows_finish finish;
    int32_t zero_point; /* of integers: taken from each */
    float epsilon;
    /* NORM: scale and bias are inputs, of each element of a row; or of each channel, of which a row
     * has row_channels, the rows of a sample together groups times as many. */
    bool has_scale, has_bias, by_channel;
    int64_t row_channels, groups;
} qgc_rows_kernel;

/* choose_qparams: scale (f32) and zero point (i32) from the finite range of |num| f32 elements. */
typedef struct qgc_qparams_kernel {
    qgc_kernel base; /* units: 1 */
    int64_t num;
    bool is_symmetric;
    int32_t lo, hi; /* of the type or the spec */
    int32_t middle; /* symmetric: the zero point */
    float eps;
} qgc_qparams_kernel;

/* Elementwise functions of f32, one after the other in registers; all values have one shape. */
enum {
    QGC_FUSED_MAX_DIMS = 8,
    QGC_FUSED_MAX_INPUTS = 14,
    QGC_FUSED_MAX_STEPS = 64,
    QGC_FUSED_MAX_ARGS = 5,
    QGC_FUSED_BLOCK = 4096
};

typedef struct qgc_fused_operand {
    qgc_dtype dtype;                     /* as stored: integers, f32, bool */
    bool flip;                           /* i8 with 128 added */
    int64_t first;                       /* bytes */
    int64_t strides[QGC_FUSED_MAX_DIMS]; /* bytes; 0: broadcast */
} qgc_fused_operand;

/* One function. Its arguments are values: first the inputs, then the steps' results in order. */
typedef struct qgc_fused_step {
    qgc_opcode op; /* of codegen/fused.def; CONST: |p|, of an integer |lo| */
    qgc_dtype dtype;
    uint32_t num_args;
    int32_t args[QGC_FUSED_MAX_ARGS]; /* -1: absent */
    float p, q;                       /* attributes */
    int word;
    int32_t lo, hi; /* quantize: its bounds */
} qgc_fused_step;

typedef struct qgc_fused_kernel {
    qgc_kernel base; /* units: rows of the innermost loop; of one loop alone: QGC_FUSED_BLOCK
                        elements */
    uint32_t rank;
    int64_t dims[QGC_FUSED_MAX_DIMS];
    uint32_t num_inputs, num_steps;
    qgc_fused_operand inputs[QGC_FUSED_MAX_INPUTS], out; /* out: the last step's result */
    qgc_fused_step steps[QGC_FUSED_MAX_STEPS];
} qgc_fused_kernel;

/* Float convolution, linear, matmul: one fma chain per output, from the bias (or +0) over the taps
 * in bounds, in the order kernel plane, row, column, channel. Of two dimensions there is one plane;
 * a linear is a row of pixels. With groups, all of it for each: out_c from |channels| of the input;
 * weights and bias follow one another.
 *
 * What a group of elementwise functions makes of the sums may be part of it: the epilogue. Its
 * rank is 1, along channels; input |sum_input| is the sum, the others are inputs behind x and w. */
typedef struct qgc_chain_kernel {
    qgc_kernel base; /* units: rows of the result, of all images and planes; by_block: of each block
                        of channels, one block after the other */
    int64_t images, out_d, out_h, out_w, out_c, groups;
    int64_t channels; /* of each tap; depthwise: 1, output channel c reads input channel c */
    int64_t kernel_d, kernel_h, kernel_w;
    bool may_miss;                              /* some window has no tap in bounds */
    const int64_t *first_columns, *end_columns; /* taps in bounds of each column; NULL: all */
    qgc_pixels in, out; /* in: first taps of the outputs, perhaps out of bounds */
    int64_t tap_plane, tap_row, tap_column; /* bytes, from tap to tap */
    bool is_depthwise;
    bool pixels_first; /* all blocks of channels of a unit, then the next unit; else the reverse */
    bool by_block;     /* as of conv; not with |pixels_first| */
    bool has_bias;
    bool w_is_input;       /* [channel][output], the second input; else a constant, of each block
                              [tap][channel][output, padded to whole vectors] */
    int64_t w_row;         /* bytes, from channel to channel of an input */
    int64_t w_image;       /* bytes, from the weights of one image to the next one's */
    uint32_t tile_vectors; /* per pixel */
    uint32_t tile_pixels;
    int64_t chunk; /* channels of a tap that all pixels take before the next ones; 0: all taps */
    const qgc_fused_kernel *epilogue; /* or NULL */
    uint32_t sum_input;
    qgc_pixels operands[QGC_FUSED_MAX_INPUTS]; /* where the epilogue's inputs are */
} qgc_chain_kernel;

/* Columns [first, end) of the result have all taps in bounds. */
static inline void qgc_chain_inner(const qgc_chain_kernel *k, int64_t *first, int64_t *end)
{
    *first = *end = 0;
    for (int64_t x = 0; x < k->out_w; x++) {
        if (k->first_columns && (k->first_columns[x] != 0 || k->end_columns[x] != k->kernel_w))
            continue;
        *first = *end ? *first : x;
        *end = x + 1;
    }
}

/* Rows of the result. */
static inline int64_t qgc_chain_rows(const qgc_chain_kernel *k)
{
    return k->images * k->out_d * k->out_h;
}
/* Products of a sum whose taps are all in bounds. */
static inline int64_t qgc_chain_depth(const qgc_chain_kernel *k)
{
    return k->kernel_d * k->kernel_h * k->kernel_w * k->channels;
}

/* Its constants. FIRST, END: i64, the taps in bounds of each output plane, row and column. */
enum {
    QGC_CHAIN_WEIGHTS,
    QGC_CHAIN_BIAS, /* f32, padded to whole vectors */
    QGC_CHAIN_PLANE_FIRST,
    QGC_CHAIN_PLANE_END,
    QGC_CHAIN_ROW_FIRST,
    QGC_CHAIN_ROW_END,
    QGC_CHAIN_COLUMN_FIRST,
    QGC_CHAIN_COLUMN_END,
    QGC_CHAIN_NUM_CONSTANTS
};

#endif
