/* Plans linear and matmul of f32 as fma chains, vectors of outputs side by side; the convolutions
 * are codegen/plan_chain_window.c. */
#include "codegen/chain.h"
#include "codegen/product.h"
#include "ir/view.h"

#include <string.h>

enum { X = QGC_CHAIN_X, W = QGC_CHAIN_W, BIAS = QGC_CHAIN_B, MOST_VECTORS = 4 };

static bool is_f32(const qgc_value *value)
{
    return value->type->dtype == QGC_DTYPE_F32;
}

static bool is_empty(const qgc_type *type)
{
    int64_t num;
    return !qgc_type_num_elements(type, &num) || !num;
}

int64_t qgc_chain_padded(const qgc_planner *p, int64_t channels)
{
    return (channels + p->target->lanes - 1) / p->target->lanes * p->target->lanes;
}

/* Time of one step of a tile of |pixels| x |vectors|, in sixtieths of a cycle: two fma or loads a
 * cycle, each fma four cycles behind the last of its chain, a vector of weights every two and a
 * half cycles where a block's weights, |weights_bytes|, have to come from the L2 cache. */
static int64_t step_cost(int64_t pixels, int64_t vectors, int64_t weights_bytes)
{
    enum { L1 = 24 << 10 };
    int64_t costs[] = {30 * pixels * vectors, 30 * (pixels + vectors), 240,
                       weights_bytes > L1 ? 150 * vectors : 0};
    int64_t most = 0;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        most = most > costs[i] ? most : costs[i];
    return most;
}

/* More of it where there are few pixels: weights come from memory then, and what a tile reads again
 * from the L2 cache is in their way. In sixtieths of a cycle, of a vector. */
static int64_t stream_cost(const qgc_chain_kernel *k)
{
    enum { FEW = 64, COST = 30 };
    return qgc_chain_rows(k) * k->out_w <= FEW && !k->is_depthwise ? COST : 0;
}

/* Sums + weights + a broadcast within the registers. What tiles of one vector read may go into
 * registers of its own. Of the highest tiles, LLVM spills those and what has no loop over channels.
 */
static bool tile_fits(const qgc_chain_kernel *k, int64_t registers, int64_t pixels, int64_t vectors)
{
    enum { HIGH = 12, FEW_CHANNELS = 4 };
    if (pixels > HIGH && (vectors == 1 || k->channels <= FEW_CHANNELS))
        return false;
    if (vectors == 1)
        return pixels < registers / 2;
    return pixels * vectors + vectors + 1 <= registers;
}

/* Of the sizes that fit, the one that takes the least time for a row, in tiles as equal as can be.
 */
static void choose_tile(const qgc_planner *p, qgc_chain_kernel *k)
{
    enum { MOST_PIXELS = 14 };
    int64_t best = INT64_MAX;
    int64_t depth = qgc_chain_depth(k);
    int64_t all = qgc_chain_padded(p, k->out_c) / p->target->lanes, stream = stream_cost(k);
    for (int64_t vectors = MOST_VECTORS; vectors > 0; vectors--)
        for (int64_t pixels = MOST_PIXELS; pixels > 0 && vectors <= all; pixels--) {
            if (!tile_fits(k, p->target->registers, pixels, vectors))
                continue;
            int64_t tiles = (k->out_w + pixels - 1) / pixels, small = k->out_w / tiles;
            int64_t large = k->out_w - small * tiles;
            int64_t bytes = depth * vectors * p->target->lanes * 4;
            int64_t row = large * step_cost(small + 1, vectors, bytes) +
                          (tiles - large) * step_cost(small, vectors, bytes) +
                          tiles * vectors * stream;
            int64_t blocks = all / vectors, rest = all % vectors;
            int64_t cost = row * blocks + (rest ? row * rest / vectors + row / 8 : 0);
            if (cost >= best)
                continue;
            best = cost;
            k->tile_vectors = (uint32_t)vectors;
            k->tile_pixels = (uint32_t)(large ? small + 1 : small);
        }
}

/* Where few pixels meet the weights of a block and those do not stay in the L1 cache, all pixels
 * take what does before the next of them. Long enough, or the sums' way to memory and back would
 * be felt. */
