/* Float convolution, linear and matmul: for block of channels: for row: for tile of pixels: for
 * kernel row: for kernel column: for channel: acc[p][v] = fma(x[p], w[v], acc[p][v]).
 *
 * Each sum is one chain in the defined order; tiles only put chains side by side. Pixels at the
 * left and right border take the taps in bounds, one pixel at a time. */
#include "codegen/llvm/emit.h"

enum { MAX_PIXELS = 8, MAX_VECTORS = 4 };

typedef struct chain {
    qgc_emitter *e;
    const qgc_chain_kernel *k;
    LLVMValueRef in, w, out;          /* of the row; w: of the block */
    LLVMValueRef bias;                /* of the block */
    LLVMValueRef rows[2], columns[2]; /* lists of taps: first, end */
    LLVMValueRef row_taps[2];         /* of the row */
    uint32_t lanes, vectors;          /* of the block */
    int64_t num;                      /* its channels */
} chain;

typedef struct tile {
    uint32_t pixels;
    LLVMValueRef in;         /* first tap of its first pixel */
    LLVMValueRef columns[2]; /* taps in bounds; NULL: all */
} tile;

/* ---- loads ---- */

static LLVMValueRef vector_at(chain *c, LLVMValueRef base, uint32_t v)
{
    qgc_emitter *e = c->e;
    LLVMValueRef at = qgc_emit_at_const(e, base, (int64_t)v * c->lanes * 4);
    int64_t left = c->num - (int64_t)v * c->lanes;
    if (!c->k->w_is_input || left >= c->lanes)
        return qgc_emit_load(e, e->vf32, at, 4);
    LLVMValueRef bits[16];
    for (uint32_t i = 0; i < c->lanes; i++)
        bits[i] = LLVMConstInt(LLVMInt1TypeInContext(e->context), i < left, false);
    LLVMTypeRef overloads[] = {e->vf32, e->ptr};
    LLVMValueRef args[] = {at, qgc_emit_i32(e, 4), LLVMConstVector(bits, c->lanes),
                           LLVMConstNull(e->vf32)};
    return qgc_emit_intrinsic(e, "llvm.masked.load", overloads, 2, args, 4);
}

static LLVMValueRef fma_of(chain *c, LLVMValueRef x, LLVMValueRef w, LLVMValueRef acc)
{
    LLVMValueRef args[] = {x, w, acc};
    return qgc_emit_intrinsic(c->e, "llvm.fma", &c->e->vf32, 1, args, 3);
}

/* ---- chains ---- */

/* One channel of one tap. */
static void emit_channel(chain *c, const tile *t, LLVMValueRef in, LLVMValueRef w,
                         LLVMValueRef *acc)
{
    qgc_emitter *e = c->e;
    LLVMValueRef weights[MAX_VECTORS];
    for (uint32_t v = 0; v < c->vectors; v++)
        weights[v] = vector_at(c, w, v);
    for (uint32_t p = 0; p < t->pixels; p++) {
        LLVMValueRef at = qgc_emit_at_const(e, in, p * c->k->in.pixel), x = NULL;
        if (!c->k->is_depthwise)
            x = qgc_emit_splat(e, qgc_emit_load(e, e->f32, at, 4), c->lanes);
        for (uint32_t v = 0; v < c->vectors; v++, acc++) {
            if (c->k->is_depthwise)
                x = qgc_emit_load(e, e->vf32, qgc_emit_at_const(e, at, (int64_t)v * c->lanes * 4),
                                  4);
            *acc = fma_of(c, x, weights[v], *acc);
        }
    }
}

static void emit_tap(chain *c, const tile *t, LLVMValueRef in, LLVMValueRef w, LLVMValueRef *acc)
{
    qgc_emitter *e = c->e;
    int64_t channels = c->k->channels, unroll = channels % 4 == 0 ? 4 : channels % 2 == 0 ? 2 : 1;
    if (channels <= 4) {
        for (int64_t i = 0; i < channels; i++)
            emit_channel(c, t, qgc_emit_at_const(e, in, 4 * i),
                         qgc_emit_at_const(e, w, c->k->w_row * i), acc);
        return;
    }
    uint32_t num = t->pixels * c->vectors;
    qgc_loop loop = {.num_carried = num};
    for (uint32_t i = 0; i < num; i++)
        loop.carried[i] = acc[i];
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, channels), unroll);
    in = qgc_emit_at(e, in, qgc_emit_mul_const(e, loop.index, 4));
    w = qgc_emit_at(e, w, qgc_emit_mul_const(e, loop.index, c->k->w_row));
    for (int64_t u = 0; u < unroll; u++)
        emit_channel(c, t, qgc_emit_at_const(e, in, 4 * u),
                     qgc_emit_at_const(e, w, c->k->w_row * u), loop.carried);
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < num; i++)
        acc[i] = loop.carried[i];
}

/* Taps [first, end) of one dimension, |in_step| and |w_step| bytes apart; inside of them |inner|.
 */
