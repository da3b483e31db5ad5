/* Plans conv1d, conv2d, linear and matmul of f32 as fma chains, vectors of outputs side by side.
 *
 * Taps out of bounds are left out, not read as zeros: an fma with zero turns a sum of -0 into +0.
 */
#include "codegen/conv.h"
#include "ir/view.h"
#include "runtime/ref/window.h"

#include <string.h>

enum { X, W, BIAS };

static bool is_f32(const qgc_value *value)
{
    return value->type->dtype == QGC_DTYPE_F32;
}

static bool is_empty(const qgc_type *type)
{
    int64_t num;
    return !qgc_type_num_elements(type, &num) || !num;
}

static const char *match(const qgc_planner *p, const qgc_node *node)
{
    const qgc_value *bias = node->num_operands > BIAS ? node->operands[BIAS].value : NULL;
    if (!is_f32(node->operands[X].value))
        return "it is not f32";
    if (!p->target->has_fma)
        return "the CPU level has no fused multiply-add";
    if (is_empty(node->operands[X].value->type) || is_empty(node->operands[W].value->type) ||
        is_empty(node->results[0].type))
        return "it is empty";
    if (bias && !qgc_constant_operand(node, BIAS))
        return "bias is not constant";
    return NULL;
}

static int64_t padded(const qgc_planner *p, int64_t channels)
{
    return (channels + p->target->lanes - 1) / p->target->lanes * p->target->lanes;
}

/* Sums + weights + a broadcast within the registers. */
static void choose_tile(const qgc_planner *p, qgc_chain_kernel *k)
{
    uint32_t registers = p->target->registers, most = registers >= 32 ? 4 : 2;
    uint32_t vectors = (uint32_t)(padded(p, k->out_c) / p->target->lanes);
    k->tile_vectors = vectors < most ? vectors : most;
    uint32_t pixels = (registers - 1 - k->tile_vectors) / k->tile_vectors;
    k->tile_pixels = pixels < 6 ? pixels : 6;
}

static qgc_chain_kernel *new_kernel(qgc_planner *p)
{
    qgc_arena *arena = &p->plan->arena;
    qgc_chain_kernel *k = QGC_NEW(arena, qgc_chain_kernel);
    k->base.kind = QGC_KERNEL_CHAIN;
    k->base.num_constants = QGC_CHAIN_NUM_CONSTANTS;
    k->base.constants = QGC_NEW_ARRAY(arena, const void *, QGC_CHAIN_NUM_CONSTANTS);
    k->kernel_h = k->kernel_w = 1;
    return k;
}

static void pack_bias(qgc_planner *p, const qgc_node *node, qgc_chain_kernel *k)
{
    const qgc_tensor *bias = node->num_operands > BIAS ? qgc_constant_operand(node, BIAS) : NULL;
    if (!bias)
        return;
    k->has_bias = true;
    float *list = qgc_planner_constant(p, (size_t)padded(p, k->out_c), sizeof(float));
    memcpy(list, bias->data, bias->bytes);
    k->base.constants[QGC_CHAIN_BIAS] = list;
}

/* From [output][channel][tap] to [tap][channel][output, padded]. */
static void pack_weights(qgc_planner *p, const qgc_tensor *w, qgc_chain_kernel *k)
{
    int64_t width = padded(p, k->out_c), taps = k->kernel_h * k->kernel_w;
    float *to = qgc_planner_constant(p, (size_t)(taps * k->channels * width), sizeof(float));
    const float *from = w->data;
    for (int64_t o = 0; o < k->out_c; o++)
        for (int64_t c = 0; c < k->channels; c++)
            for (int64_t t = 0; t < taps; t++)
                to[(t * k->channels + c) * width + o] = *from++;
    k->base.constants[QGC_CHAIN_WEIGHTS] = to;
    k->w_row = width * (int64_t)sizeof(float);
}

