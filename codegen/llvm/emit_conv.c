/* Dense convolution, linear and matmul: register tiles of pixels x vectors of output channels.
 *
 * for group: for block of channels: for tile of pixels: for run: for step:
 *     acc[p][v] += dot4(a[p], w[v])
 *
 * a[p] is four input bytes broadcast to all lanes, w[v] the four weights of each lane's channel.
 * The tile sizes keep accumulators, weights and one broadcast within the registers. A tile takes
 * pixels as they come, across rows: each has its own address. */
#include "codegen/llvm/emit.h"

enum { MAX_PIXELS = 12, MAX_VECTORS = 4, MAX_SUMS = 64, STRAIGHT_STEPS = 12 };

typedef struct conv {
    qgc_emitter *e;
    const qgc_conv_kernel *k;
    LLVMValueRef in, out, addend; /* at the group */
    LLVMValueRef wide;            /* in as i16, or NULL */
    LLVMValueRef steps;           /* the lists, or NULL */
    LLVMValueRef weights, start, multipliers, bias, addend_multipliers;
    LLVMValueRef weight_sums, zero_point; /* NULL, or of all lanes */
    LLVMValueRef begin, end;              /* tiles */
    LLVMValueRef row_tile; /* where units are rows: the row's first tile, counted from begin */
    uint32_t lanes;
} conv;

/* A part as its tiles see it. */
typedef struct part {
    int64_t first_run, end_run, first_step, end_step;
    int64_t start; /* bytes, in the lists of starts */
    qgc_emit_image map;
    qgc_pixels in, out, addend, wide;
} part;

/* A block of channels and the tile within it. */
typedef struct block {
    uint32_t vectors;
    const part *part;
    int64_t channels;                /* stored; fewer than vectors * lanes in the last block */
    LLVMValueRef weights, steps;     /* steps: its list, NULL without one */
    LLVMValueRef constants, channel; /* constants: byte offset into the lists */
} block;

typedef struct tile {
    uint32_t pixels, phases; /* phases: independent sums, to hide the latency of small tiles */
    LLVMValueRef in[MAX_PIXELS], wide[MAX_PIXELS];
    LLVMValueRef acc[MAX_SUMS]; /* [phase][pixel][vector] */
    LLVMValueRef next;          /* what it fetches of the next block's weights; or NULL */
} tile;

/* ---- weights to come ---- */

static int64_t block_bytes(const conv *c, uint32_t vectors)
{
    return qgc_conv_lane_bytes(c->k) * (int64_t)vectors * c->lanes;
}

/* Half of the tiles see to all of the next block's weights: two threads may share a block, and each
 * has a cache of its own. */
static int64_t tiles_that_fetch(const qgc_conv_kernel *k)
{
    int64_t tiles = 0;
    for (uint32_t i = 0; i < k->num_parts; i++)
        tiles += k->parts[i].units * (k->parts[i].by_row ? k->parts[i].tiles : 1);
    return k->by_block ? tiles : (tiles + 1) / 2;
}

/* Where few pixels meet each weight, the next block's weights have to come from memory while this
 * one's are in use. |index|: of the tile, from the first one of this thread or block. */
static LLVMValueRef emit_next(const conv *c, const block *b, LLVMValueRef index)
{
    enum { FEW = 256, ALONE = 4 };
    qgc_emitter *e = c->e;
    const qgc_conv_kernel *k = c->k;
    int64_t bytes = block_bytes(c, b->vectors), tiles = tiles_that_fetch(k);
    uint32_t shift = qgc_emit_share_shift(tiles);
    if (tiles < ALONE || k->images * k->out_h * k->out_w > FEW)
        return NULL;
    index = LLVMBuildAnd(e->builder, index, qgc_emit_i64(e, ((int64_t)1 << shift) - 1), "");
    return qgc_emit_share(e, qgc_emit_at_const(e, b->weights, bytes), index, bytes, shift);
}

