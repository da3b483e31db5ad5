/* Plans int_conv1d, int_conv2d, int_linear, int_matmul (and for codegen/plan_conv_transpose.c the
 * phases of a transposed convolution) + requantize as one generated kernel: folds
 * zero points, packs weights.
 *
 * acc = bias + sum (x - zx) * w = (bias - zx * sum w) + sum x * w, where a tap out of bounds reads
 * the border, which holds zx: it contributes zx * w - zx * w = 0. All of it modulo 2^32. */
#include "codegen/conv.h"
#include "ir/view.h"

#include <string.h>

/* The weights as the packer sees them. */
typedef struct weights {
    int64_t out_c, in_c, kernel_h, kernel_w; /* per group; linear: in_c alone */
    bool transposed;                         /* of a matmul: [in, out] */
    bool merged;                             /* a run is a whole kernel row */
    int64_t run_bytes;
} weights;

typedef struct conv {
    qgc_planner *p;
    const qgc_product *m;
    weights w;
    qgc_conv_kernel *k;
    uint32_t num_split; /* as many parts as there are if columns are told apart, or 0 */
    qgc_conv_part split[QGC_CONV_MAX_PARTS];
} conv;

/* ---- packing ---- */

/* Where the weight of byte |k| of run |run| stands among those of an output. */
static int64_t weight_offset(const conv *c, int64_t run, int64_t k)
{
    const weights *w = &c->w;
    int64_t column = w->merged ? k / w->in_c : run % w->kernel_w;
    int64_t row = w->merged ? run : run / w->kernel_w;
    int64_t channel = k % w->in_c;
    if (w->transposed)
        return channel * w->out_c;
    return (channel * w->kernel_h + row) * w->kernel_w + column;
}

/* Sums of a block's weights: all of them, and those of steps that a part leaves out. */
typedef struct block_sums {
    uint32_t all[QGC_MAX_BLOCK]; /* modulo 2^32 */
    int64_t magnitude[QGC_MAX_BLOCK];
    int32_t left_out[QGC_CONV_MAX_PARTS][QGC_MAX_BLOCK];
} block_sums;

/* Where four bytes of a run are, or the |num| that it has, among the weights of an output. */
typedef struct four {
    int64_t run, step, num, offsets[4];
} four;

/* Of all steps of all runs, in |arena|. */
static four *find_fours(const conv *c, qgc_arena *arena)
{
    int64_t num = c->k->num_runs * c->k->run_steps;
    four *fours = QGC_NEW_ARRAY(arena, four, (size_t)num);
    for (int64_t i = 0; i < num; i++) {
        four *f = &fours[i];
        int64_t byte = i % c->k->run_steps * 4, left = c->w.run_bytes - byte;
        f->run = i / c->k->run_steps;
        f->step = i % c->k->run_steps;
        f->num = left < 4 ? left : 4;
        for (int64_t b = 0; b < f->num; b++)
            f->offsets[b] = weight_offset(c, f->run, byte + b);
    }
    return fours;
}

static uint32_t flipped_word(const uint8_t *bytes, uint32_t flip)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word ^ flip;
}

/* The short end of a run. */
static void pack_end(const four *f, const uint8_t *const *from, uint32_t lanes, uint8_t flip,
                     uint32_t *to)
{
    for (uint32_t l = 0; l < lanes; l++) {
        uint8_t bytes[4] = {0};
        for (int64_t b = 0; b < f->num; b++)
            bytes[b] = from[l][f->offsets[b]] ^ flip;
        to[l] = flipped_word(bytes, 0);
    }
}

/* A step of the |lanes| of a vector that have an output, whose weights are |from|. */
static void pack_step(const four *f, const uint8_t *const *from, uint32_t lanes, uint8_t flip,
                      uint32_t *to)
{
    int64_t a = f->offsets[0], b = f->offsets[1], c = f->offsets[2], d = f->offsets[3];
    uint32_t all = flip * 0x01010101U;
    if (f->num < 4)
        pack_end(f, from, lanes, flip, to);
    else if (b == a + 1 && c == a + 2 && d == a + 3)
        for (uint32_t l = 0; l < lanes; l++)
            to[l] = flipped_word(from[l] + a, all);
    else
        for (uint32_t l = 0; l < lanes; l++)
            to[l] = flipped_word((uint8_t[]){from[l][a], from[l][b], from[l][c], from[l][d]}, all);
}

