/* Convolution in narrow groups: for chunk of channels: for block of rows: for tile of outputs: for
 * input row: for group of pixels: spread them over the lanes that take them, dot products for each
 * output. */
#include "codegen/llvm/emit.h"

enum { VECTORS = 4, MAX_OUTPUTS = 8 };

typedef struct depthwise {
    qgc_emitter *e;
    const qgc_depthwise_kernel *k;
    LLVMValueRef in, out, addend;
    LLVMValueRef weights, start, multipliers, bias, addend_multipliers; /* of the chunk */
    LLVMValueRef begin, end;                                            /* blocks of the chunk */
    uint32_t rows;                                                      /* of the block */
    uint32_t lanes;                                                     /* of the chunk's vectors */
    int64_t channels;                                                   /* of the chunk */
} depthwise;

/* Halves of |a| and |b| interleaved within each 16 bytes: punpckl, punpckh. */
static LLVMValueRef emit_unpack(qgc_emitter *e, LLVMValueRef a, LLVMValueRef b, bool high)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    uint32_t size = LLVMGetVectorSize(type);
    uint32_t per_lane = 128 / LLVMGetIntTypeWidth(LLVMGetElementType(type));
    LLVMValueRef indices[64];
    for (uint32_t i = 0; i < size; i++) {
        uint32_t from = i / per_lane * per_lane + (high ? per_lane / 2 : 0) + i % per_lane / 2;
        indices[i] = qgc_emit_i32(e, (int32_t)(from + (i % 2 ? size : 0)));
    }
    return LLVMBuildShuffleVector(e->builder, a, b, LLVMConstVector(indices, size), "");
}

/* Four pixels to four vectors whose lanes hold the pixels of a channel. */
static void emit_interleave(qgc_emitter *e, uint32_t lanes, LLVMValueRef *pixels, LLVMValueRef *out)
{
    LLVMTypeRef words = LLVMVectorType(e->i16, 2 * lanes), sums = LLVMVectorType(e->i32, lanes);
    for (uint32_t high = 0; high < 2; high++) {
        LLVMValueRef a =
            LLVMBuildBitCast(e->builder, emit_unpack(e, pixels[0], pixels[1], high), words, "");
        LLVMValueRef b =
            LLVMBuildBitCast(e->builder, emit_unpack(e, pixels[2], pixels[3], high), words, "");
        for (uint32_t i = 0; i < 2; i++)
            out[2 * high + i] = LLVMBuildBitCast(e->builder, emit_unpack(e, a, b, i), sums, "");
    }
}

/* The four words of each 16 bytes of a pixel, each in all of their lanes. */
static void emit_words(qgc_emitter *e, uint32_t lanes, LLVMValueRef pixel, LLVMValueRef *out)
{
    LLVMValueRef indices[16];
    for (uint32_t word = 0; word < 4; word++) {
        for (uint32_t l = 0; l < lanes; l++)
            indices[l] = qgc_emit_i32(e, (int32_t)(l / 4 * 4 + word));
        out[word] = LLVMBuildShuffleVector(e->builder, pixel, LLVMGetPoison(LLVMTypeOf(pixel)),
                                           LLVMConstVector(indices, lanes), "");
    }
}

/* Pixels that no output of the tile takes are not read: they may lie behind the buffer. */
static void emit_group(depthwise *d, uint32_t outputs, uint32_t group, LLVMValueRef in,
                       LLVMValueRef *x)
{
    qgc_emitter *e = d->e;
    int64_t needed = (outputs - 1) * d->k->stride + d->k->width;
    LLVMTypeRef bytes = LLVMVectorType(e->i8, 4 * d->lanes);
    LLVMValueRef pixels[4];
    qgc_emit_fence(e);
    if (d->k->pixels == 1) {
        LLVMValueRef at = qgc_emit_at_const(e, in, group * d->k->in.pixel);
        emit_words(e, d->lanes, qgc_emit_load(e, LLVMVectorType(e->i32, d->lanes), at, 1), x);
        return;
    }
    for (uint32_t b = 0; b < 4; b++) {
        int64_t pixel = 4 * (int64_t)group + b;
        pixels[b] =
            pixel < needed
                ? qgc_emit_load(e, bytes, qgc_emit_at_const(e, in, pixel * d->k->in.pixel), 1)
                : LLVMConstNull(bytes);
    }
    emit_interleave(e, d->lanes, pixels, x);
}

