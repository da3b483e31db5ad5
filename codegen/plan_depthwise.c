/* Plans int_conv1d, int_conv2d + requantize of groups with few channels and as many outputs; other
 * groups are dense convolutions (plan_conv.c). Zero points are folded as there. */
#include "codegen/conv.h"
#include "ir/view.h"

enum { MAX_WIDTH = 32 };

typedef struct depthwise {
    qgc_planner *p;
    const qgc_product *m;
    qgc_depthwise_kernel *k;
} depthwise;

/* ---- tiles ---- */

/* Work of a tile: shuffles for each group of pixels that some row of it meets, four to make words
 * of a pixel, eight to interleave four; dot products for each output that the group meets. */
static int64_t tile_work(const qgc_depthwise_kernel *k, uint32_t rows, uint32_t outputs)
{
    int64_t work = 0, dots = 4 * (int64_t)qgc_depthwise_steps(k), shuffles = k->pixels == 1 ? 4 : 8;
    uint32_t groups = qgc_depthwise_groups(k, outputs);
    for (int64_t y = 0; y < qgc_depthwise_span(k, rows); y++) {
        int64_t num_rows = 0;
        for (uint32_t row = 0; row < rows; row++)
            num_rows += qgc_depthwise_row(k, y, row) >= 0;
        for (uint32_t g = 0; num_rows && g < groups; g++) {
            int64_t meets = 0;
            for (uint32_t t = 0; t < outputs; t++)
                meets += qgc_depthwise_meets(k, t, g);
            work += meets ? shuffles + meets * dots * num_rows : 0;
        }
    }
    return work;
}

/* Of the whole image, in tiles of this size and smaller ones at its ends. */
static int64_t image_work(const qgc_depthwise_kernel *k, uint32_t rows, uint32_t outputs)
{
    int64_t work = 0;
    uint32_t heights[] = {rows, (uint32_t)(k->out_h % rows)};
    uint32_t widths[] = {outputs, (uint32_t)(k->out_w % outputs)};
    for (int i = 0; i < 4; i++) {
        int64_t high = i / 2 ? 1 : k->out_h / rows, wide = i % 2 ? 1 : k->out_w / outputs;
        if (heights[i / 2] && widths[i % 2])
            work += high * wide * tile_work(k, heights[i / 2], widths[i % 2]);
    }
    return work;
}

/* Of all tiles of at most |most| sums, four vectors each, the cheapest. A kernel whose rows are a
 * loop has one row in a tile. */
static void choose_tile_within(qgc_depthwise_kernel *k, uint32_t most)
{
    k->rows = k->outputs = 1;
    int64_t best = INT64_MAX;
    for (uint32_t rows = 1; rows <= most && rows <= k->out_h; rows++)
        for (uint32_t outputs = 1; outputs * rows <= most && outputs <= k->out_w; outputs++) {
            int64_t work = image_work(k, rows, outputs);
            bool fits = rows == 1 || !qgc_depthwise_is_long(k);
            if (!fits || work >= best)
                continue;
            best = work;
            k->rows = rows;
            k->outputs = outputs;
        }
}

/* The cheapest whose sums stay in registers. */
static void choose_tile(const depthwise *d)
{
    qgc_depthwise_kernel *k = d->k;
    const qgc_plan_target *target = d->p->target;
    uint32_t down = qgc_planner_steps_down(d->p, d->m->node);
    uint32_t most = target->registers < 32 ? 2 : target->lanes == 4 ? 4 : 6;
    choose_tile_within(k, most + target->extra_pixels);
    for (; down && k->rows * k->outputs > 1; down--)
        choose_tile_within(k, k->rows * k->outputs - 1);
    k->groups = qgc_depthwise_groups(k, k->outputs);
    k->base.units =
        k->images * ((k->out_h + k->rows - 1) / k->rows) * qgc_depthwise_chunks(k, target->lanes);
    k->base.has_smaller_tile = k->rows * k->outputs > 1;
    k->base.tile = qgc_arena_printf(&d->p->plan->arena, "%ux%ux%u", k->rows, k->outputs,
                                    k->pixels * k->groups);
}

enum { FINISH = 3 }; /* what a vector of sums takes to become bytes */

/* Of all channels, with their epilogue. */
static double work_of(const qgc_planner *p, const qgc_depthwise_kernel *k)
{
    int64_t size = 4 * (int64_t)p->target->lanes, chunks = (k->channels + size - 1) / size;
    double outputs = (double)k->out_h * (double)k->out_w;
    return (double)chunks * ((double)image_work(k, k->rows, k->outputs) + outputs * 4 * FINISH);
}