/* The byte of a word that is |up| bits below its top, as a number. */
static inline int32_t byte_of(uint32_t word, int up)
{
    return (int32_t)(word << up) >> 24;
}

static inline int32_t absolute(int32_t x)
{
    return x < 0 ? -x : x;
}

static bool leaves_out(const qgc_conv_part *part, const four *f)
{
    return f->run < part->first_run || f->run >= part->end_run || f->step < part->first_step ||
           f->step >= part->end_step;
}

/* |first|: the vector's first lane in the block. Words: these loops become vectors. */
static void add_sums(const qgc_conv_kernel *k, const four *f, uint32_t first, uint32_t lanes,
                     const uint32_t *packed, block_sums *sums)
{
    int32_t sum[QGC_MAX_BLOCK], magnitude[QGC_MAX_BLOCK];
    for (uint32_t l = 0; l < lanes; l++) {
        uint32_t w = packed[l];
        int32_t a = byte_of(w, 0), b = byte_of(w, 8), c = byte_of(w, 16), d = byte_of(w, 24);
        sum[l] = a + b + c + d;
        magnitude[l] = absolute(a) + absolute(b) + absolute(c) + absolute(d);
    }
    for (uint32_t l = 0; l < lanes; l++)
        sums->all[first + l] += (uint32_t)sum[l];
    for (uint32_t l = 0; l < lanes; l++)
        sums->magnitude[first + l] += magnitude[l];
    for (uint32_t i = 0; i < k->num_parts; i++)
        if (leaves_out(&k->parts[i], f))
            for (uint32_t l = 0; l < lanes; l++)
                sums->left_out[i][first + l] += sum[l];
}

/* Vector by vector: its outputs read as many places at a time as the cache has ways. */
static int8_t *pack_block(const conv *c, const four *fours, int64_t group, int64_t first,
                          uint32_t vectors, int8_t *to, block_sums *sums)
{
    const qgc_conv_kernel *k = c->k;
    const weights *w = &c->w;
    const uint8_t *all = (const uint8_t *)c->m->weights->data, *from[QGC_MAX_BLOCK];
    uint32_t lanes = c->p->target->lanes, used;
    uint8_t flip = (uint8_t)c->m->weight_shift; /* by 128: the top bit */
    int64_t stride = w->transposed ? 1 : w->in_c * w->kernel_h * w->kernel_w;
    int64_t num = k->num_runs * k->run_steps;
    uint32_t *words = (uint32_t *)to;
    for (uint32_t vector = 0; vector < vectors; vector++) {
        for (used = 0; used < lanes; used++) {
            int64_t out = first + qgc_block_channel(vectors, lanes, vector, used);
            if (out >= k->out_c)
                break; /* and so are those of the lanes behind */
            from[used] = all + (group * k->out_c + out) * stride;
        }
        for (int64_t i = 0; i < num; i++) {
            uint32_t *step = words + (i * vectors + vector) * lanes;
            pack_step(&fours[i], from, used, flip, step);
            add_sums(k, &fours[i], vector * lanes, lanes, step, sums);
        }
    }
    return to + num * vectors * lanes * 4;
}

/* The starts of a block: of each part what its left-out steps would add. |start|: the whole ones.
 */
static void fill_starts(const conv *c, const qgc_lists *lists, uint32_t lanes, int32_t *start,
                        const block_sums *sums)
{
    for (uint32_t part = c->k->num_parts; part-- > 0;)
        for (uint32_t i = 0; i < lanes; i++) {
            uint32_t more = (uint32_t)lists->dot_zero_point * (uint32_t)sums->left_out[part][i];
            start[part * lists->channels + i] = (int32_t)((uint32_t)start[i] + more);
        }
}

/* The lists of a block whose weights are packed. */
static void fill_block(const conv *c, qgc_lists *lists, const qgc_block *block,
                       const block_sums *sums)
{
    uint32_t lanes = block->vectors * block->lanes;
    int32_t *start = lists->start;
    qgc_channel_sum channels[QGC_MAX_BLOCK];
    for (uint32_t i = 0; i < lanes; i++)
        channels[i] = (qgc_channel_sum){(int32_t)sums->all[i], sums->magnitude[i]};
    qgc_fill_lists(c->m, lists, block, channels);
    fill_starts(c, lists, lanes, start, sums);
}

