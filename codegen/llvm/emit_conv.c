/* Dense convolution, linear and matmul: register tiles of pixels x vectors of output channels.
 *
 * for group: for block of channels: for tile of pixels: for run: for step:
 *     acc[p][v] += dot4(a[p], w[v])
 *
 * a[p] is four input bytes broadcast to all lanes, w[v] the four weights of each lane's channel.
 * The tile sizes keep accumulators, weights and one broadcast within the registers. A tile takes
 * pixels as they come, across rows: each has its own address. */
#include "codegen/llvm/emit.h"

enum { MAX_PIXELS = 8, MAX_VECTORS = 4, MAX_SUMS = 64 };

typedef struct conv {
    qgc_emitter *e;
    const qgc_conv_kernel *k;
    LLVMValueRef in, out, addend; /* at the group */
    LLVMValueRef weights, start, multipliers, bias, addend_multipliers;
    LLVMValueRef begin, end; /* tiles */
    uint32_t lanes;
} conv;

/* A part as its tiles see it. */
typedef struct part {
    int64_t first_run, end_run;
    int64_t start; /* bytes, in the lists of starts */
    qgc_emit_image map;
    qgc_pixels in, out, addend;
} part;

/* A block of channels and the tile within it. */
typedef struct block {
    uint32_t vectors;
    const part *part;
    int64_t channels; /* stored; fewer than vectors * lanes in the last block */
    LLVMValueRef weights, constants, channel; /* constants: byte offset into the lists */
} block;

typedef struct tile {
    uint32_t pixels, phases; /* phases: independent sums, to hide the latency of small tiles */
    LLVMValueRef in[MAX_PIXELS];
    LLVMValueRef acc[MAX_SUMS]; /* [phase][pixel][vector] */
} tile;

/* One 4-byte step of a run, into the sums of one phase. |offset|: of the input. */
static void emit_step(conv *c, const block *b, const tile *t, uint32_t phase, LLVMValueRef offset,
                      int64_t more, LLVMValueRef w_base, LLVMValueRef *sums)
{
    qgc_emitter *e = c->e;
    LLVMValueRef w[MAX_VECTORS];
    for (uint32_t v = 0; v < b->vectors; v++) {
        LLVMValueRef at = qgc_emit_at_const(e, w_base, (int64_t)v * c->lanes * 4);
        w[v] = qgc_emit_load(e, e->vi32, at, 4 * c->lanes);
    }
    LLVMValueRef *acc = sums + (size_t)phase * t->pixels * b->vectors;
    for (uint32_t p = 0; p < t->pixels; p++) {
        LLVMValueRef at = qgc_emit_at_const(e, qgc_emit_at(e, t->in[p], offset), more);
        LLVMValueRef a = qgc_emit_splat(e, qgc_emit_load(e, e->i32, at, 1), c->lanes);
        for (uint32_t v = 0; v < b->vectors; v++, acc++)
            *acc = qgc_emit_raw_dot(e, c->lanes, *acc, a, w[v]);
    }
}

static void emit_run(conv *c, const block *b, tile *t, int64_t run)
{
    qgc_emitter *e = c->e;
    uint32_t num = t->pixels * b->vectors * t->phases;
    int64_t step_bytes = (int64_t)b->vectors * c->lanes * 4, steps = c->k->run_steps;
    int64_t least = t->phases > 2 ? t->phases : 2, unroll = steps >= least ? least : steps;
    int64_t whole = steps / unroll * unroll, offset = c->k->run_offsets[run];
    LLVMValueRef w_run = qgc_emit_at_const(e, b->weights, run * steps * step_bytes);
    qgc_loop loop = {.num_carried = num};
    for (uint32_t i = 0; i < num; i++)
        loop.carried[i] = t->acc[i];
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), unroll);
    LLVMValueRef at = qgc_emit_mul_const(e, loop.index, 4);
    LLVMValueRef w = qgc_emit_at(e, w_run, qgc_emit_mul_const(e, loop.index, step_bytes));
    for (int64_t u = 0; u < unroll; u++)
        emit_step(c, b, t, (uint32_t)(u % t->phases), at, offset + 4 * u,
                  qgc_emit_at_const(e, w, step_bytes * u), loop.carried);
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < num; i++)
        t->acc[i] = loop.carried[i];
    for (int64_t s = whole; s < steps; s++)
        emit_step(c, b, t, (uint32_t)(s % t->phases), qgc_emit_i64(e, 0), offset + 4 * s,
                  qgc_emit_at_const(e, w_run, step_bytes * s), t->acc);
}

static void emit_start(conv *c, const block *b, tile *t)
{
    qgc_emitter *e = c->e;
    LLVMValueRef start =
        qgc_emit_at_const(e, qgc_emit_at(e, c->start, b->constants), b->part->start);
    for (uint32_t v = 0; v < b->vectors; v++) {
        LLVMValueRef at = qgc_emit_at_const(e, start, (int64_t)v * c->lanes * 4);
        LLVMValueRef first = qgc_emit_load(e, e->vi32, at, 4);
        for (uint32_t p = 0; p < t->pixels; p++)
            t->acc[p * b->vectors + v] = first;
    }
    uint32_t num = t->pixels * b->vectors;
    for (uint32_t i = num; i < num * t->phases; i++)
        t->acc[i] = LLVMConstNull(e->vi32);
}