/* Beside |bytes| of this block's weights from |at| on, an offset. */
static void emit_fetch(const conv *c, const tile *t, LLVMValueRef at, int64_t bytes)
{
    if (t->next)
        qgc_emit_fetch(c->e, t->next, qgc_emit_share_shift(tiles_that_fetch(c->k)), at, bytes);
}

/* ---- steps ---- */

/* How a step takes its products: see qgc_conv_pairs. */
typedef LLVMValueRef dot_fn(qgc_emitter *e, uint32_t lanes, LLVMValueRef acc, LLVMValueRef a,
                            LLVMValueRef w);

/* Four bytes at |in| of each pixel (of i16 two elements), into sums. |offset|: of the input. */
static void emit_dots(conv *c, const block *b, const tile *t, const LLVMValueRef *in,
                      LLVMValueRef offset, int64_t more, LLVMValueRef w_base, dot_fn *dot,
                      LLVMValueRef *acc)
{
    qgc_emitter *e = c->e;
    LLVMValueRef w[MAX_VECTORS];
    for (uint32_t v = 0; v < b->vectors; v++) {
        LLVMValueRef at = qgc_emit_at_const(e, w_base, (int64_t)v * c->lanes * 4);
        w[v] = qgc_emit_load(e, e->vi32, at, 4 * c->lanes);
    }
    for (uint32_t p = 0; p < t->pixels; p++) {
        LLVMValueRef at = qgc_emit_at_const(e, qgc_emit_at(e, in[p], offset), more);
        LLVMValueRef a = qgc_emit_splat(e, qgc_emit_load(e, e->i32, at, 1), c->lanes);
        for (uint32_t v = 0; v < b->vectors; v++, acc++)
            *acc = dot(e, c->lanes, *acc, a, w[v]);
    }
}

/* Four products as i16, two at a time. |offset| and |more| in bytes of i16. */
static void emit_wide_step(conv *c, const block *b, const tile *t, LLVMValueRef offset,
                           int64_t more, LLVMValueRef w_base, LLVMValueRef *sums)
{
    int64_t half_bytes = (int64_t)b->vectors * c->lanes * 4;
    for (int64_t half = 0; half < 2; half++) {
        emit_dots(c, b, t, t->wide, offset, more + 4 * half,
                  qgc_emit_at_const(c->e, w_base, half * half_bytes), qgc_emit_pair_dot, sums);
        qgc_emit_pin(c->e, sums, t->pixels * b->vectors);
    }
}

/* Of steps that are not listed: their bytes of weights per lane, of the input. */
static int64_t step_scale(const conv *c)
{
    return c->k->pairs.is_wide ? 2 : 1;
}

/* One 4-byte step of a run, into the sums of one phase. |offset|: of the input as it is read. */
static void emit_step(conv *c, const block *b, const tile *t, uint32_t phase, LLVMValueRef offset,
                      int64_t more, LLVMValueRef w_base, LLVMValueRef *sums)
{
    qgc_emitter *e = c->e;
    const qgc_conv_pairs *pairs = &c->k->pairs;
    LLVMValueRef *acc = sums + (size_t)phase * t->pixels * b->vectors;
    if (pairs->is_wide)
        emit_wide_step(c, b, t, offset, 2 * more, w_base, acc);
    else
        emit_dots(c, b, t, t->in, offset, more, w_base,
                  pairs->has_bytes ? qgc_emit_byte_pair_dot : qgc_emit_raw_dot, acc);
    if (pairs->has_bytes)
        qgc_emit_pin(e, acc, t->pixels * b->vectors);
}

/* All of a few steps; fences, or their loads would all come first. */
static void emit_straight_run(conv *c, const block *b, tile *t, int64_t run)
{
    qgc_emitter *e = c->e;
    int64_t step_bytes = (int64_t)b->vectors * c->lanes * 4 * step_scale(c);
    for (int64_t s = b->part->first_step; s < b->part->end_step; s++) {
        int64_t step = run * c->k->run_steps + s;
        qgc_emit_fence(e);
        emit_fetch(c, t, qgc_emit_i64(e, step * step_bytes), step_bytes);
        emit_step(c, b, t, (uint32_t)(s % t->phases), qgc_emit_i64(e, 0),
                  c->k->run_offsets[run] + 4 * s,
                  qgc_emit_at_const(e, b->weights, step * step_bytes), t->acc);
    }
}