/* As a dense convolution of each group, whose vectors have only its outputs: dot products, and for
 * each a load of a pixel's word besides the one of weights that it shares. */
static double dense_work(const qgc_planner *p, const qgc_depthwise_kernel *k)
{
    int64_t channels = k->group_channels, groups = k->channels / channels;
    int64_t vectors = (channels + p->target->lanes - 1) / p->target->lanes;
    int64_t dots = k->kernel_h * k->taps * qgc_depthwise_steps(k) * vectors;
    double outputs = (double)k->out_h * (double)k->out_w * (double)groups;
    return outputs * ((double)dots * 1.2 + (double)vectors * FINISH);
}

/* ---- packing ---- */

/* Of |channel|, for channel |from| of its group. */
static int8_t weight_of(const depthwise *d, int64_t channel, int64_t from, int64_t row, int64_t tap)
{
    const qgc_depthwise_kernel *k = d->k;
    int64_t index = ((channel * k->group_channels + from) * k->kernel_h + row) * k->taps + tap;
    return (int8_t)(((const uint8_t *)d->m->weights->data)[index] - d->m->weight_shift);
}

/* The weight by which |output|'s sum takes pixel |pixel| of its tile. */
static int8_t weight_at(const depthwise *d, int64_t channel, int64_t row, uint32_t output,
                        int64_t pixel)
{
    int64_t tap = pixel - output * d->k->stride;
    if (tap < 0 || tap >= d->k->width || tap % d->k->dilation)
        return 0;
    return weight_of(d, channel, 0, row, tap / d->k->dilation);
}

/* Of wider groups: word |v| / steps * steps + step of each 16 channels, as far as it is of the
 * output's group. */
static int8_t *pack_words(const depthwise *d, int64_t first, uint32_t lanes, int8_t *to,
                          qgc_channel_sum *sums)
{
    const qgc_depthwise_kernel *k = d->k;
    uint32_t steps = qgc_depthwise_steps(k), per_group = k->group_channels;
    for (int64_t i = 0; i < k->kernel_h * k->taps * steps; i++)
        for (uint32_t lane = 0; lane < 4 * lanes; lane++)
            for (uint32_t b = 0; b < 4; b++, to++) {
                uint32_t v = lane / lanes, word = v / steps * steps + (uint32_t)(i % steps);
                int64_t output = first + qgc_block_channel(4, lanes, v, lane % lanes);
                int64_t channel = first + (int64_t)(16 * (lane % lanes / 4) + 4 * word + b);
                int64_t tap = i / steps;
                if (output >= k->channels || channel / per_group != output / per_group)
                    continue;
                *to = weight_of(d, output, channel % per_group, tap / k->taps, tap % k->taps);
                qgc_add_weight(&sums[lane], *to);
            }
    return to;
}

static int8_t *pack_chunk(const depthwise *d, int64_t first, uint32_t lanes, int8_t *to,
                          qgc_channel_sum *sums)
{
    const qgc_depthwise_kernel *k = d->k;
    int64_t pairs = (int64_t)k->outputs * k->groups;
    if (k->pixels == 1)
        return pack_words(d, first, lanes, to, sums);
    for (int64_t i = 0; i < k->kernel_h * pairs; i++)
        for (uint32_t lane = 0; lane < 4 * lanes; lane++)
            for (uint32_t b = 0; b < 4; b++, to++) {
                int64_t channel = first + qgc_block_channel(4, lanes, lane / lanes, lane % lanes);
                uint32_t output = (uint32_t)(i % pairs / k->groups);
                if (channel >= k->channels)
                    continue;
                *to = weight_at(d, channel, i / pairs, output, i % k->groups * 4 + b);
                if (output == 0)
                    qgc_add_weight(&sums[lane], *to);
            }
    return to;
}

static qgc_epilogue pack(depthwise *d)
{
    qgc_depthwise_kernel *k = d->k;
    uint32_t most = d->p->target->lanes;
    size_t padded = (size_t)k->channels + (size_t)4 * most;
    size_t steps = (size_t)(k->kernel_h * qgc_depthwise_row_vectors(k));
    int8_t *to = qgc_planner_constant(d->p, padded, steps);
    k->base.constants[QGC_CONV_WEIGHTS] = to;
    qgc_lists lists = qgc_new_lists(d->p, d->m, padded, 1, k->base.constants);
    for (int64_t first = 0; first < k->channels;) {
        qgc_channel_sum sums[QGC_MAX_BLOCK] = {0};
        uint32_t lanes = qgc_chunk_lanes(k->channels - first, most);
        to = pack_chunk(d, first, lanes, to, sums);
        qgc_block block = {first, k->channels, 4, lanes};
        qgc_fill_lists(d->m, &lists, &block, sums);
        first += (int64_t)4 * lanes;
    }
    return qgc_finish_lists(d->m, &lists);
}