/* Bytes of channels in the result. */
static LLVMValueRef out_offset(const conv *c, LLVMValueRef channels)
{
    return c->k->epilogue.is_raw ? qgc_emit_mul_const(c->e, channels, 4) : channels;
}

static void emit_finish(conv *c, const block *b, tile *t, LLVMValueRef first_pixel)
{
    qgc_emitter *e = c->e;
    const qgc_conv_kernel *k = c->k;
    const part *r = b->part;
    uint32_t num = t->pixels * b->vectors;
    for (uint32_t i = num; i < num * t->phases; i++)
        t->acc[i % num] = LLVMBuildAdd(e->builder, t->acc[i % num], t->acc[i], "");
    qgc_emit_channels channels = {.epilogue = &k->epilogue,
                                  .lanes = c->lanes,
                                  .vectors = b->vectors,
                                  .multipliers = qgc_emit_at(e, c->multipliers, b->constants),
                                  .bias = qgc_emit_at(e, c->bias, b->constants),
                                  .addend_multipliers =
                                      qgc_emit_at(e, c->addend_multipliers, b->constants)};
    for (uint32_t p = 0; p < t->pixels; p++) {
        LLVMValueRef pixel = LLVMBuildAdd(e->builder, first_pixel, qgc_emit_i64(e, p), "");
        LLVMValueRef out = qgc_emit_pixel(e, &r->map, &r->out, c->out, pixel), addend = NULL;
        if (k->epilogue.has_addend)
            addend = qgc_emit_at(e, qgc_emit_pixel(e, &r->map, &r->addend, c->addend, pixel),
                                 b->channel);
        qgc_emit_finish_block(e, &channels, t->acc + (size_t)p * b->vectors, addend,
                              qgc_emit_at(e, out, out_offset(c, b->channel)), b->channels);
    }
}

static void emit_tile(conv *c, const block *b, uint32_t pixels, LLVMValueRef first_pixel)
{
    qgc_emitter *e = c->e;
    uint32_t sums = pixels * b->vectors;
    tile t = {.pixels = pixels, .phases = sums >= 8 ? 1 : sums >= 4 ? 2 : 4};
    const part *r = b->part;
    LLVMValueRef in = qgc_emit_pixel(e, &r->map, &r->in, c->in, first_pixel);
    for (uint32_t p = 0; p < pixels; p++) {
        LLVMValueRef pixel = LLVMBuildAdd(e->builder, first_pixel, qgc_emit_i64(e, p), "");
        t.in[p] = qgc_pixels_are_flat(&r->map, &r->in)
                      ? qgc_emit_at_const(e, in, p * r->in.pixel)
                      : qgc_emit_pixel(e, &r->map, &r->in, c->in, pixel);
    }
    emit_start(c, b, &t);
    for (int64_t run = r->first_run; run < r->end_run; run++)
        emit_run(c, b, &t, run);
    emit_finish(c, b, &t, first_pixel);
}

/* Channels padded to whole vectors: of the lists, per group. */
static int64_t padded_channels(const conv *c)
{
    return (c->k->out_c + c->lanes - 1) / c->lanes * c->lanes;
}

/* Tiles of |pixels| pixels: units [first, first + num), as far as they are asked for.
 * |first_pixel|: of the first one, within the part. */
static void emit_tile_range(conv *c, const block *b, uint32_t pixels, int64_t first, int64_t num,
                            int64_t first_pixel)
{
    qgc_emitter *e = c->e;
    qgc_loop loop = {.may_be_empty = true};
    if (!num)
        return;
    qgc_loop_begin(e, &loop, qgc_emit_limit(e, LLVMIntSGT, c->begin, first),
                   qgc_emit_limit(e, LLVMIntSLT, c->end, first + num), 1);
    LLVMValueRef pixel = qgc_emit_mul_const(e, loop.index, pixels);
    emit_tile(c, b, pixels,
              LLVMBuildAdd(e->builder, pixel, qgc_emit_i64(e, first_pixel - first * pixels), ""));
    qgc_loop_end(e, &loop);
}

/* Pixels of a part; a single image needs no stride. */
static qgc_pixels part_pixels(const qgc_conv_kernel *k, const qgc_conv_part *p, qgc_pixels pixels)
{
    pixels.first += p->first_row * pixels.row;
    if (k->images == 1)
        pixels.image = p->rows * pixels.row;
    return pixels;
}

/* The tiles [begin, end) of one block. They are balanced, 14 pixels are 5 + 5 + 4, never 6 + 6 + 2:
 * the first |num_large| of a part have a pixel more than its others. */