/* The computed steps of a run. |at|: where it begins in the input as it is read, beside |more|
 * bytes; |w_at|: among the block's weights. */
static void emit_run(conv *c, const block *b, tile *t, LLVMValueRef at, int64_t more,
                     LLVMValueRef w_at)
{
    qgc_emitter *e = c->e;
    uint32_t num = t->pixels * b->vectors * t->phases;
    int64_t first = b->part->first_step, steps = b->part->end_step - first;
    int64_t step_bytes = (int64_t)b->vectors * c->lanes * 4 * step_scale(c);
    int64_t least = t->phases > 2 ? t->phases : 2, unroll = steps >= least ? least : steps;
    int64_t whole = steps / unroll * unroll;
    LLVMValueRef w_first = LLVMBuildAdd(e->builder, w_at, qgc_emit_i64(e, first * step_bytes), "");
    qgc_loop loop = {.num_carried = num};
    more += 4 * first;
    for (uint32_t i = 0; i < num; i++)
        loop.carried[i] = t->acc[i];
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), unroll);
    LLVMValueRef x = qgc_emit_mul_const(e, loop.index, 4 * step_scale(c));
    LLVMValueRef w = qgc_emit_mul_const(e, loop.index, step_bytes);
    x = LLVMBuildAdd(e->builder, at, x, "");
    w = LLVMBuildAdd(e->builder, w_first, w, "");
    emit_fetch(c, t, w, unroll * step_bytes);
    w = qgc_emit_at(e, b->weights, w);
    for (int64_t u = 0; u < unroll; u++)
        emit_step(c, b, t, (uint32_t)(u % t->phases), x, more + 4 * u,
                  qgc_emit_at_const(e, w, step_bytes * u), loop.carried);
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < num; i++)
        t->acc[i] = loop.carried[i];
    w_first = qgc_emit_at(e, b->weights, w_first);
    for (int64_t s = whole; s < steps; s++)
        emit_step(c, b, t, (uint32_t)(s % t->phases), at, more + 4 * s,
                  qgc_emit_at_const(e, w_first, step_bytes * s), t->acc);
}

/* Bytes from a run to the next one, or 0: they are not the same everywhere. */
static int64_t run_distance(const qgc_conv_kernel *k, const part *r)
{
    int64_t distance = k->run_offsets[r->first_run + 1] - k->run_offsets[r->first_run];
    for (int64_t run = r->first_run + 1; run < r->end_run; run++)
        if (k->run_offsets[run] - k->run_offsets[run - 1] != distance)
            return 0;
    return distance;
}

/* Runs a constant apart are a loop: less code. */
static void emit_runs(conv *c, const block *b, tile *t)
{
    qgc_emitter *e = c->e;
    const qgc_conv_kernel *k = c->k;
    const part *r = b->part;
    uint32_t num = t->pixels * b->vectors * t->phases;
    int64_t run_bytes = k->run_steps * (int64_t)b->vectors * c->lanes * 4 * step_scale(c);
    int64_t runs = r->end_run - r->first_run, distance = runs > 1 ? run_distance(k, r) : 0;
    if (r->first_step >= r->end_step)
        return;
    if (!distance) {
        for (int64_t run = r->first_run; run < r->end_run; run++)
            emit_run(c, b, t, qgc_emit_i64(e, 0), k->run_offsets[run],
                     qgc_emit_i64(e, run * run_bytes));
        return;
    }
    qgc_loop loop = {.num_carried = num};
    for (uint32_t i = 0; i < num; i++)
        loop.carried[i] = t->acc[i];
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, runs), 1);
    for (uint32_t i = 0; i < num; i++)
        t->acc[i] = loop.carried[i];
    LLVMValueRef w = qgc_emit_mul_const(e, loop.index, run_bytes);
    emit_run(c, b, t, qgc_emit_mul_const(e, loop.index, distance * step_scale(c)),
             k->run_offsets[r->first_run],
             LLVMBuildAdd(e->builder, w, qgc_emit_i64(e, r->first_run * run_bytes), ""));
    for (uint32_t i = 0; i < num; i++)
        loop.carried[i] = t->acc[i];
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < num; i++)
        t->acc[i] = loop.carried[i];
}