static void add_step(qgc_planner *p, const qgc_node *node, qgc_chain_kernel *k,
                     qgc_buffer *const *inputs, qgc_buffer *out)
{
    choose_tile(p, k);
    pack_bias(p, node, k);
    k->base.units = k->images * k->out_h;
    qgc_step *step = qgc_planner_add_kernel(p, node, &k->base, k->w_is_input ? 2 : 1, 1);
    step->inputs[0] = inputs[0];
    if (k->w_is_input)
        step->inputs[1] = inputs[1];
    step->outputs[0] = out;
    step->note = qgc_arena_printf(
        &p->plan->arena,
        "pixels = %lldx%lldx%lld, channels = %lld, window = %lldx%lld%s%lld, tile = %ux%u",
        (long long)k->images, (long long)k->out_h, (long long)k->out_w, (long long)k->out_c,
        (long long)k->kernel_h, (long long)k->kernel_w, k->is_depthwise ? " by " : "x",
        (long long)k->channels, k->tile_pixels, k->tile_vectors);
}

/* ---- linear, matmul: |rows| of |depth| elements each ---- */

/* Into how many units, of whole tiles at least: so that each thread gets one. */
static int64_t split_rows(const qgc_planner *p, int64_t images, int64_t rows)
{
    enum { LEAST = 8 };
    int64_t threads = p->target->threads;
    for (int64_t units = threads; images < threads && units * LEAST <= rows; units++)
        if (rows % units == 0)
            return units;
    return 1;
}

static void set_rows(const qgc_planner *p, qgc_chain_kernel *k, int64_t rows, int64_t depth)
{
    int64_t in = depth * (int64_t)sizeof(float), out = k->out_c * (int64_t)sizeof(float);
    k->out_h = split_rows(p, k->images, rows);
    k->out_w = k->inner_last = rows / k->out_h;
    k->channels = depth;
    k->in = (qgc_pixels){0, rows * in, k->out_w * in, in};
    k->out = (qgc_pixels){0, rows * out, k->out_w * out, out};
}

static const char *plan_linear(qgc_planner *p, const qgc_node *node)
{
    const qgc_tensor *w = qgc_constant_operand(node, W);
    if (!w)
        return "w is not constant";
    qgc_chain_kernel *k = new_kernel(p);
    int64_t num;
    if (!qgc_type_num_elements(node->operands[X].value->type, &num))
        return "it is too large";
    k->images = 1;
    k->out_c = w->shape[0];
    set_rows(p, k, num / w->shape[1], w->shape[1]);
    pack_weights(p, w, k);
    qgc_buffer *in = qgc_planner_plain(p, node->operands[X].value);
    add_step(p, node, k, &in, qgc_planner_plain(p, &node->results[0]));
    return NULL;
}

/* Matrices of an operand: 1, or as many as the result has, in its order. 0: it broadcasts. */
static int64_t num_matrices(const qgc_type *type, const qgc_type *result)
{
    int64_t num = 1, wanted = 1;
    for (uint32_t i = 0; i + 2 < result->rank; i++)
        wanted *= result->dims[i].value;
    for (uint32_t i = 0; i + 2 < type->rank; i++)
        num *= type->dims[i].value;
    return num == 1 || num == wanted ? num : 0;
}

static const char *plan_matmul(qgc_planner *p, const qgc_node *node)
{
    const qgc_type *a = node->operands[X].value->type, *b = node->operands[W].value->type;
    const qgc_type *y = node->results[0].type;
    if (a->rank < 2 || b->rank < 2)
        return "an operand is a vector";
    int64_t num_a = num_matrices(a, y), num_b = num_matrices(b, y);
    if (!num_a || !num_b)
        return "its batches broadcast";
    int64_t rows = a->dims[a->rank - 2].value, depth = a->dims[a->rank - 1].value;
    qgc_chain_kernel *k = new_kernel(p);
    k->out_c = b->dims[b->rank - 1].value;
    bool is_one = num_b == 1; /* all rows meet the same matrix */
    k->images = is_one ? 1 : num_b;
    set_rows(p, k, is_one ? rows * num_a : rows, depth);
    if (num_a == 1)
        k->in.image = 0;
    k->w_is_input = true;
    k->w_row = k->out_c * (int64_t)sizeof(float);
    k->w_image = is_one ? 0 : depth * k->w_row;
    qgc_buffer *inputs[] = {qgc_planner_plain(p, node->operands[X].value),
                            qgc_planner_plain(p, node->operands[W].value)};
    add_step(p, node, k, inputs, qgc_planner_plain(p, &node->results[0]));
    return NULL;
}

/* ---- conv1d, conv2d ---- */

/* Lists the taps in bounds; false where an output has none. The outputs [*inner_first, *inner_last)
 * have all. */
