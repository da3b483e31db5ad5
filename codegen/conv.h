/* What the planners of convolutions share: windows, buffers, the lists beside packed weights. */
#ifndef QGC_CODEGEN_CONV_H
#define QGC_CODEGEN_CONV_H

#include "codegen/product.h"
#include "runtime/ref/window.h"

/* Rank 3 counts as rank 4 with one row. */
typedef struct qgc_window {
    int64_t stride[2], dilation[2];
    qgc_border border;
} qgc_window;
/* Of int_conv1d, int_conv2d with constant weights; of their transposes the border that all phases
 * (codegen/phase.h) together need. */
qgc_window qgc_read_window(const qgc_node *node);
bool qgc_is_transposed(qgc_opcode op);
/* The dimensions as qgc_window_read has them. */
void qgc_read_window_dims(const qgc_node *node, bool is_transposed, qgc_window_dim *dims);
/* A convolution with constant weights, all of it (see codegen/product.h). */
const char *qgc_match_conv(qgc_product *m);

/* Where a convolution reads and writes; the addend's are NULL without one. The pixels of |in| are
 * counted from the window's border, those of the others from their first. */
typedef struct qgc_conv_buffers {
    qgc_buffer *in, *addend, *out;
    qgc_pixels in_pixels, addend_pixels, out_pixels;
} qgc_conv_buffers;
qgc_conv_buffers qgc_make_buffers(qgc_planner *p, const qgc_product *m, const qgc_window *window);
/* A new NHWC buffer for a kernel's result, with the border that its convolutions ask for. */
qgc_buffer *qgc_make_output(qgc_planner *p, const qgc_value *value);

/* A step of a dense convolution. |m|'s weights are [O, C / groups, kernel]; the buffers' pixels are
 * counted from the first output's: the input's from its first tap, which is |win|'s border outside
 * of the image. |out_size|: rows, columns. */
void qgc_add_conv(qgc_planner *p, const qgc_product *m, const qgc_window *win,
                  const qgc_conv_buffers *b, const int64_t *out_size);
/* As qgc_match_conv, for codegen/plan_words.c: x and w of 8 or 16 bits, any constant zero points.
 */
const char *qgc_match_words(qgc_product *m);
/* How a step of a convolution is added: as qgc_add_conv. */
typedef void qgc_add_conv_fn(qgc_planner *p, const qgc_product *m, const qgc_window *win,
                             const qgc_conv_buffers *b, const int64_t *out_size);
/* A matched transposed convolution, each phase by |add|. NULL, or why not. */
const char *qgc_plan_phases(qgc_planner *p, const qgc_product *m, qgc_add_conv_fn *add);
/* NULL, or why not. */
const char *qgc_plan_conv_transpose(qgc_planner *p, const qgc_node *node);

/* Sums of a channel's packed weights. */
enum { QGC_MAX_BLOCK = 64 };
typedef struct qgc_channel_sum {
    int32_t sum;
    int64_t magnitude;
} qgc_channel_sum;
static inline void qgc_add_weight(qgc_channel_sum *s, int8_t w)
{
    s->sum = (int32_t)((uint32_t)s->sum + (uint32_t)w);
    s->magnitude += w < 0 ? -w : w;
}

/* Start, multipliers, bias: of |channels| padded channels, filled block by block. There are
 * |num_starts| lists of starts, of which only the first is filled so. */
typedef struct qgc_lists {
    int32_t *start;
    float *multipliers, *bias, *addend_multipliers;
    int32_t *weight_sums; /* or NULL */
    double max_sum;       /* as of qgc_make_epilogue */
    double max_acc;       /* the largest sum of products, with the start, by magnitude */
    bool is_positive;     /* all multipliers are, and far from overflow */
    size_t channels, num_starts;
    qgc_planner *p;
    const void **constants;
    int32_t dot_zero_point; /* of x as dot products take it: see qgc_plan_target */
} qgc_lists;
typedef struct qgc_block {
    int64_t first, end; /* channels of it */
    uint32_t vectors, lanes;
} qgc_block;
/* Puts them into |constants|, rows QGC_CONV_*. */
qgc_lists qgc_new_lists(qgc_planner *p, const qgc_product *m, size_t channels, size_t num_starts,
                        const void **constants);
/* The next block; |sums|: one per lane. */
void qgc_fill_lists(const qgc_product *m, qgc_lists *lists, const qgc_block *block,
                    const qgc_channel_sum *sums);

/* The epilogue that goes with the filled lists, which may change with it. */
qgc_epilogue qgc_finish_lists(const qgc_product *m, const qgc_lists *lists);

/* Where |node| is a requantize: |plan| for each term whose sum it alone uses, until one fits. */
const char *qgc_plan_terms(qgc_planner *p, const qgc_node *node,
                           const char *(*plan)(qgc_planner *p, const qgc_node *sum));

#endif