/* Entry |index| of the block's list, in which runs stand at |base|. */
static LLVMValueRef list_entry(conv *c, const block *b, LLVMValueRef index, int64_t base)
{
    qgc_emitter *e = c->e;
    LLVMValueRef at = qgc_emit_at_const(e, b->steps, 4 * base);
    at = qgc_emit_at(e, at, qgc_emit_mul_const(e, index, 4));
    return LLVMBuildSExt(e->builder, qgc_emit_load(e, e->i32, at, 4), e->i64, "");
}

/* The listed steps of one kind of the part's runs. |starts|, |offsets|: where they stand in the
 * list; |weights|: bytes per lane from the block's first weight to theirs. */
static void emit_listed_steps(conv *c, const block *b, tile *t, bool is_bytes, int64_t starts,
                              int64_t offsets, int64_t weights)
{
    qgc_emitter *e = c->e;
    const part *r = b->part;
    uint32_t num = t->pixels * b->vectors;
    int64_t width = (int64_t)b->vectors * c->lanes;
    bool is_wide = !is_bytes && c->k->pairs.is_wide;
    qgc_loop loop = {.num_carried = num};
    for (uint32_t i = 0; i < num; i++)
        loop.carried[i] = t->acc[i];
    qgc_loop_begin(e, &loop, list_entry(c, b, qgc_emit_i64(e, r->first_run), starts),
                   list_entry(c, b, qgc_emit_i64(e, r->end_run), starts), 1);
    LLVMValueRef offset = list_entry(c, b, loop.index, offsets);
    LLVMValueRef w = qgc_emit_mul_const(e, loop.index, (is_wide ? 8 : 4) * width);
    w = qgc_emit_at(e, qgc_emit_at_const(e, b->weights, weights * width), w);
    if (is_wide)
        emit_wide_step(c, b, t, offset, 0, w, loop.carried);
    else
        emit_dots(c, b, t, t->in, offset, 0, w,
                  is_bytes ? qgc_emit_byte_pair_dot : qgc_emit_raw_dot, loop.carried);
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < num; i++)
        t->acc[i] = loop.carried[i];
}

static void emit_listed_runs(conv *c, const block *b, tile *t)
{
    const qgc_conv_kernel *k = c->k;
    int64_t starts = k->num_runs + 1, bytes = k->pairs.byte_steps;
    emit_listed_steps(c, b, t, true, 0, 2 * starts, 0);
    if (k->pairs.word_steps)
        emit_listed_steps(c, b, t, false, starts, 2 * starts + bytes, 4 * bytes);
}

/* What the zero point takes from the starts of vector |v|. */
static LLVMValueRef less_zero_point(conv *c, const block *b, uint32_t v, LLVMValueRef start)
{
    qgc_emitter *e = c->e;
    if (!c->zero_point)
        return start;
    LLVMValueRef at = qgc_emit_at_const(e, qgc_emit_at(e, c->weight_sums, b->constants),
                                        (int64_t)v * c->lanes * 4);
    LLVMValueRef sums = qgc_emit_load(e, e->vi32, at, 4);
    LLVMValueRef more = LLVMBuildMul(e->builder, sums, c->zero_point, "");
    return LLVMBuildSub(e->builder, start, more, "");
}