typedef void tap_fn(chain *c, const tile *t, LLVMValueRef in, LLVMValueRef w, LLVMValueRef *acc);

static void emit_taps(chain *c, const tile *t, LLVMValueRef const *range, int64_t in_step,
                      int64_t w_step, LLVMValueRef in, LLVMValueRef w, LLVMValueRef *acc,
                      tap_fn *inner)
{
    qgc_emitter *e = c->e;
    uint32_t num = t->pixels * c->vectors;
    qgc_loop loop = {.num_carried = num};
    for (uint32_t i = 0; i < num; i++)
        loop.carried[i] = acc[i];
    qgc_loop_begin(e, &loop, range[0], range[1], 1);
    in = qgc_emit_at(e, in, qgc_emit_mul_const(e, loop.index, in_step));
    w = qgc_emit_at(e, w, qgc_emit_mul_const(e, loop.index, w_step));
    inner(c, t, in, w, loop.carried);
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < num; i++)
        acc[i] = loop.carried[i];
}

static void emit_kernel_row(chain *c, const tile *t, LLVMValueRef in, LLVMValueRef w,
                            LLVMValueRef *acc)
{
    const qgc_chain_kernel *k = c->k;
    LLVMValueRef all[] = {qgc_emit_i64(c->e, 0), qgc_emit_i64(c->e, k->kernel_w)};
    if (k->kernel_w == 1)
        emit_tap(c, t, in, w, acc);
    else
        emit_taps(c, t, t->columns[0] ? t->columns : all, k->tap_column, k->channels * k->w_row, in,
                  w, acc, emit_tap);
}

static void emit_window(chain *c, const tile *t, LLVMValueRef *acc)
{
    const qgc_chain_kernel *k = c->k;
    if (k->kernel_h == 1)
        emit_kernel_row(c, t, t->in, c->w, acc);
    else
        emit_taps(c, t, c->row_taps, k->tap_row, k->kernel_w * k->channels * k->w_row, t->in, c->w,
                  acc, emit_kernel_row);
}

/* ---- tiles ---- */

static void emit_tile(chain *c, tile *t, LLVMValueRef x)
{
    qgc_emitter *e = c->e;
    LLVMValueRef acc[MAX_PIXELS * MAX_VECTORS];
    for (uint32_t v = 0; v < c->vectors; v++) {
        LLVMValueRef start = LLVMConstNull(e->vf32);
        if (c->k->has_bias)
            start = qgc_emit_load(e, e->vf32,
                                  qgc_emit_at_const(e, c->bias, (int64_t)v * c->lanes * 4), 4);
        for (uint32_t p = 0; p < t->pixels; p++)
            acc[p * c->vectors + v] = start;
    }
    t->in = qgc_emit_at(e, c->in, qgc_emit_mul_const(e, x, c->k->in.pixel));
    emit_window(c, t, acc);
    LLVMValueRef out = qgc_emit_at(e, c->out, qgc_emit_mul_const(e, x, c->k->out.pixel));
    for (uint32_t i = 0; i < t->pixels * c->vectors; i++) {
        int64_t first = (int64_t)(i % c->vectors) * c->lanes;
        int64_t offset = i / c->vectors * c->k->out.pixel + first * 4;
        qgc_emit_store_part(e, LLVMBuildBitCast(e->builder, acc[i], e->vi32, ""), c->lanes,
                            c->num - first, qgc_emit_at_const(e, out, offset));
    }
}

static LLVMValueRef entry(chain *c, LLVMValueRef list, LLVMValueRef index)
{
    LLVMValueRef at = qgc_emit_at(c->e, list, qgc_emit_mul_const(c->e, index, 8));
    return qgc_emit_load(c->e, c->e->i64, at, 8);
}

static void emit_border(chain *c, int64_t first, int64_t end)
{
    if (first >= end)
        return;
    qgc_loop loop = {0};
    qgc_loop_begin(c->e, &loop, qgc_emit_i64(c->e, first), qgc_emit_i64(c->e, end), 1);
    tile t = {.pixels = 1};
    for (int i = 0; i < 2; i++)
        t.columns[i] = entry(c, c->columns[i], loop.index);
    emit_tile(c, &t, loop.index);
    qgc_loop_end(c->e, &loop);
}

static void emit_row(chain *c)
{
    const qgc_chain_kernel *k = c->k;
    int64_t rest = (k->inner_last - k->inner_first) % k->tile_pixels;
    int64_t whole_end = k->inner_last - rest;
    emit_border(c, 0, k->inner_first);
    if (whole_end > k->inner_first) {
        qgc_loop loop = {0};
        qgc_loop_begin(c->e, &loop, qgc_emit_i64(c->e, k->inner_first),
                       qgc_emit_i64(c->e, whole_end), k->tile_pixels);
        emit_tile(c, &(tile){.pixels = k->tile_pixels}, loop.index);
        qgc_loop_end(c->e, &loop);
    }
    if (rest)
        emit_tile(c, &(tile){.pixels = (uint32_t)rest}, qgc_emit_i64(c->e, whole_end));
    emit_border(c, k->inner_last, k->out_w);
}