static bool list_taps(qgc_planner *p, const qgc_window_dim *dim, qgc_chain_kernel *k,
                      uint32_t constant, int64_t *inner_first, int64_t *inner_last)
{
    int64_t *first = qgc_planner_constant(p, (size_t)dim->out, sizeof(int64_t));
    int64_t *end = qgc_planner_constant(p, (size_t)dim->out, sizeof(int64_t));
    bool has_inner = false;
    *inner_first = *inner_last = 0;
    for (int64_t o = 0; o < dim->out; o++) {
        qgc_window_taps(dim, o, &first[o], &end[o]);
        if (first[o] >= end[o])
            return false;
        if (first[o] != 0 || end[o] != dim->kernel)
            continue;
        if (!has_inner)
            *inner_first = o;
        has_inner = true;
        *inner_last = o + 1;
    }
    k->base.constants[constant] = first;
    k->base.constants[constant + 1] = end;
    return true;
}

static void read_dims(const qgc_node *node, const qgc_tensor *w, qgc_window_dim *dims)
{
    const qgc_type *x = node->operands[X].value->type, *y = node->results[0].type;
    int64_t in[2], kernel[2], out[2];
    uint32_t num = x->rank - 2;
    for (uint32_t i = 0; i < num; i++) {
        in[i] = x->dims[2 + i].value;
        kernel[i] = w->shape[2 + i];
        out[i] = y->dims[2 + i].value;
    }
    qgc_window_read(node, num, &(qgc_window_sizes){in, kernel, out}, false, dims);
}

static void place(qgc_chain_kernel *k, const qgc_buffer *in, const qgc_buffer *out,
                  const qgc_window_dim *dims)
{
    qgc_border none = {0};
    k->in = qgc_buffer_pixels(in, &none);
    k->out = qgc_buffer_pixels(out, &none);
    k->tap_row = dims[1].dilation * k->in.row;
    k->tap_column = dims[2].dilation * k->in.pixel;
    k->in.first -= dims[1].begin * k->in.row + dims[2].begin * k->in.pixel;
    k->in.row *= dims[1].stride;
    k->in.pixel *= dims[2].stride;
}

static const char *plan_conv(qgc_planner *p, const qgc_node *node)
{
    const qgc_tensor *w = qgc_constant_operand(node, W);
    if (!w)
        return "w is not constant";
    int64_t groups = qgc_node_int(node, "groups"), shape[4], first, last;
    bool is_depthwise = groups > 1 && w->shape[1] == 1 && w->shape[0] == groups;
    if (groups > 1 && !is_depthwise)
        return "it has groups";
    qgc_window_dim dims[QGC_MAX_SPATIAL];
    qgc_chain_kernel *k = new_kernel(p);
    read_dims(node, w, dims);
    if (!list_taps(p, &dims[1], k, QGC_CHAIN_ROW_FIRST, &first, &last) ||
        !list_taps(p, &dims[2], k, QGC_CHAIN_COLUMN_FIRST, &k->inner_first, &k->inner_last))
        return "a window lies out of bounds";
    qgc_nchw_shape(node->results[0].type, shape);
    k->images = shape[0];
    k->out_c = shape[1];
    k->out_h = shape[2];
    k->out_w = shape[3];
    k->channels = w->shape[1];
    k->kernel_h = dims[1].kernel;
    k->kernel_w = dims[2].kernel;
    k->is_depthwise = is_depthwise;
    pack_weights(p, w, k);
    qgc_buffer *in = qgc_planner_nhwc(p, node->operands[X].value, (qgc_border){0}, 0);
    qgc_buffer *out = qgc_make_output(p, &node->results[0]);
    place(k, in, out, dims);
    add_step(p, node, k, &in, out);
    return NULL;
}

const char *qgc_plan_chain(qgc_planner *p, const qgc_node *node)
{
    static const struct {
        qgc_opcode op;
        const char *(*plan)(qgc_planner *, const qgc_node *);
    } planners[] = {{QGC_OP_LINEAR, plan_linear},
                    {QGC_OP_MATMUL, plan_matmul},
                    {QGC_OP_CONV1D, plan_conv},
                    {QGC_OP_CONV2D, plan_conv}};
    for (size_t i = 0; i < sizeof planners / sizeof *planners; i++) {
        if (node->op != planners[i].op)
            continue;
        const char *why = match(p, node);
        return why ? why : planners[i].plan(p, node);
    }
    return "";
}