static void emit_start(conv *c, const block *b, tile *t)
{
    qgc_emitter *e = c->e;
    LLVMValueRef start =
        qgc_emit_at_const(e, qgc_emit_at(e, c->start, b->constants), b->part->start);
    for (uint32_t v = 0; v < b->vectors; v++) {
        LLVMValueRef at = qgc_emit_at_const(e, start, (int64_t)v * c->lanes * 4);
        LLVMValueRef first = less_zero_point(c, b, v, qgc_emit_load(e, e->vi32, at, 4));
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

/* The address of pixel |p| of the tile that begins with |first|. */
static LLVMValueRef emit_address(conv *c, const part *r, const qgc_pixels *pixels,
                                 LLVMValueRef base, LLVMValueRef first, uint32_t p)
{
    qgc_emitter *e = c->e;
    if (qgc_pixels_are_flat(pixels, r->map.images, r->map.height, r->map.width))
        return qgc_emit_at_const(e, qgc_emit_pixel(e, &r->map, pixels, base, first),
                                 p * pixels->pixel);
    return qgc_emit_pixel(e, &r->map, pixels, base,
                          LLVMBuildAdd(e->builder, first, qgc_emit_i64(e, p), ""));
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
    qgc_emit_place places[MAX_PIXELS] = {0};
    for (uint32_t p = 0; p < t->pixels; p++) {
        places[p].out = qgc_emit_at(e, emit_address(c, r, &r->out, c->out, first_pixel, p),
                                    out_offset(c, b->channel));
        if (k->epilogue.has_addend)
            places[p].addend = qgc_emit_at(
                e, emit_address(c, r, &r->addend, c->addend, first_pixel, p), b->channel);
    }
    qgc_emit_finish_tile(e, &channels, t->pixels, t->acc, places, b->channels);
}

/* |index|: as emit_next has it. */
static void emit_tile(conv *c, const block *b, uint32_t pixels, LLVMValueRef first_pixel,
                      LLVMValueRef index)
{
    uint32_t sums = pixels * b->vectors;
    const qgc_conv_pairs *pairs = &c->k->pairs;
    /* A sum waits for an addition, not for the product. */
    bool is_quick = pairs->has_bytes || pairs->is_wide;
    tile t = {.pixels = pixels,
              .phases = sums >= 8 || is_quick ? 1
                        : sums >= 4           ? 2
                                              : 4,
              .next = emit_next(c, b, index)};
    const part *r = b->part;
    for (uint32_t p = 0; p < pixels; p++) {
        if (c->in)
            t.in[p] = emit_address(c, r, &r->in, c->in, first_pixel, p);
        if (c->wide)
            t.wide[p] = emit_address(c, r, &r->wide, c->wide, first_pixel, p);
    }
    int64_t steps = (r->end_run - r->first_run) * (r->end_step - r->first_step);
    bool is_short = steps <= STRAIGHT_STEPS &&
                    c->e->level->lanes == 16; /* with fewer or smaller registers it spills */
    emit_start(c, b, &t);
    if (pairs->is_listed && r->first_run < r->end_run)
        emit_listed_runs(c, b, &t);
    for (int64_t run = r->first_run; run < r->end_run && !pairs->is_listed && is_short; run++)
        emit_straight_run(c, b, &t, run);
    if (!pairs->is_listed && !is_short)
        emit_runs(c, b, &t);
    emit_finish(c, b, &t, first_pixel);
}

/* Channels padded to whole vectors: of the lists, per group. */
static int64_t padded_channels(const conv *c)
{
    return (c->k->out_c + c->lanes - 1) / c->lanes * c->lanes;
}

/* A part's tiles are balanced, 14 pixels are 5 + 5 + 4, never 6 + 6 + 2: the first |num_large| of
 * them have a pixel more than the others. */
typedef struct balance {
    int64_t small, num_large, num_small;
} balance;

static balance get_balance(int64_t pixels, int64_t tiles)
{
    int64_t small = pixels / tiles, large = pixels - small * tiles;
    return (balance){small, large, tiles - large};
}

/* Units before |unit| that are this thread's or, where threads share blocks, the block's. */
static LLVMValueRef count_units(const conv *c, LLVMValueRef unit)
{
    return c->k->by_block ? unit : LLVMBuildSub(c->e->builder, unit, c->begin, "");
}

/* Tiles of |pixels| pixels: units [first, first + num), as far as they are asked for.
 * |first_pixel|: of the first one, within the part. */
static void emit_tile_range(conv *c, const block *b, int64_t pixels, int64_t first, int64_t num,
                            int64_t first_pixel)
{
    qgc_emitter *e = c->e;
    qgc_loop loop = {.may_be_empty = true};
    if (!num)
        return;
    qgc_loop_begin(e, &loop, qgc_emit_limit(e, LLVMIntSGT, c->begin, first),
                   qgc_emit_limit(e, LLVMIntSLT, c->end, first + num), 1);
    LLVMValueRef pixel = qgc_emit_mul_const(e, loop.index, pixels);
    emit_tile(c, b, (uint32_t)pixels,
              LLVMBuildAdd(e->builder, pixel, qgc_emit_i64(e, first_pixel - first * pixels), ""),
              count_units(c, loop.index));
    qgc_loop_end(e, &loop);
}

/* Tiles of one row, [first pixel, first pixel + num * pixels). */
static void emit_row_tiles(conv *c, const block *b, int64_t first_pixel, int64_t pixels,
                           int64_t num)
{
    qgc_emitter *e = c->e;
    qgc_loop loop = {0};
    if (!num)
        return;
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, first_pixel),
                   qgc_emit_i64(e, first_pixel + num * pixels), pixels);
    LLVMValueRef index = LLVMBuildUDiv(e->builder, loop.index, qgc_emit_i64(e, pixels), "");
    emit_tile(c, b, (uint32_t)pixels, loop.index, LLVMBuildAdd(e->builder, c->row_tile, index, ""));
    qgc_loop_end(e, &loop);
}