/* ---- the step ---- */

static void add_step(depthwise *d, const qgc_conv_buffers *b)
{
    qgc_planner *p = d->p;
    qgc_depthwise_kernel *k = d->k;
    qgc_arena *arena = &p->plan->arena;
    k->base.kind = QGC_KERNEL_DEPTHWISE;
    k->base.num_constants = QGC_CONV_NUM_CONSTANTS;
    k->base.constants = QGC_NEW_ARRAY(arena, const void *, QGC_CONV_NUM_CONSTANTS);
    k->epilogue = pack(d);
    qgc_step *step = qgc_planner_add_kernel(p, d->m->node, &k->base, b->addend ? 2 : 1, 1);
    step->inputs[0] = b->in;
    if (b->addend)
        step->inputs[1] = b->addend;
    step->outputs[0] = b->out;
    const char *groups =
        k->group_channels > 1 ? qgc_arena_printf(arena, "groups of %u, ", k->group_channels) : "";
    step->note = qgc_arena_printf(
        arena, "pixels = %lldx%lldx%lld, %schannels = %lld, window = %lldx%lld, tile = %s%s",
        (long long)k->images, (long long)k->out_h, (long long)k->out_w, groups,
        (long long)k->channels, (long long)k->kernel_h, (long long)k->width, k->base.tile,
        b->addend ? ", add" : "");
    qgc_planner_take(p, d->m->node);
    if (d->m->epilogue)
        qgc_planner_take(p, d->m->epilogue);
}

static const char *match(qgc_product *m)
{
    const char *why = qgc_match_x(m);
    if (!why)
        why = qgc_match_weights(m);
    if (why)
        return why;
    const qgc_tensor *w = m->weights;
    int64_t groups = qgc_node_int(m->node, "groups"), width = w->shape[1], num;
    bool is_narrow = width == 1 || width == 2 || width == 4 || width == 8;
    if (groups == 1 || !is_narrow || w->shape[0] != groups * width)
        return "it is not depthwise";
    why = qgc_match_epilogue(m, w->shape[0], 1);
    if (why)
        return why;
    if (!w->bytes || !qgc_type_num_elements(qgc_product_result(m)->type, &num) || !num ||
        !qgc_type_num_elements(m->x->type, &num) || !num)
        return "it is empty";
    return NULL;
}

static const char *plan_sum(qgc_planner *p, const qgc_node *node)
{
    if (node->op != QGC_OP_INT_CONV2D && node->op != QGC_OP_INT_CONV1D)
        return "";
    qgc_product m = {.node = node, .is_raw = qgc_map_get(&p->raw, node) != NULL};
    const char *why = match(&m);
    if (why)
        return why;
    const qgc_tensor *w = m.weights;
    qgc_window win = qgc_read_window(node);
    int64_t shape[4], taps = w->shape[w->rank - 1];
    if (win.dilation[1] > MAX_WIDTH || win.dilation[1] * (taps - 1) + 1 > MAX_WIDTH)
        return "its window is too wide";
    qgc_nchw_shape(qgc_product_result(&m)->type, shape);
    depthwise d = {p, &m, QGC_NEW(&p->plan->arena, qgc_depthwise_kernel)};
    *d.k = (qgc_depthwise_kernel){.images = shape[0],
                                  .out_h = shape[2],
                                  .out_w = shape[3],
                                  .channels = shape[1],
                                  .group_channels = (uint32_t)w->shape[1],
                                  .pixels = w->shape[1] == 1 ? 4 : 1,
                                  .taps = taps,
                                  .stride = win.stride[1],
                                  .dilation = win.dilation[1],
                                  .kernel_h = w->rank == 4 ? w->shape[2] : 1,
                                  .row_stride = win.stride[0],
                                  .row_dilation = win.dilation[0],
                                  .width = win.dilation[1] * (taps - 1) + 1};
    choose_tile(&d);
    if (d.k->pixels == 1 && dense_work(p, d.k) <= work_of(p, d.k))
        return "its groups are wide enough for a dense convolution";
    qgc_conv_buffers b = qgc_make_buffers(p, &m, &win);
    d.k->in = b.in_pixels;
    d.k->out = b.out_pixels;
    d.k->addend = b.addend_pixels;
    add_step(&d, &b);
    return NULL;
}

const char *qgc_plan_depthwise(qgc_planner *p, const qgc_node *node)
{
    return qgc_plan_terms(p, node, plan_sum);
}