static int64_t row_weights(const depthwise *d)
{
    return qgc_depthwise_row_vectors(d->k) * d->lanes * 4;
}

/* A group of pixels into the sums of the outputs of one row that it meets. */
static void emit_dots(depthwise *d, uint32_t outputs, uint32_t group, LLVMValueRef weights,
                      const LLVMValueRef *x, LLVMValueRef *acc)
{
    qgc_emitter *e = d->e;
    const qgc_depthwise_kernel *k = d->k;
    LLVMTypeRef vector = LLVMVectorType(e->i32, d->lanes);
    uint32_t steps = qgc_depthwise_steps(k);
    for (uint32_t t = 0; t < outputs; t++)
        for (uint32_t i = 0; qgc_depthwise_meets(k, t, group) && i < steps * VECTORS; i++) {
            uint32_t v = i % VECTORS, word = v / steps * steps + i / VECTORS;
            int64_t at = (qgc_depthwise_vectors_before(k, t, group) + i) * d->lanes * 4;
            LLVMValueRef w = qgc_emit_load(e, vector, qgc_emit_at_const(e, weights, at), 16);
            LLVMValueRef *sum = &acc[t * VECTORS + v];
            *sum = qgc_emit_raw_dot(e, d->lanes, *sum, x[word], w);
        }
    if (e->level->arch == QGC_ARCH_AARCH64) /* else it loads all weights before the first product */
        qgc_emit_pin(e, acc, outputs * VECTORS);
}

static bool is_met(const qgc_depthwise_kernel *k, uint32_t outputs, uint32_t group)
{
    bool is_met = false;
    for (uint32_t t = 0; t < outputs; t++)
        is_met |= qgc_depthwise_meets(k, t, group);
    return is_met;
}

/* Input row |y| of a tile, at |in|, into the sums of all outputs. */
static void emit_input_row(depthwise *d, uint32_t outputs, int64_t y, LLVMValueRef in,
                           LLVMValueRef *acc)
{
    qgc_emitter *e = d->e;
    const qgc_depthwise_kernel *k = d->k;
    for (uint32_t g = 0; g < qgc_depthwise_groups(k, outputs); g++) {
        LLVMValueRef x[VECTORS];
        bool ready = !is_met(k, outputs, g);
        for (uint32_t row = 0; row < d->rows; row++) {
            int64_t kernel_row = qgc_depthwise_row(k, y, row);
            if (kernel_row < 0)
                continue;
            if (!ready)
                emit_group(d, outputs, g, in, x);
            ready = true;
            emit_dots(d, outputs, g, qgc_emit_at_const(e, d->weights, kernel_row * row_weights(d)),
                      x, acc + (size_t)row * outputs * VECTORS);
        }
    }
}

/* A kernel of many rows, for one row of outputs. */
static void emit_long_kernel(depthwise *d, uint32_t outputs, LLVMValueRef in, LLVMValueRef *acc)
{
    qgc_emitter *e = d->e;
    const qgc_depthwise_kernel *k = d->k;
    depthwise row = *d;
    qgc_loop loop = {.num_carried = outputs * VECTORS};
    for (uint32_t i = 0; i < loop.num_carried; i++)
        loop.carried[i] = acc[i];
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->kernel_h), 1);
    row.weights = qgc_emit_at(e, d->weights, qgc_emit_mul_const(e, loop.index, row_weights(d)));
    LLVMValueRef offset = qgc_emit_mul_const(e, loop.index, k->row_dilation * k->in.row);
    emit_input_row(&row, outputs, 0, qgc_emit_at(e, in, offset), loop.carried);
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < loop.num_carried; i++)
        acc[i] = loop.carried[i];
}