/* Walks the blocks of all groups: weights and the lists that go with them. What the plan says of
 * its products. */
static const char *pack(conv *c, size_t in_bytes)
{
    qgc_conv_kernel *k = c->k;
    uint32_t lanes = c->p->target->lanes;
    uint32_t vectors = (uint32_t)((k->out_c + lanes - 1) / lanes), most = k->tile_vectors;
    size_t channels = (size_t)vectors * lanes * (size_t)k->groups;
    size_t steps = (size_t)k->num_runs * (size_t)k->run_steps;
    qgc_arena scratch = {0};
    bool is_final = !c->p->target->widens_bytes;
    int8_t *all = is_final ? qgc_planner_constant(c->p, channels * 4, steps)
                           : (int8_t *)QGC_NEW_ARRAY(&scratch, uint32_t, channels *steps);
    int8_t *to = all;
    k->base.constants[QGC_CONV_WEIGHTS] = all;
    qgc_lists lists = qgc_new_lists(c->p, c->m, channels, k->num_parts, k->base.constants);
    const four *fours = find_fours(c, &scratch);
    for (int64_t group = 0; group < k->groups; group++)
        for (uint32_t v = 0; v < vectors; v += most) {
            block_sums sums = {0};
            uint32_t num = vectors - v < most ? vectors - v : most;
            int64_t first = (int64_t)v * lanes;
            to = pack_block(c, fours, group, first, num, to, &sums);
            qgc_block block = {group * k->out_c + first, (group + 1) * k->out_c, num, lanes};
            fill_block(c, &lists, &block, &sums);
        }
    k->epilogue = qgc_finish_lists(c->m, &lists);
    const char *note = is_final ? ""
                                : qgc_plan_pairs(c->p, c->m->node, c->m->x_stored_zero_point,
                                                 in_bytes, k, (const uint32_t *)all);
    qgc_arena_destroy(&scratch);
    return note;
}

/* ---- the step ---- */

/* The addresses of neighbouring pixels of a part are a constant apart, also across rows. */
static bool is_flat(const qgc_conv_kernel *k, const qgc_conv_part *part)
{
    const qgc_pixels *all[] = {&k->in, &k->out, k->epilogue.has_addend ? &k->addend : NULL};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] && !qgc_pixels_are_flat(all[i], k->images, part->rows, part->columns))
            return false;
    return true;
}

/* Pixels whose addresses otherwise each take divisions: in rows that are long enough, the shorter
 * the sums the sooner. */
static bool goes_by_row(const qgc_conv_kernel *k, const qgc_conv_part *part)
{
    enum { LONG_ROW = 20, ROW = 8, SHORT_SUM = 64 };
    bool is_short = k->num_runs * k->run_steps * k->tile_vectors <= SHORT_SUM;
    return !is_flat(k, part) && part->columns >= (is_short ? ROW : LONG_ROW);
}

/* Most pixels of a tile. One vector per pixel is short of loads, so the more pixels share one of
 * weights the better; but not of pixels that each have an address. */
static uint32_t most_pixels(const qgc_plan_target *target, const qgc_conv_kernel *k)
{
    enum { ONE_VECTOR_PIXELS = 10, WIDENING_PIXELS = 6 };
    uint32_t fit = (target->registers - 2 - k->tile_vectors) / k->tile_vectors;
    uint32_t limit = qgc_plan_tile_limits(target).pixels;
    if (target->widens_bytes) /* one factor of a pixel at a time beside the sums */
        limit = WIDENING_PIXELS;
    bool is_alone = k->tile_vectors == 1 && target->lanes == 16 && target->registers >= 32 &&
                    !target->has_signed_dot;
    for (uint32_t i = 0; i < k->num_parts && is_alone; i++)
        is_alone = k->parts[i].by_row || is_flat(k, &k->parts[i]);
    if (is_alone)
        limit = ONE_VECTOR_PIXELS;
    return fit < limit ? fit : limit;
}