/* Units are rows of all images; within one, pixels are a constant apart. */
static void emit_by_row(conv *c, const block *b, const qgc_conv_part *p, int64_t unit)
{
    qgc_emitter *e = c->e;
    const part *all = b->part;
    part r = *all;
    block inner = *b;
    conv at = *c;
    qgc_loop loop = {.may_be_empty = true};
    qgc_loop_begin(e, &loop, qgc_emit_limit(e, LLVMIntSGT, c->begin, unit),
                   qgc_emit_limit(e, LLVMIntSLT, c->end, unit + p->units), 1);
    LLVMValueRef image = NULL, height = qgc_emit_i64(e, p->rows);
    LLVMValueRef row = LLVMBuildSub(e->builder, loop.index, qgc_emit_i64(e, unit), "");
    if (c->k->images > 1) {
        image = LLVMBuildUDiv(e->builder, row, height, "");
        row = LLVMBuildURem(e->builder, row, height, "");
    }
    at.row_tile = qgc_emit_mul_const(e, count_units(c, loop.index), p->tiles);
    if (c->in)
        at.in = qgc_emit_row_address(e, &all->in, c->in, image, row);
    if (c->wide)
        at.wide = qgc_emit_row_address(e, &all->wide, c->wide, image, row);
    at.out = qgc_emit_row_address(e, &all->out, c->out, image, row);
    if (c->addend)
        at.addend = qgc_emit_row_address(e, &all->addend, c->addend, image, row);
    r.map = (qgc_emit_image){1, 1, p->columns};
    r.in.first = r.out.first = r.addend.first = r.wide.first = 0;
    inner.part = &r;
    balance l = get_balance(p->columns, p->tiles);
    emit_row_tiles(&at, &inner, 0, l.small + 1, l.num_large);
    emit_row_tiles(&at, &inner, l.num_large * (l.small + 1), l.small, l.num_small);
    qgc_loop_end(e, &loop);
}

