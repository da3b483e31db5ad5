/* Plans linear and matmul of f32 as fma chains, vectors of outputs side by side; the convolutions
 * are codegen/plan_chain_window.c. */
#include "codegen/chain.h"
#include "codegen/product.h"
#include "ir/view.h"

#include <string.h>

enum { X = QGC_CHAIN_X, W = QGC_CHAIN_W, BIAS = QGC_CHAIN_B };

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

int64_t qgc_chain_padded(const qgc_planner *p, int64_t channels)
{
    return (channels + p->target->lanes - 1) / p->target->lanes * p->target->lanes;
}

/* Sums + weights + a broadcast within the registers. */
static void choose_tile(const qgc_planner *p, qgc_chain_kernel *k)
{
    uint32_t registers = p->target->registers, most = registers >= 32 ? 4 : 2;
    uint32_t vectors = (uint32_t)(qgc_chain_padded(p, k->out_c) / p->target->lanes);
    k->tile_vectors = vectors < most ? vectors : most;
    uint32_t pixels = (registers - 1 - k->tile_vectors) / k->tile_vectors;
    k->tile_pixels = pixels < 6 ? pixels : 6;
}

qgc_chain_kernel *qgc_new_chain(qgc_planner *p)
{
    qgc_arena *arena = &p->plan->arena;
    qgc_chain_kernel *k = QGC_NEW(arena, qgc_chain_kernel);
    k->base.kind = QGC_KERNEL_CHAIN;
    k->base.num_constants = QGC_CHAIN_NUM_CONSTANTS;
    k->base.constants = QGC_NEW_ARRAY(arena, const void *, QGC_CHAIN_NUM_CONSTANTS);
    k->kernel_h = k->kernel_w = k->groups = 1;
    return k;
}

static void pack_bias(qgc_planner *p, const qgc_node *node, qgc_chain_kernel *k)
{
    const qgc_tensor *bias = node->num_operands > BIAS ? qgc_constant_operand(node, BIAS) : NULL;
    if (!bias)
        return;
    k->has_bias = true;
    int64_t width = qgc_chain_padded(p, k->out_c);
    float *list = qgc_planner_constant(p, (size_t)(k->groups * width), sizeof(float));
    size_t bytes = (size_t)k->out_c * sizeof(float);
    for (int64_t g = 0; g < k->groups; g++)
        memcpy(list + g * width, (const float *)bias->data + g * k->out_c, bytes);
    k->base.constants[QGC_CHAIN_BIAS] = list;
}

void qgc_add_chain(qgc_planner *p, const qgc_node *node, qgc_chain_kernel *k,
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
    const char *groups =
        k->groups > 1 ? qgc_arena_printf(&p->plan->arena, "groups = %lld, ", (long long)k->groups)
                      : "";
    step->note = qgc_arena_printf(
        &p->plan->arena,
        "pixels = %lldx%lldx%lld, %schannels = %lld, window = %lldx%lld%s%lld, tile = %ux%u",
        (long long)k->images, (long long)k->out_h, (long long)k->out_w, groups, (long long)k->out_c,
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

/* From [output][channel] to [channel][output, padded]. */
static void pack_weights(qgc_planner *p, const qgc_tensor *w, qgc_chain_kernel *k)
{
    int64_t width = qgc_chain_padded(p, k->out_c);
    float *to = qgc_planner_constant(p, (size_t)(k->channels * width), sizeof(float));
    const float *from = w->data;
    for (int64_t o = 0; o < k->out_c; o++)
        for (int64_t c = 0; c < k->channels; c++)
            to[c * width + o] = *from++;
    k->base.constants[QGC_CHAIN_WEIGHTS] = to;
    k->w_row = width * (int64_t)sizeof(float);
}

static const char *plan_linear(qgc_planner *p, const qgc_node *node)
{
    const qgc_tensor *w = qgc_constant_operand(node, W);
    if (!w)
        return "w is not constant";
    qgc_chain_kernel *k = qgc_new_chain(p);
    int64_t num;
    if (!qgc_type_num_elements(node->operands[X].value->type, &num))
        return "it is too large";
    k->images = 1;
    k->out_c = w->shape[0];
    set_rows(p, k, num / w->shape[1], w->shape[1]);
    pack_weights(p, w, k);
    qgc_buffer *in = qgc_planner_plain(p, node->operands[X].value);
    qgc_add_chain(p, node, k, &in, qgc_planner_plain(p, &node->results[0]));
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
    qgc_chain_kernel *k = qgc_new_chain(p);
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
    qgc_add_chain(p, node, k, inputs, qgc_planner_plain(p, &node->results[0]));
    return NULL;
}

const char *qgc_plan_chain(qgc_planner *p, const qgc_node *node)
{
    static const struct {
        qgc_opcode op;
        const char *(*plan)(qgc_planner *, const qgc_node *);
    } planners[] = {{QGC_OP_LINEAR, plan_linear},
                    {QGC_OP_MATMUL, plan_matmul},
                    {QGC_OP_CONV1D, qgc_plan_chain_window},
                    {QGC_OP_CONV2D, qgc_plan_chain_window},
                    {QGC_OP_CONV_TRANSPOSE1D, qgc_plan_chain_window},
                    {QGC_OP_CONV_TRANSPOSE2D, qgc_plan_chain_window}};
    for (size_t i = 0; i < sizeof planners / sizeof *planners; i++) {
        if (node->op != planners[i].op)
            continue;
        const char *why = match(p, node);
        return why ? why : planners[i].plan(p, node);
    }
    return "";
}