static void emit_kernel(depthwise *d, uint32_t outputs, LLVMValueRef in, LLVMValueRef *acc)
{
    if (qgc_depthwise_is_long(d->k)) {
        emit_long_kernel(d, outputs, in, acc);
        return;
    }
    for (int64_t y = 0; y < qgc_depthwise_span(d->k, d->rows); y++)
        emit_input_row(d, outputs, y, qgc_emit_at_const(d->e, in, y * d->k->in.row), acc);
}

/* The sums of |outputs| outputs of each row to bytes at |out|. */
static void emit_outputs(depthwise *d, uint32_t outputs, LLVMValueRef *acc, LLVMValueRef out,
                         LLVMValueRef addend)
{
    qgc_emitter *e = d->e;
    const qgc_depthwise_kernel *k = d->k;
    qgc_emit_channels channels = {.epilogue = &k->epilogue,
                                  .lanes = d->lanes,
                                  .vectors = VECTORS,
                                  .multipliers = d->multipliers,
                                  .bias = d->bias,
                                  .addend_multipliers = d->addend_multipliers};
    qgc_emit_place places[MAX_OUTPUTS] = {0};
    for (uint32_t i = 0; i < d->rows * outputs; i++) {
        int64_t row = i / outputs, t = i % outputs;
        places[i].out = qgc_emit_at_const(e, out, row * k->out.row + t * k->out.pixel);
        if (addend)
            places[i].addend =
                qgc_emit_at_const(e, addend, row * k->addend.row + t * k->addend.pixel);
    }
    qgc_emit_finish_tile(e, &channels, d->rows * outputs, acc, places, d->channels);
}

/* A tile; |x|: its first output's column. */
static void emit_tile(depthwise *d, uint32_t outputs, LLVMValueRef x, LLVMValueRef in,
                      LLVMValueRef out, LLVMValueRef addend)
{
    qgc_emitter *e = d->e;
    const qgc_depthwise_kernel *k = d->k;
    LLVMValueRef acc[MAX_OUTPUTS * VECTORS];
    LLVMTypeRef vector = LLVMVectorType(e->i32, d->lanes);
    for (uint32_t i = 0; i < d->rows * outputs * VECTORS; i++)
        acc[i] = qgc_emit_load(
            e, vector, qgc_emit_at_const(e, d->start, (int64_t)(i % VECTORS) * d->lanes * 4), 4);
    emit_kernel(d, outputs, qgc_emit_at(e, in, qgc_emit_mul_const(e, x, k->stride * k->in.pixel)),
                acc);
    out = qgc_emit_at(e, out, qgc_emit_mul_const(e, x, k->out.pixel));
    if (addend)
        addend = qgc_emit_at(e, addend, qgc_emit_mul_const(e, x, k->addend.pixel));
    emit_outputs(d, outputs, acc, out, addend);
}

/* A block of d->rows rows, the first of which is |row|. */
static void emit_block(depthwise *d, LLVMValueRef image, LLVMValueRef row)
{
    qgc_emitter *e = d->e;
    const qgc_depthwise_kernel *k = d->k;
    int64_t rest = k->out_w % k->outputs, whole = k->out_w - rest;
    qgc_pixels from = k->in;
    from.row *= k->row_stride;
    LLVMValueRef in = qgc_emit_row_address(e, &from, d->in, image, row);
    LLVMValueRef out = qgc_emit_row_address(e, &k->out, d->out, image, row);
    LLVMValueRef addend =
        d->addend ? qgc_emit_row_address(e, &k->addend, d->addend, image, row) : NULL;
    if (whole) {
        qgc_loop tiles = {0};
        qgc_loop_begin(e, &tiles, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), k->outputs);
        emit_tile(d, k->outputs, tiles.index, in, out, addend);
        qgc_loop_end(e, &tiles);
    }
    if (rest)
        emit_tile(d, (uint32_t)rest, qgc_emit_i64(e, whole), in, out, addend);
}