static void choose_tile(const conv *c)
{
    qgc_conv_kernel *k = c->k;
    const qgc_plan_target *target = c->p->target;
    const uint32_t most = qgc_plan_tile_limits(target).vectors, lanes = target->lanes;
    uint32_t vectors = (uint32_t)((k->out_c + lanes - 1) / lanes);
    k->tile_vectors = vectors < most ? vectors : most;
    for (uint32_t i = 0; i < k->num_parts; i++)
        k->parts[i].by_row = goes_by_row(k, &k->parts[i]);
    uint32_t pixels = most_pixels(target, k) + target->extra_pixels;
    uint32_t down = qgc_planner_steps_down(c->p, c->m->node);
    k->tile_pixels = down < pixels ? pixels - down : 1;
    k->base.has_smaller_tile = k->tile_pixels > 1;
    k->base.tile = qgc_arena_printf(&c->p->plan->arena, "%ux%u", k->tile_pixels, k->tile_vectors);
    for (uint32_t i = 0; i < k->num_parts; i++) {
        qgc_conv_part *part = &k->parts[i];
        int64_t rows = k->images * part->rows;
        int64_t pixels = part->by_row ? part->columns : rows * part->columns;
        part->tiles = (pixels + k->tile_pixels - 1) / k->tile_pixels;
        part->units = part->by_row ? rows : part->tiles;
    }
}

/* In half dot products of a step per vector: a tile loads its weights, too. */
static double work_of(const qgc_conv_kernel *k)
{
    double work = 0;
    for (uint32_t i = 0; i < k->num_parts; i++) {
        const qgc_conv_part *part = &k->parts[i];
        int64_t pixels = k->images * part->rows * part->columns;
        int64_t tiles = part->units * (part->by_row ? part->tiles : 1);
        int64_t steps = (part->end_run - part->first_run) * (part->end_step - part->first_step);
        work += (2 * (double)pixels + (double)tiles) * (double)steps;
    }
    return work;
}

/* More parts are more tiles that are not full, and more code: they have to save a hundredth. */
static void choose_parts(const conv *c)
{
    static const double least = 0.01;
    qgc_conv_kernel *k = c->k, whole;
    choose_tile(c);
    if (!c->num_split)
        return;
    whole = *k;
    k->num_parts = c->num_split;
    memcpy(k->parts, c->split, sizeof k->parts);
    choose_tile(c);
    if (work_of(k) > work_of(&whole) * (1 - least))
        *k = whole;
}

/* What threads do not share each of them reads, which costs the same whether it comes from weights
 * beyond its own cache or from another thread's pixels. With tiles, half of the weights (for two
 * threads) that it could do without; with blocks, half of the pixels; and the next step, of tiles,
 * half of what it makes of them. */
static void choose_units(const conv *c, const qgc_buffer *in)
{
    qgc_conv_kernel *k = c->k;
    int64_t block = (int64_t)k->tile_vectors * c->p->target->lanes;
    int64_t blocks = (k->out_c + block - 1) / block;
    double weights = 4.0 * (double)k->out_c * (double)k->num_runs * (double)k->run_steps;
    double made = (double)k->images * (double)k->out_h * (double)k->out_w * (double)k->out_c;
    k->by_block = k->groups == 1 && blocks > 1 && weights > (double)in->bytes + made / 2;
    k->base.units = qgc_conv_tiles(k) * (k->by_block ? blocks : 1);
}