/* Units are tiles of the part's pixels as they come, across rows. */
static void emit_across(conv *c, const block *b, const qgc_conv_part *p, int64_t unit)
{
    balance l = get_balance(c->k->images * p->rows * p->columns, p->tiles);
    emit_tile_range(c, b, l.small + 1, unit, l.num_large, 0);
    emit_tile_range(c, b, l.small, unit + l.num_large, l.num_small, l.num_large * (l.small + 1));
}

static qgc_pixels part_pixels(const qgc_conv_part *p, qgc_pixels pixels)
{
    pixels.first += p->first_row * pixels.row + p->first_column * pixels.pixel;
    return pixels;
}

/* The same places where elements are i16. */
static qgc_pixels widened_pixels(qgc_pixels pixels)
{
    return (qgc_pixels){.first = 2 * pixels.first,
                        .image = 2 * pixels.image,
                        .row = 2 * pixels.row,
                        .pixel = 2 * pixels.pixel};
}

/* The tiles [begin, end) of one block. */
static void emit_tiles(conv *c, const block *whole)
{
    const qgc_conv_kernel *k = c->k;
    int64_t unit = 0, starts = padded_channels(c) * k->groups * 4;
    for (uint32_t i = 0; i < k->num_parts; i++) {
        const qgc_conv_part *p = &k->parts[i];
        part r = {.first_run = p->first_run,
                  .end_run = p->end_run,
                  .first_step = p->first_step,
                  .end_step = p->end_step,
                  .start = i * starts,
                  .map = {k->images, p->rows, p->columns},
                  .in = part_pixels(p, k->in),
                  .wide = widened_pixels(part_pixels(p, k->in)),
                  .out = part_pixels(p, k->out),
                  .addend = part_pixels(p, k->addend)};
        block b = *whole;
        b.part = &r;
        if (p->by_row)
            emit_by_row(c, &b, p, unit);
        else
            emit_across(c, &b, p, unit);
        unit += p->units;
    }
}

/* |index|: of the block. Tiles are counted from its first one: begin may lie before it, end behind
 * its last one. */
static void emit_block(const conv *c, const block *b, LLVMValueRef index)
{
    qgc_emitter *e = c->e;
    conv at = *c;
    if (c->k->by_block) {
        LLVMValueRef first = qgc_emit_mul_const(e, index, qgc_conv_tiles(c->k));
        at.begin = LLVMBuildSub(e->builder, c->begin, first, "");
        at.end = LLVMBuildSub(e->builder, c->end, first, "");
    }
    emit_tiles(&at, b);
}