static void choose_chunk(qgc_chain *c)
{
    enum { MOST_PIXELS = 64, MOST_COLUMNS = 7, L1 = 24 << 10, SHORTEST = 32 };
    qgc_chain_kernel *k = c->k;
    int64_t pixels = qgc_chain_rows(k) * k->out_w;
    int64_t bytes = (int64_t)k->tile_vectors * c->p->target->lanes * (int64_t)sizeof(float);
    bool stays = qgc_chain_depth(k) * bytes <= 2 * (int64_t)L1;
    if (!c->weights || k->is_depthwise || k->groups > 1 || k->pixels_first || stays ||
        pixels > MOST_PIXELS || pixels <= k->tile_pixels || k->kernel_w > MOST_COLUMNS)
        return;
    int64_t most = L1 / bytes < k->channels ? L1 / bytes : k->channels;
    for (int64_t chunk = most; chunk >= SHORTEST && !k->chunk; chunk--)
        if (k->channels % chunk == 0)
            k->chunk = chunk;
}

qgc_chain_kernel *qgc_new_chain(qgc_planner *p)
{
    qgc_arena *arena = &p->plan->arena;
    qgc_chain_kernel *k = QGC_NEW(arena, qgc_chain_kernel);
    k->base.kind = QGC_KERNEL_CHAIN;
    k->base.num_constants = QGC_CHAIN_NUM_CONSTANTS;
    k->base.constants = QGC_NEW_ARRAY(arena, const void *, QGC_CHAIN_NUM_CONSTANTS);
    k->kernel_d = k->kernel_h = k->kernel_w = k->out_d = k->groups = 1;
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

/* To [group][block][tap][channel][output]. */
static void pack_weights(qgc_planner *p, const float *from, qgc_chain_kernel *k)
{
    int64_t width = qgc_chain_padded(p, k->out_c), depth = qgc_chain_depth(k);
    int64_t block = (int64_t)k->tile_vectors * p->target->lanes;
    float *to = qgc_planner_constant(p, (size_t)(k->groups * depth * width), sizeof(float));
    k->base.constants[QGC_CHAIN_WEIGHTS] = to;
    for (int64_t g = 0; g < k->groups; g++, from += depth * width)
        for (int64_t first = 0; first < width; first += block) {
            int64_t num = first + block < width ? block : width - first;
            for (int64_t i = 0; i < depth; i++, to += num)
                memcpy(to, from + i * width + first, (size_t)num * sizeof *to);
        }
}

/* ---- the step ---- */

const qgc_value *qgc_chain_result(const qgc_chain *c)
{
    return c->group ? c->group->result : &c->node->results[0];
}

int64_t qgc_split_rows(const qgc_planner *p, int64_t images, int64_t rows)
{
    enum { LEAST = 8 };
    int64_t threads = p->target->threads;
    for (int64_t units = threads; images < threads && units * LEAST <= rows; units++)
        if (rows % units == 0)
            return units;
    return 1;
}

static void place_epilogue(qgc_chain *c)
{
    qgc_chain_kernel *k = c->k;
    if (!c->group)
        return;
    k->epilogue = c->group->functions;
    k->sum_input = c->group->sum_input;
    memcpy(k->operands, c->group->pixels, qgc_chain_num_operands(c) * sizeof *k->operands);
}

/* As choose_units in codegen/plan_conv.c; at least two blocks. */
static bool goes_by_block(const qgc_chain *c)
{
    const qgc_chain_kernel *k = c->k;
    double weights = (double)qgc_chain_depth(k) * (double)k->out_c * sizeof(float);
    return c->weights && k->groups == 1 && !k->is_depthwise &&
           k->out_c > (int64_t)MOST_VECTORS * c->p->target->lanes &&
           weights > (double)c->inputs[0]->bytes + (double)c->out->bytes / 2;
}

/* The same of pixels. Where all weights stay in the L2 cache and the result does not, units are
 * short and go to its end one after the other: memory is then read and written in order. */
static int64_t split_pixels(qgc_chain *c, int64_t pixels)
{
    enum { SHORTEST = 20, LONGEST = 64, WEIGHTS = 320 << 10, RESULT = 1 << 20 };
    qgc_chain_kernel *k = c->k;
    int64_t channels = qgc_chain_padded(c->p, k->out_c) * (int64_t)sizeof(float);
    if (channels * k->channels <= WEIGHTS && channels * pixels > RESULT)
        for (int64_t size = LONGEST; size >= SHORTEST; size--)
            if (pixels % size == 0) {
                k->pixels_first = true;
                return pixels / size;
            }
    return k->by_block ? 1 : qgc_split_rows(c->p, 1, pixels);
}

/* Columns and rows that need not be told apart become one long row. */
static void flatten(qgc_chain *c)
{
    qgc_chain_kernel *k = c->k;
    int64_t first, end, pixels = k->images * k->out_h * k->out_w;
    qgc_chain_inner(k, &first, &end);
    bool is_flat = k->out_d * k->kernel_d * k->kernel_h * k->kernel_w == 1 && !k->may_miss &&
                   !k->w_image && k->groups == 1 && end - first == k->out_w &&
                   qgc_pixels_are_flat(&k->in, k->images, k->out_h, k->out_w) &&
                   qgc_pixels_are_flat(&k->out, k->images, k->out_h, k->out_w);
    for (uint32_t i = 0; i < qgc_chain_num_operands(c); i++)
        is_flat = is_flat && (i == k->sum_input ||
                              qgc_pixels_are_flat(&k->operands[i], k->images, k->out_h, k->out_w));
    if (!is_flat)
        return;
    k->images = 1;
    k->out_h = split_pixels(c, pixels);
    k->out_w = pixels / k->out_h;
    k->first_columns = k->end_columns = NULL;
    k->in.row = k->out_w * k->in.pixel;
    k->out.row = k->out_w * k->out.pixel;
    for (uint32_t i = 0; i < qgc_chain_num_operands(c); i++)
        k->operands[i].row = k->out_w * k->operands[i].pixel;
}

/* "3x" of images of three dimensions. */
static const char *planes_of(qgc_text *text, const qgc_chain_kernel *k, int64_t planes)
{
    bool has_planes = k->out_d > 1 || k->kernel_d != 1;
    return has_planes ? qgc_arena_printf(text->arena, "%lldx", (long long)planes) : "";
}

static const char *describe(const qgc_chain *c)
{
    const qgc_chain_kernel *k = c->k;
    qgc_text text = {.arena = &c->p->plan->arena};
    const char *groups =
        k->groups > 1 ? qgc_arena_printf(text.arena, "groups = %lld, ", (long long)k->groups) : "";
    qgc_text_printf(&text,
                    "pixels = %lldx%s%lldx%lld, %schannels = %lld, window = %s%lldx%lld%s%lld, "
                    "tile = %ux%u",
                    (long long)k->images, planes_of(&text, k, k->out_d), (long long)k->out_h,
                    (long long)k->out_w, groups, (long long)k->out_c,
                    planes_of(&text, k, k->kernel_d), (long long)k->kernel_h,
                    (long long)k->kernel_w, k->is_depthwise ? " by " : "x", (long long)k->channels,
                    k->tile_pixels, k->tile_vectors);
    if (k->chunk)
        qgc_text_printf(&text, ", chunks of %lld", (long long)k->chunk);
    for (uint32_t i = 0; k->epilogue && i < k->epilogue->num_steps; i++)
        if (k->epilogue->steps[i].op != QGC_OP_CONST)
            qgc_text_printf(&text, ", %s", qgc_op(k->epilogue->steps[i].op)->mnemonic);
    return text.data;
}

void qgc_add_chain(qgc_chain *c)
{
    qgc_planner *p = c->p;
    qgc_chain_kernel *k = c->k;
    place_epilogue(c);
    k->by_block = goes_by_block(c);
    flatten(c);
    choose_tile(p, k);
    choose_chunk(c);
    if (c->weights)
        pack_weights(p, c->weights, k);
    pack_bias(p, c->node, k);
    int64_t block = (int64_t)k->tile_vectors * p->target->lanes;
    k->base.units = qgc_chain_rows(k) * (k->by_block ? (k->out_c + block - 1) / block : 1);
    uint32_t num = k->w_is_input ? 2 : 1, others = c->group ? qgc_chain_num_operands(c) - 1 : 0;
    qgc_step *step = qgc_planner_add_kernel(p, c->node, &k->base, num + others, 1);
    memcpy(step->inputs, c->inputs, num * sizeof *c->inputs);
    for (uint32_t i = 0; i < qgc_chain_num_operands(c); i++)
        if (i != k->sum_input)
            step->inputs[num++] = c->group->buffers[i];
    step->outputs[0] = c->out;
    step->note = describe(c);
}

/* ---- linear, matmul: |rows| of |depth| elements each ---- */

static void set_rows(qgc_chain *c, int64_t rows, int64_t depth)
{
    qgc_chain_kernel *k = c->k;
    int64_t in = depth * (int64_t)sizeof(float);
    int64_t out = k->out_c * (int64_t)qgc_dtype_bytes(qgc_chain_result(c)->type->dtype);
    k->out_h = qgc_split_rows(c->p, k->images, rows);
    k->out_w = rows / k->out_h;
    k->channels = depth;
    k->in = (qgc_pixels){.image = rows * in, .row = k->out_w * in, .pixel = in};
    k->out = (qgc_pixels){.image = rows * out, .row = k->out_w * out, .pixel = out};
}

/* The operands' rows follow the result's. */
static void add_rows_step(qgc_chain *c)
{
    qgc_pixels pixels[QGC_FUSED_MAX_INPUTS];
    const qgc_chain_kernel *k = c->k;
    for (uint32_t i = 0; i < qgc_chain_num_operands(c); i++) {
        int64_t pixel = c->group->pixels[i].pixel, row = k->out_w * pixel;
        pixels[i] = (qgc_pixels){.image = k->out_h * row, .row = row, .pixel = pixel};
    }
    qgc_chain_group group = {0};
    qgc_chain placed = *c;
    if (c->group) {
        group = *c->group;
        group.pixels = pixels;
        placed.group = &group;
    }
    placed.out = qgc_planner_plain(c->p, qgc_chain_result(c));
    qgc_add_chain(&placed);
}

/* With constant weights, of which element (output, channel) is |by_output|, |by_channel| apart. */
static void add_constant_rows_step(qgc_chain *c, int64_t by_output, int64_t by_channel)
{
    qgc_arena scratch = {0};
    const qgc_chain_kernel *k = c->k;
    int64_t width = qgc_chain_padded(c->p, k->out_c);
    float *to = QGC_NEW_ARRAY(&scratch, float, (size_t)(k->channels * width));
    const float *from = qgc_constant_operand(c->node, W)->data;
    for (int64_t i = 0; i < k->channels; i++)
        for (int64_t o = 0; o < k->out_c; o++)
            to[i * width + o] = from[o * by_output + i * by_channel];
    c->weights = to;
    add_rows_step(c);
    qgc_arena_destroy(&scratch);
}

static void plan_linear(qgc_planner *p, const qgc_node *node, const qgc_chain_group *group)
{
    qgc_chain c = {.p = p, .node = node, .group = group, .k = qgc_new_chain(p)};
    const qgc_tensor *w = qgc_constant_operand(node, W);
    const qgc_value *x = node->operands[X].value;
    int64_t num = 0;
    (void)qgc_type_num_elements(x->type, &num);
    c.k->images = 1;
    c.k->out_c = w->shape[0];
    set_rows(&c, num / w->shape[1], w->shape[1]);
    c.inputs[0] = qgc_planner_plain(p, x);
    add_constant_rows_step(&c, w->shape[1], 1);
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

static const char *matmul_declines(qgc_planner *p, const qgc_node *node)
{
    (void)p;
    const qgc_type *a = node->operands[X].value->type, *b = node->operands[W].value->type;
    const qgc_type *y = node->results[0].type;
    if (a->rank < 2 || b->rank < 2)
        return "an operand is a vector";
    return num_matrices(a, y) && num_matrices(b, y) ? NULL : "its batches broadcast";
}

static void plan_matmul(qgc_planner *p, const qgc_node *node, const qgc_chain_group *group)
{
    const qgc_value *x = node->operands[X].value, *w = node->operands[W].value;
    const qgc_type *a = x->type, *b = w->type, *y = node->results[0].type;
    int64_t num_a = num_matrices(a, y), num_b = num_matrices(b, y);
    int64_t rows = a->dims[a->rank - 2].value, depth = a->dims[a->rank - 1].value;
    qgc_chain_kernel *k = qgc_new_chain(p);
    qgc_chain c = {.p = p, .node = node, .group = group, .k = k};
    k->out_c = b->dims[b->rank - 1].value;
    bool is_one = num_b == 1; /* all rows meet the same matrix */
    k->images = is_one ? 1 : num_b;
    set_rows(&c, is_one ? rows * num_a : rows, depth);
    if (num_a == 1)
        k->in.image = 0;
    c.inputs[0] = qgc_planner_plain(p, x);
    if (is_one && qgc_constant_operand(node, W)) {
        add_constant_rows_step(&c, 1, k->out_c);
        return;
    }
    k->w_is_input = true;
    k->w_row = k->out_c * (int64_t)sizeof(float);
    k->w_image = is_one ? 0 : depth * k->w_row;
    c.inputs[1] = qgc_planner_plain(p, w);
    add_rows_step(&c);
}

/* ---- entry points ---- */

static const char *linear_declines(qgc_planner *p, const qgc_node *node)
{
    (void)p;
    return qgc_constant_operand(node, W) ? NULL : "w is not constant";
}

typedef struct chain_row {
    qgc_opcode op;
    bool is_conv;
    const char *(*declines)(qgc_planner *, const qgc_node *);
    void (*plan)(qgc_planner *, const qgc_node *, const qgc_chain_group *);
} chain_row;

static const chain_row *find_row(qgc_opcode op)
{
    static const chain_row rows[] = {
        {QGC_OP_LINEAR, false, linear_declines, plan_linear},
        {QGC_OP_MATMUL, false, matmul_declines, plan_matmul},
        {QGC_OP_CONV1D, true, qgc_chain_window_declines, qgc_plan_chain_window},
        {QGC_OP_CONV2D, true, qgc_chain_window_declines, qgc_plan_chain_window},
        {QGC_OP_CONV3D, true, qgc_chain_window_declines, qgc_plan_chain_window},
        {QGC_OP_CONV_TRANSPOSE1D, true, qgc_chain_window_declines, qgc_plan_chain_window},
        {QGC_OP_CONV_TRANSPOSE2D, true, qgc_chain_window_declines, qgc_plan_chain_window},
        {QGC_OP_CONV_TRANSPOSE3D, true, qgc_chain_window_declines, qgc_plan_chain_window}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            return &rows[i];
    return NULL;
}

bool qgc_chain_is_conv(const qgc_node *node)
{
    const chain_row *row = find_row(node->op);
    return row && row->is_conv;
}

const char *qgc_chain_declines(qgc_planner *p, const qgc_node *node)
{
    const chain_row *row = find_row(node->op);
    const qgc_value *bias = row && node->num_operands > BIAS ? node->operands[BIAS].value : NULL;
    if (!row)
        return "";
    if (!is_f32(node->operands[X].value))
        return "it is not f32";
    if (!p->target->has_fma)
        return "the CPU level has no fused multiply-add";
    if (is_empty(node->operands[X].value->type) || is_empty(node->operands[W].value->type) ||
        is_empty(node->results[0].type))
        return "it is empty";
    if (bias && !qgc_constant_operand(node, BIAS))
        return "bias is not constant";
    return row->declines(p, node);
}

void qgc_plan_chain_group(qgc_planner *p, const qgc_node *node, const qgc_chain_group *group)
{
    find_row(node->op)->plan(p, node, group);
}

const char *qgc_plan_chain(qgc_planner *p, const qgc_node *node)
{
    const char *why = qgc_chain_declines(p, node);
    if (!why)
        qgc_plan_chain_group(p, node, NULL);
    return why;
}