/* The kernel's step: x, the addend, x as i16, as far as it reads them. */
static qgc_step *add_inputs(conv *c, qgc_buffer *in, qgc_buffer *addend)
{
    qgc_planner *p = c->p;
    const qgc_conv_kernel *k = c->k;
    qgc_buffer *wide = k->pairs.is_wide ? qgc_planner_widened(p, c->m->node, in) : NULL;
    bool has_both = wide && k->pairs.has_bytes;
    qgc_buffer *all[] = {wide && !has_both ? wide : in, addend, has_both ? wide : NULL};
    uint32_t num = 0;
    qgc_step *step = qgc_planner_add_kernel(p, c->m->node, &c->k->base, 3, 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            step->inputs[num++] = all[i];
    step->num_inputs = num;
    return step;
}

static void add_step(conv *c, qgc_buffer *in, qgc_buffer *addend, qgc_buffer *out)
{
    qgc_planner *p = c->p;
    qgc_conv_kernel *k = c->k;
    qgc_arena *arena = &p->plan->arena;
    k->base.kind = QGC_KERNEL_CONV;
    k->base.num_constants = QGC_CONV_NUM_CONSTANTS;
    k->base.constants = QGC_NEW_ARRAY(arena, const void *, QGC_CONV_NUM_CONSTANTS);
    k->epilogue.has_addend = addend != NULL;
    k->zero_point_is_input = c->m->x_zero_point != NULL;
    choose_parts(c);
    choose_units(c, in);
    const char *dot = pack(c, in->bytes);
    qgc_buffer *second = c->m->x_zero_point ? qgc_planner_plain(p, c->m->x_zero_point) : addend;
    qgc_step *step = add_inputs(c, in, second);
    step->outputs[0] = out;
    const char *groups =
        k->groups > 1 ? qgc_arena_printf(arena, "groups = %lld, ", (long long)k->groups) : "";
    const char *parts =
        k->num_parts > 1 ? qgc_arena_printf(arena, ", parts = %u", k->num_parts) : "";
    step->note = qgc_arena_printf(
        arena, "pixels = %lldx%lldx%lld, %schannels = %lld, runs = %lldx%lld, tile = %s%s%s%s",
        (long long)k->images, (long long)k->out_h, (long long)k->out_w, groups, (long long)k->out_c,
        (long long)k->num_runs, (long long)k->run_steps * 4, k->base.tile, parts, dot,
        addend           ? ", add"
        : c->m->epilogue ? ""
        : second         ? ", raw, zero point"
                         : ", raw");
    qgc_planner_take(p, c->m->node);
    if (c->m->epilogue)
        qgc_planner_take(p, c->m->epilogue);
}

/* A zero point that is computed changes the starts of raw sums. */
static const char *check_zero_point(const qgc_product *m)
{
    return m->x_zero_point && m->epilogue ? "a zero point is an operand" : NULL;
}

/* Four bytes each. */
static int64_t steps_of(int64_t run_bytes)
{
    return (run_bytes + 3) / 4;
}

static qgc_conv_part whole_part(const qgc_conv_kernel *k)
{
    return (qgc_conv_part){
        .rows = k->out_h, .columns = k->out_w, .end_run = k->num_runs, .end_step = k->run_steps};
}

/* ---- linear, matmul ---- */

static const char *plan_rows(qgc_planner *p, const qgc_node *node)
{
    qgc_product m = {
        .node = node, .is_raw = qgc_map_get(&p->raw, node) != NULL, .takes_zero_point = true};
    const char *why = qgc_match_x(&m);
    if (!why)
        why = qgc_match_weights(&m);
    if (why)
        return why;
    const qgc_tensor *w = m.weights;
    bool transposed = node->op == QGC_OP_INT_MATMUL;
    if (w->rank != 2)
        return "w has more than two dimensions";
    conv c = {p, &m, .w = {.kernel_h = 1, .kernel_w = 1, .transposed = transposed, .merged = true}};
    c.w.out_c = w->shape[transposed];
    c.w.in_c = c.w.run_bytes = w->shape[!transposed];
    why = qgc_match_epilogue(&m, c.w.out_c, node->results[0].type->rank - 1);
    if (!why)
        why = check_zero_point(&m);
    if (why)
        return why;
    int64_t num_x;
    if (!w->bytes || !qgc_type_num_elements(m.x->type, &num_x) || !num_x)
        return "it is empty";
    int64_t rows = num_x / c.w.in_c, in_c = c.w.in_c, out_c = c.w.out_c;
    int64_t out_pixel = m.epilogue ? out_c : out_c * (int64_t)sizeof(int32_t);
    c.k = QGC_NEW(&p->plan->arena, qgc_conv_kernel);
    *c.k = (qgc_conv_kernel){
        .images = 1,
        .out_h = 1,
        .out_w = rows,
        .out_c = out_c,
        .groups = 1,
        .in = {.image = rows * in_c, .row = rows * in_c, .pixel = in_c},
        .out = {.image = rows * out_pixel, .row = rows * out_pixel, .pixel = out_pixel},
        .addend = {.image = rows * out_c, .row = rows * out_c, .pixel = out_c},
        .num_runs = 1,
        .run_steps = steps_of(in_c),
        .run_offsets = QGC_NEW(&p->plan->arena, int64_t)};
    c.k->num_parts = 1;
    c.k->parts[0] = whole_part(c.k);
    qgc_buffer *in = qgc_planner_rows(p, m.x);
    qgc_buffer *addend = m.addend ? qgc_planner_rows(p, m.addend) : NULL;
    const qgc_value *y = qgc_product_result(&m);
    add_step(&c, in, addend, m.epilogue ? qgc_planner_new_rows(p, y) : qgc_planner_plain(p, y));
    return NULL;
}

/* ---- conv1d, conv2d ---- */

/* Byte offsets of the runs from a pixel's first tap. */
static int64_t *run_offsets(const conv *c, const qgc_window *win, const qgc_pixels *in)
{
    const weights *w = &c->w;
    int64_t *offsets = QGC_NEW_ARRAY(&c->p->plan->arena, int64_t, (size_t)c->k->num_runs);
    for (int64_t r = 0; r < c->k->num_runs; r++) {
        int64_t row = w->merged ? r : r / w->kernel_w;
        int64_t column = w->merged ? 0 : r % w->kernel_w;
        offsets[r] = row * win->dilation[0] * in->row + column * win->dilation[1] * in->pixel;
    }
    return offsets;
}

/* ---- parts ---- */

typedef struct range {
    int64_t begin, end;
} range;

static int64_t clamp(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* The |num| taps from |first| on, |dilation| apart, that are inside an image of |size|. */
static range taps_inside(int64_t first, int64_t num, int64_t dilation, int64_t size)
{
    int64_t before = first < 0 ? (-first + dilation - 1) / dilation : 0;
    int64_t inside = first < size ? (size - first + dilation - 1) / dilation : 0;
    int64_t end = clamp(inside, 0, num);
    return (range){clamp(before, 0, end), end};
}

/* The runs of output row |row| whose kernel rows are inside the image of |height|. */
static qgc_conv_part part_of_row(const conv *c, const qgc_window *win, int64_t height, int64_t row)
{
    int64_t first = row * win->stride[0] - win->border.top;
    range rows = taps_inside(first, c->w.kernel_h, win->dilation[0], height);
    int64_t per_row = c->k->num_runs / c->w.kernel_h;
    qgc_conv_part part = whole_part(c->k);
    part.first_row = row;
    part.rows = 1;
    part.first_run = rows.begin * per_row;
    part.end_run = rows.end * per_row;
    return part;
}

/* Only worth their code where they leave out at least a hundredth of the work. */
static void find_parts(const conv *c, const qgc_window *win, int64_t height)
{
    qgc_conv_kernel *k = c->k;
    int64_t computed = 0, all = k->out_h * k->num_runs;
    k->num_parts = 0;
    for (int64_t row = 0; row < k->out_h; row++) {
        qgc_conv_part one = part_of_row(c, win, height, row);
        qgc_conv_part *last = k->num_parts ? &k->parts[k->num_parts - 1] : NULL;
        computed += one.end_run - one.first_run;
        if (last && last->first_run == one.first_run && last->end_run == one.end_run)
            last->rows++;
        else if (k->num_parts < QGC_CONV_MAX_ROWS)
            k->parts[k->num_parts++] = one;
        else
            computed = all;
    }
    if (computed + (all + 99) / 100 <= all)
        return;
    k->num_parts = 1;
    k->parts[0] = whole_part(k);
}

/* |part| in classes of columns, into |columns|; how many, 0: too many. */
static uint32_t find_columns(const conv *c, const qgc_window *win, int64_t width,
                             const qgc_conv_part *part, qgc_conv_part *columns)
{
    uint32_t num = 0;
    for (int64_t x = 0; x < c->k->out_w; x++) {
        int64_t first = x * win->stride[1] - win->border.left;
        range taps = taps_inside(first, c->w.kernel_w, 1, width);
        int64_t begin = taps.begin * c->w.in_c / 4, end = taps.end * c->w.in_c / 4;
        qgc_conv_part *last = num ? &columns[num - 1] : NULL;
        if (last && last->first_step == begin && last->end_step == end) {
            last->columns++;
            continue;
        }
        if (num == QGC_CONV_MAX_COLUMNS)
            return 0;
        columns[num] = *part;
        columns[num].first_column = x;
        columns[num].columns = 1;
        columns[num].first_step = begin;
        columns[num++].end_step = end;
    }
    return num;
}

/* Columns of the part with most rows: at the upper and lower border they would be single pixels. */
static void split_columns(conv *c, const qgc_window *win, int64_t width)
{
    const qgc_conv_kernel *k = c->k;
    qgc_conv_part columns[QGC_CONV_MAX_COLUMNS];
    uint32_t largest = 0, num;
    for (uint32_t i = 1; i < k->num_parts; i++)
        if (k->parts[i].rows > k->parts[largest].rows)
            largest = i;
    if (!c->w.merged || c->w.in_c % 4 || c->p->target->widens_bytes)
        return;
    num = find_columns(c, win, width, &k->parts[largest], columns);
    if (num < 2)
        return;
    for (uint32_t i = 0; i < k->num_parts; i++)
        if (i == largest)
            for (uint32_t j = 0; j < num; j++)
                c->split[c->num_split++] = columns[j];
        else
            c->split[c->num_split++] = k->parts[i];
}

void qgc_add_conv(qgc_planner *p, const qgc_product *m, const qgc_window *win,
                  const qgc_conv_buffers *b, const int64_t *out_size)
{
    int64_t groups = qgc_node_int(m->node, "groups");
    const qgc_tensor *w = m->weights;
    conv c = {p, m,
              .w = {.out_c = w->shape[0] / groups,
                    .in_c = w->shape[1],
                    .kernel_h = w->rank == 4 ? w->shape[2] : 1,
                    .kernel_w = w->shape[w->rank - 1]}};
    c.w.merged = win->dilation[1] == 1 && groups == 1;
    c.w.run_bytes = c.w.merged ? c.w.kernel_w * c.w.in_c : c.w.in_c;
    c.k = QGC_NEW(&p->plan->arena, qgc_conv_kernel);
    *c.k = (qgc_conv_kernel){.images = b->in->n,
                             .out_h = out_size[0],
                             .out_w = out_size[1],
                             .out_c = c.w.out_c,
                             .groups = groups,
                             .group_bytes = c.w.in_c};
    c.k->num_runs = c.w.merged ? c.w.kernel_h : c.w.kernel_h * c.w.kernel_w;
    c.k->run_steps = steps_of(c.w.run_bytes);
    find_parts(&c, win, b->in->h);
    split_columns(&c, win, b->in->w);
    c.k->run_offsets = run_offsets(&c, win, &b->in_pixels);
    c.k->in = b->in_pixels;
    c.k->in.row *= win->stride[0];
    c.k->in.pixel *= win->stride[1];
    c.k->out = b->out_pixels;
    c.k->addend = b->addend_pixels;
    add_step(&c, b->in, b->addend, b->out);
}

static const char *plan_window(qgc_planner *p, const qgc_node *node)
{
    qgc_product m = {
        .node = node, .is_raw = qgc_map_get(&p->raw, node) != NULL, .takes_zero_point = true};
    const char *why = qgc_match_conv(&m);
    if (!why)
        why = check_zero_point(&m);
    if (why)
        return why;
    int64_t shape[4];
    qgc_window win = qgc_read_window(node);
    if (m.x_zero_point && !qgc_border_is_empty(&win.border))
        return "a zero point is an operand"; /* it would fill the border */
    qgc_nchw_shape(qgc_product_result(&m)->type, shape);
    qgc_conv_buffers b = qgc_make_buffers(p, &m, &win);
    qgc_add_conv(p, &m, &win, &b, shape + 2);
    return NULL;
}

static const char *plan_sum(qgc_planner *p, const qgc_node *node)
{
    if (node->op == QGC_OP_INT_CONV2D || node->op == QGC_OP_INT_CONV1D)
        return plan_window(p, node);
    if (node->op == QGC_OP_INT_CONV_TRANSPOSE2D || node->op == QGC_OP_INT_CONV_TRANSPOSE1D)
        return qgc_plan_conv_transpose(p, node);
    if (node->op == QGC_OP_INT_LINEAR || node->op == QGC_OP_INT_MATMUL)
        return plan_rows(p, node);
    return "";
}

const char *qgc_plan_conv(qgc_planner *p, const qgc_node *node)
{
    return qgc_plan_terms(p, node, plan_sum);
}