static void emit_blocks(conv *c)
{
    qgc_emitter *e = c->e;
    const qgc_conv_kernel *k = c->k;
    int64_t block_channels = (int64_t)k->tile_vectors * c->lanes;
    int64_t whole = k->out_c / block_channels, rest = k->out_c % block_channels;
    int64_t list_bytes = 4 * qgc_conv_list_size(k);
    if (whole) {
        qgc_loop loop = {.carried = {c->weights, c->steps}, .num_carried = c->steps ? 2 : 1};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole * block_channels),
                       block_channels);
        block b = {k->tile_vectors, NULL,
                   block_channels,  loop.carried[0],
                   loop.carried[1], qgc_emit_mul_const(e, loop.index, 4),
                   loop.index};
        LLVMValueRef size = qgc_emit_i64(e, block_channels);
        emit_block(c, &b,
                   k->by_block ? LLVMBuildExactUDiv(e->builder, loop.index, size, "") : NULL);
        loop.carried[0] = qgc_emit_at_const(e, loop.phis[0], block_bytes(c, k->tile_vectors));
        if (c->steps)
            loop.carried[1] = qgc_emit_at_const(e, loop.phis[1], list_bytes);
        qgc_loop_end(e, &loop);
    }
    if (rest) {
        int64_t first = whole * block_channels;
        block b = {(uint32_t)((rest + c->lanes - 1) / c->lanes),
                   NULL,
                   rest,
                   qgc_emit_at_const(e, c->weights, whole * block_bytes(c, k->tile_vectors)),
                   c->steps ? qgc_emit_at_const(e, c->steps, whole * list_bytes) : NULL,
                   qgc_emit_i64(e, first * 4),
                   qgc_emit_i64(e, first)};
        emit_block(c, &b, qgc_emit_i64(e, whole));
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
    int64_t padded = padded_channels(c), block = k->tile_vectors * (int64_t)c->lanes;
    int64_t blocks = (padded + block - 1) / block;
    LLVMValueRef in_bytes = qgc_emit_mul_const(e, loop.index, k->group_bytes);
    LLVMValueRef out_bytes = qgc_emit_mul_const(e, loop.index, k->out_c);
    LLVMValueRef out_channels = out_offset(c, out_bytes);
    LLVMValueRef list_bytes = qgc_emit_mul_const(e, loop.index, padded * 4);
    g.in = c->in ? qgc_emit_at(e, c->in, in_bytes) : NULL;
    if (c->wide)
        g.wide = qgc_emit_at(e, c->wide, qgc_emit_mul_const(e, in_bytes, 2));
    if (c->steps)
        g.steps = qgc_emit_at(
            e, c->steps, qgc_emit_mul_const(e, loop.index, 4 * qgc_conv_list_size(k) * blocks));
    g.out = qgc_emit_at(e, c->out, out_channels);
    g.addend = c->addend ? qgc_emit_at(e, c->addend, out_bytes) : NULL;
    g.weights = qgc_emit_at(
        e, c->weights, qgc_emit_mul_const(e, loop.index, block_bytes(c, 1) * (padded / c->lanes)));
    g.start = qgc_emit_at(e, c->start, list_bytes);
    g.multipliers = qgc_emit_at(e, c->multipliers, list_bytes);
    g.bias = qgc_emit_at(e, c->bias, list_bytes);
    g.addend_multipliers = qgc_emit_at(e, c->addend_multipliers, list_bytes);
    g.weight_sums = c->zero_point ? qgc_emit_at(e, c->weight_sums, list_bytes) : NULL;
    emit_blocks(&g);
    qgc_loop_end(e, &loop);
}

void qgc_emit_conv(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_conv_kernel *k = (const qgc_conv_kernel *)kernel;
    const qgc_conv_pairs *pairs = &k->pairs;
    uint32_t last = k->epilogue.has_addend || k->zero_point_is_input ? 2 : 1;
    bool reads_bytes = pairs->has_bytes || !pairs->is_wide;
    conv c = {
        .e = e,
        .k = k,
        .in = reads_bytes ? qgc_emit_argument(e, args.in, 0) : NULL,
        .out = qgc_emit_argument(e, args.out, 0),
        .addend = k->epilogue.has_addend ? qgc_emit_argument(e, args.in, 1) : NULL,
        .wide = pairs->is_wide ? qgc_emit_argument(e, args.in, reads_bytes ? last : 0) : NULL,
        .steps = pairs->is_listed ? qgc_emit_argument(e, args.constants, QGC_CONV_STEPS) : NULL,
        .weights = qgc_emit_argument(e, args.constants, QGC_CONV_WEIGHTS),
        .start = qgc_emit_argument(e, args.constants, QGC_CONV_START),
        .multipliers = qgc_emit_argument(e, args.constants, QGC_CONV_MULTIPLIERS),
        .bias = qgc_emit_argument(e, args.constants, QGC_CONV_BIAS),
        .addend_multipliers = qgc_emit_argument(e, args.constants, QGC_CONV_ADDEND_MULTIPLIERS),
        .begin = args.begin,
        .end = args.end,
        .lanes = e->level->lanes};
    if (k->zero_point_is_input) {
        LLVMValueRef at = qgc_emit_argument(e, args.in, 1);
        c.weight_sums = qgc_emit_argument(e, args.constants, QGC_CONV_WEIGHT_SUMS);
        c.zero_point = qgc_emit_splat(e, qgc_emit_load(e, e->i32, at, 4), c.lanes);
    }
    emit_groups(&c);
    LLVMBuildRetVoid(e->builder);
}