static void emit_tiles(conv *c, block *b)
{
    const qgc_conv_kernel *k = c->k;
    int64_t unit = 0, starts = padded_channels(c) * k->groups * 4;
    for (uint32_t i = 0; i < k->num_parts; i++) {
        const qgc_conv_part *p = &k->parts[i];
        part r = {.first_run = p->first_run,
                  .end_run = p->end_run,
                  .start = i * starts,
                  .map = {p->rows, k->out_w},
                  .in = part_pixels(k, p, k->in),
                  .out = part_pixels(k, p, k->out),
                  .addend = part_pixels(k, p, k->addend)};
        int64_t total = k->images * p->rows * k->out_w;
        int64_t small = total / p->units, num_large = total - small * p->units;
        b->part = &r;
        emit_tile_range(c, b, (uint32_t)small + 1, unit, num_large, 0);
        emit_tile_range(c, b, (uint32_t)small, unit + num_large, p->units - num_large,
                        num_large * (small + 1));
        unit += p->units;
    }
}

static int64_t block_bytes(const conv *c, uint32_t vectors)
{
    return c->k->num_runs * c->k->run_steps * (int64_t)vectors * c->lanes * 4;
}

static void emit_blocks(conv *c)
{
    qgc_emitter *e = c->e;
    const qgc_conv_kernel *k = c->k;
    int64_t block_channels = (int64_t)k->tile_vectors * c->lanes;
    int64_t whole = k->out_c / block_channels, rest = k->out_c % block_channels;
    if (whole) {
        qgc_loop loop = {.carried = {c->weights}, .num_carried = 1};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole * block_channels),
                       block_channels);
        block b = {k->tile_vectors,
                   NULL,
                   block_channels,
                   loop.carried[0],
                   qgc_emit_mul_const(e, loop.index, 4),
                   loop.index};
        emit_tiles(c, &b);
        loop.carried[0] = qgc_emit_at_const(e, loop.phis[0], block_bytes(c, k->tile_vectors));
        qgc_loop_end(e, &loop);
    }
    if (rest) {
        int64_t first = whole * block_channels;
        block b = {(uint32_t)((rest + c->lanes - 1) / c->lanes),
                   NULL,
                   rest,
                   qgc_emit_at_const(e, c->weights, whole * block_bytes(c, k->tile_vectors)),
                   qgc_emit_i64(e, first * 4),
                   qgc_emit_i64(e, first)};
        emit_tiles(c, &b);
    }
}

static void emit_groups(conv *c)
{
    qgc_emitter *e = c->e;
    const qgc_conv_kernel *k = c->k;
    if (k->groups == 1) {
        emit_blocks(c);
        return;
    }
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->groups), 1);
    conv g = *c;
    int64_t padded = padded_channels(c);
    LLVMValueRef in_bytes = qgc_emit_mul_const(e, loop.index, k->group_bytes);
    LLVMValueRef out_bytes = qgc_emit_mul_const(e, loop.index, k->out_c);
    LLVMValueRef out_channels = out_offset(c, out_bytes);
    LLVMValueRef list_bytes = qgc_emit_mul_const(e, loop.index, padded * 4);
    g.in = qgc_emit_at(e, c->in, in_bytes);
    g.out = qgc_emit_at(e, c->out, out_channels);
    g.addend = c->addend ? qgc_emit_at(e, c->addend, out_bytes) : NULL;
    g.weights = qgc_emit_at(
        e, c->weights, qgc_emit_mul_const(e, loop.index, block_bytes(c, 1) * (padded / c->lanes)));
    g.start = qgc_emit_at(e, c->start, list_bytes);
    g.multipliers = qgc_emit_at(e, c->multipliers, list_bytes);
    g.bias = qgc_emit_at(e, c->bias, list_bytes);
    g.addend_multipliers = qgc_emit_at(e, c->addend_multipliers, list_bytes);
    emit_blocks(&g);
    qgc_loop_end(e, &loop);
}

void qgc_emit_conv(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_conv_kernel *k = (const qgc_conv_kernel *)kernel;
    conv c = {.e = e,
              .k = k,
              .in = qgc_emit_argument(e, args.in, 0),
              .out = qgc_emit_argument(e, args.out, 0),
              .addend = k->epilogue.has_addend ? qgc_emit_argument(e, args.in, 1) : NULL,
              .weights = qgc_emit_argument(e, args.constants, QGC_CONV_WEIGHTS),
              .start = qgc_emit_argument(e, args.constants, QGC_CONV_START),
              .multipliers = qgc_emit_argument(e, args.constants, QGC_CONV_MULTIPLIERS),
              .bias = qgc_emit_argument(e, args.constants, QGC_CONV_BIAS),
              .addend_multipliers =
                  qgc_emit_argument(e, args.constants, QGC_CONV_ADDEND_MULTIPLIERS),
              .begin = args.begin,
              .end = args.end,
              .lanes = e->level->lanes};
    emit_groups(&c);
    LLVMBuildRetVoid(e->builder);
}