static LLVMValueRef row_address(qgc_emitter *e, const qgc_pixels *pixels, LLVMValueRef base,
                                LLVMValueRef image, LLVMValueRef row)
{
    base = qgc_emit_at_const(e, base, pixels->first);
    base = qgc_emit_at(e, base, qgc_emit_mul_const(e, image, pixels->image));
    return qgc_emit_at(e, base, qgc_emit_mul_const(e, row, pixels->row));
}

/* All rows of a block of channels from |channel|; |base|: addresses of the whole kernel's. */
static void emit_block(const chain *base, const qgc_kernel_args *args, LLVMValueRef channel,
                       uint32_t vectors, int64_t num)
{
    qgc_emitter *e = base->e;
    const qgc_chain_kernel *k = base->k;
    chain c = *base;
    LLVMValueRef bytes = qgc_emit_mul_const(e, channel, 4);
    c.vectors = vectors;
    c.num = num;
    c.bias = k->has_bias ? qgc_emit_at(e, base->bias, bytes) : NULL;
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, args->begin, args->end, 1);
    LLVMValueRef height = qgc_emit_i64(e, k->out_h);
    LLVMValueRef image = LLVMBuildUDiv(e->builder, loop.index, height, "");
    LLVMValueRef row = LLVMBuildURem(e->builder, loop.index, height, "");
    c.in = row_address(e, &k->in, base->in, image, row);
    if (k->is_depthwise)
        c.in = qgc_emit_at(e, c.in, bytes);
    c.out = qgc_emit_at(e, row_address(e, &k->out, base->out, image, row), bytes);
    c.w = qgc_emit_at(e, base->w, bytes);
    c.w = qgc_emit_at(e, c.w, qgc_emit_mul_const(e, image, k->w_image));
    if (k->kernel_h > 1)
        for (int i = 0; i < 2; i++)
            c.row_taps[i] = entry(&c, c.rows[i], row);
    emit_row(&c);
    qgc_loop_end(e, &loop);
}

static void emit_blocks(const chain *c, const qgc_kernel_args *args)
{
    qgc_emitter *e = c->e;
    const qgc_chain_kernel *k = c->k;
    int64_t block = (int64_t)k->tile_vectors * c->lanes, rest = k->out_c % block;
    if (k->out_c > rest) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->out_c - rest), block);
        emit_block(c, args, loop.index, k->tile_vectors, block);
        qgc_loop_end(e, &loop);
    }
    if (rest)
        emit_block(c, args, qgc_emit_i64(e, k->out_c - rest),
                   (uint32_t)((rest + c->lanes - 1) / c->lanes), rest);
}

static void emit_groups(const chain *c, const qgc_kernel_args *args)
{
    qgc_emitter *e = c->e;
    const qgc_chain_kernel *k = c->k;
    if (k->groups == 1) {
        emit_blocks(c, args);
        return;
    }
    chain g = *c;
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->groups), 1);
    int64_t taps = k->kernel_h * k->kernel_w;
    g.in = qgc_emit_at(e, c->in, qgc_emit_mul_const(e, loop.index, k->channels * 4));
    g.out = qgc_emit_at(e, c->out, qgc_emit_mul_const(e, loop.index, k->out_c * 4));
    g.w = qgc_emit_at(e, c->w, qgc_emit_mul_const(e, loop.index, taps * k->channels * k->w_row));
    if (k->has_bias)
        g.bias = qgc_emit_at(e, c->bias, qgc_emit_mul_const(e, loop.index, k->w_row));
    emit_blocks(&g, args);
    qgc_loop_end(e, &loop);
}

void qgc_emit_chain(qgc_emitter *e, const qgc_kernel *kernel)
{
    const qgc_chain_kernel *k = (const qgc_chain_kernel *)kernel;
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    chain c = {.e = e, .k = k, .lanes = e->level->lanes};
    c.in = qgc_emit_argument(e, args.in, 0);
    c.out = qgc_emit_argument(e, args.out, 0);
    c.w = k->w_is_input ? qgc_emit_argument(e, args.in, 1)
                        : qgc_emit_argument(e, args.constants, QGC_CHAIN_WEIGHTS);
    c.bias = qgc_emit_argument(e, args.constants, QGC_CHAIN_BIAS);
    for (uint32_t i = 0; i < 2; i++) {
        c.rows[i] = qgc_emit_argument(e, args.constants, QGC_CHAIN_ROW_FIRST + i);
        c.columns[i] = qgc_emit_argument(e, args.constants, QGC_CHAIN_COLUMN_FIRST + i);
    }
    emit_groups(&c, &args);
    LLVMBuildRetVoid(e->builder);
}