/* Full blocks are [0, whole * images), then comes one block of the rest per image. */
static void emit_rows(depthwise *d)
{
    qgc_emitter *e = d->e;
    const qgc_depthwise_kernel *k = d->k;
    int64_t whole = k->out_h / k->rows, rest = k->out_h % k->rows, num = whole * k->images;
    if (whole) {
        qgc_loop blocks = {.may_be_empty = true};
        qgc_loop_begin(e, &blocks, d->begin, qgc_emit_limit(e, LLVMIntSLT, d->end, num), 1);
        LLVMValueRef image = LLVMBuildUDiv(e->builder, blocks.index, qgc_emit_i64(e, whole), "");
        LLVMValueRef block = LLVMBuildURem(e->builder, blocks.index, qgc_emit_i64(e, whole), "");
        d->rows = k->rows;
        emit_block(d, image, qgc_emit_mul_const(e, block, k->rows));
        qgc_loop_end(e, &blocks);
    }
    if (rest) {
        qgc_loop blocks = {.may_be_empty = true};
        qgc_loop_begin(e, &blocks, qgc_emit_limit(e, LLVMIntSGT, d->begin, num), d->end, 1);
        LLVMValueRef image = LLVMBuildSub(e->builder, blocks.index, qgc_emit_i64(e, num), "");
        d->rows = (uint32_t)rest;
        emit_block(d, image, qgc_emit_i64(e, whole * k->rows));
        qgc_loop_end(e, &blocks);
    }
}

/* The first block whose unit of chunk |chunk| is not before |unit|. */
static LLVMValueRef emit_first_block(const depthwise *d, LLVMValueRef unit, LLVMValueRef chunk)
{
    qgc_emitter *e = d->e;
    int64_t chunks = qgc_depthwise_chunks(d->k, e->level->lanes);
    LLVMValueRef last = LLVMBuildSub(e->builder, qgc_emit_i64(e, chunks - 1), chunk, "");
    LLVMValueRef sum = LLVMBuildAdd(e->builder, unit, last, "");
    return LLVMBuildUDiv(e->builder, sum, qgc_emit_i64(e, chunks), "");
}

/* Those blocks of the chunk at |channel| that are units of this call; |base|: addresses and units
 * of the whole kernel. */
static void emit_chunk(const depthwise *base, LLVMValueRef channel, LLVMValueRef chunk,
                       uint32_t lanes, int64_t channels)
{
    qgc_emitter *e = base->e;
    depthwise d = *base;
    LLVMValueRef list = qgc_emit_mul_const(e, channel, 4);
    int64_t bytes = qgc_depthwise_row_vectors(d.k) * e->level->lanes * 4 * d.k->kernel_h;
    d.begin = emit_first_block(base, base->begin, chunk);
    d.end = emit_first_block(base, base->end, chunk);
    d.lanes = lanes;
    d.channels = channels;
    d.weights = qgc_emit_at(e, base->weights, qgc_emit_mul_const(e, chunk, bytes));
    d.in = qgc_emit_at(e, base->in, channel);
    d.out = qgc_emit_at(e, base->out, d.k->epilogue.is_raw ? list : channel);
    d.addend = base->addend ? qgc_emit_at(e, base->addend, channel) : NULL;
    d.start = qgc_emit_at(e, base->start, list);
    d.multipliers = qgc_emit_at(e, base->multipliers, list);
    d.bias = qgc_emit_at(e, base->bias, list);
    d.addend_multipliers = qgc_emit_at(e, base->addend_multipliers, list);
    emit_rows(&d);
}

static void emit_chunks(const depthwise *d)
{
    qgc_emitter *e = d->e;
    int64_t channels = d->k->channels, size = 4 * (int64_t)e->level->lanes;
    int64_t rest = channels % size, whole = channels - rest;
    if (whole) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), size);
        LLVMValueRef chunk = LLVMBuildUDiv(e->builder, loop.index, qgc_emit_i64(e, size), "");
        emit_chunk(d, loop.index, chunk, e->level->lanes, size);
        qgc_loop_end(e, &loop);
    }
    if (rest)
        emit_chunk(d, qgc_emit_i64(e, whole), qgc_emit_i64(e, whole / size),
                   qgc_chunk_lanes(rest, e->level->lanes), rest);
}

void qgc_emit_depthwise(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_depthwise_kernel *k = (const qgc_depthwise_kernel *)kernel;
    depthwise d = {.e = e,
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
                   .end = args.end};
    emit_chunks(&d);
    LLVMBuildRetVoid(e->builder);
}
