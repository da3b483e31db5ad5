/* Dense convolution, linear and matmul: register tiles of pixels x vectors of output channels.
 *
 * for block of channels: for row: for tile of pixels: for run: for step: acc[p][v] += dot4(a[p],
 * w[v])
 *
 * a[p] is four input bytes broadcast to all lanes, w[v] the four weights of each lane's channel.
 * The tile sizes keep accumulators, weights and one broadcast within the registers
 * (docs/codegen.md). */
#include "codegen/llvm/emit.h"

enum { MAX_PIXELS = 8, MAX_VECTORS = 4 };

typedef struct conv {
    qgc_emitter *e;
    const qgc_conv_kernel *k;
    LLVMValueRef in, out, weights, start, multipliers, bias, row_begin, row_end;
    uint32_t lanes;
} conv;

/* One block shape and the tile within it. */
typedef struct block {
    uint32_t vectors;
    int64_t channels; /* stored; fewer than vectors * lanes in the last block */
} block;

/* acc + sum of four u8 * s8 products per lane. */
static LLVMValueRef emit_dot(conv *c, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef w)
{
    qgc_emitter *e = c->e;
    LLVMValueRef args[] = {acc, a, w};
    if (e->level->dot == QGC_DOT_VNNI512)
        return qgc_emit_intrinsic(e, "llvm.x86.avx512.vpdpbusd.512", NULL, 0, args, 3);
    if (e->level->dot == QGC_DOT_VNNI256)
        return qgc_emit_intrinsic(e, "llvm.x86.avx512.vpdpbusd.256", NULL, 0, args, 3);
    /* Widened: even and odd bytes as i16 pairs; u8 * s8 fits i16 * i16 -> i32 exactly. */
    uint32_t halves = c->lanes * 2;
    LLVMTypeRef vi16 = LLVMVectorType(e->i16, halves);
    LLVMValueRef a16 = LLVMBuildBitCast(e->builder, a, vi16, "");
    LLVMValueRef w16 = LLVMBuildBitCast(e->builder, w, vi16, "");
    LLVMValueRef eight = qgc_emit_splat(e, LLVMConstInt(e->i16, 8, false), halves);
    LLVMValueRef low_byte = qgc_emit_splat(e, LLVMConstInt(e->i16, 255, false), halves);
    LLVMValueRef a_even = LLVMBuildAnd(e->builder, a16, low_byte, "");
    LLVMValueRef a_odd = LLVMBuildLShr(e->builder, a16, eight, "");
    LLVMValueRef w_odd = LLVMBuildAShr(e->builder, w16, eight, "");
    LLVMValueRef w_even =
        LLVMBuildAShr(e->builder, LLVMBuildShl(e->builder, w16, eight, ""), eight, "");
    const char *madd = c->lanes == 4   ? "llvm.x86.sse2.pmadd.wd"
                       : c->lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                       : "llvm.x86.avx512.pmaddw.d.512";
    LLVMValueRef even_args[] = {a_even, w_even}, odd_args[] = {a_odd, w_odd};
    LLVMValueRef even = qgc_emit_intrinsic(e, madd, NULL, 0, even_args, 2);
    LLVMValueRef odd = qgc_emit_intrinsic(e, madd, NULL, 0, odd_args, 2);
    return LLVMBuildAdd(e->builder, acc, LLVMBuildAdd(e->builder, even, odd, ""), "");
}

/* One 4-byte step of a run for all pixels of the tile. */
static void emit_step(conv *c, const block *b, uint32_t pixels, LLVMValueRef a_base,
                      LLVMValueRef w_base, LLVMValueRef *acc)
{
    qgc_emitter *e = c->e;
    LLVMValueRef w[MAX_VECTORS];
    for (uint32_t v = 0; v < b->vectors; v++) {
        LLVMValueRef at = qgc_emit_at_const(e, w_base, (int64_t)v * c->lanes * 4);
        w[v] = qgc_emit_load(e, e->vi32, at, 4 * c->lanes);
    }
    for (uint32_t p = 0; p < pixels; p++) {
        LLVMValueRef at = qgc_emit_at_const(e, a_base, (int64_t)p * c->k->in_pixel);
        LLVMValueRef a = qgc_emit_splat(e, qgc_emit_load(e, e->i32, at, 1), c->lanes);
        for (uint32_t v = 0; v < b->vectors; v++)
            acc[p * b->vectors + v] = emit_dot(c, acc[p * b->vectors + v], a, w[v]);
    }
}

static void emit_run(conv *c, const block *b, uint32_t pixels, LLVMValueRef a_run,
                     LLVMValueRef w_run, LLVMValueRef *acc)
{
    qgc_emitter *e = c->e;
    uint32_t num = pixels * b->vectors;
    int64_t step_bytes = (int64_t)b->vectors * c->lanes * 4, steps = c->k->run_steps;
    int64_t unroll = steps >= 2 ? 2 : 1, whole = steps / unroll * unroll;
    qgc_loop loop = {.num_carried = num};
    for (uint32_t i = 0; i < num; i++)
        loop.carried[i] = acc[i];
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), unroll);
    LLVMValueRef a = qgc_emit_at(e, a_run, qgc_emit_mul_const(e, loop.index, 4));
    LLVMValueRef w = qgc_emit_at(e, w_run, qgc_emit_mul_const(e, loop.index, step_bytes));
    for (int64_t u = 0; u < unroll; u++)
        emit_step(c, b, pixels, qgc_emit_at_const(e, a, 4 * u),
                  qgc_emit_at_const(e, w, step_bytes * u), loop.carried);
    qgc_loop_end(e, &loop);
    for (uint32_t i = 0; i < num; i++)
        acc[i] = loop.carried[i];
    for (int64_t s = whole; s < steps; s++)
        emit_step(c, b, pixels, qgc_emit_at_const(e, a_run, 4 * s),
                  qgc_emit_at_const(e, w_run, step_bytes * s), acc);
}

/* clamp(rne(f32(acc) * m + bias) + zp, lo, hi): the clamp comes first, on floats, which is the same
 * for integer bounds and never overflows the conversion. */
static LLVMValueRef emit_epilogue(conv *c, LLVMValueRef acc, LLVMValueRef m, LLVMValueRef bias)
{
    qgc_emitter *e = c->e;
    const qgc_epilogue *p = &c->k->epilogue;
    LLVMValueRef f = LLVMBuildSIToFP(e->builder, acc, e->vf32, "");
    f = LLVMBuildFMul(e->builder, f, m, "");
    if (bias)
        f = LLVMBuildFAdd(e->builder, f, bias, "");
    LLVMValueRef lo = qgc_emit_splat(e, qgc_emit_f32(e, (float)(p->lo - p->zero_point)), c->lanes);
    LLVMValueRef hi = qgc_emit_splat(e, qgc_emit_f32(e, (float)(p->hi - p->zero_point)), c->lanes);
    LLVMValueRef low_args[] = {f, lo};
    f = qgc_emit_intrinsic(e, "llvm.maxnum", &e->vf32, 1, low_args, 2);
    LLVMValueRef high_args[] = {f, hi};
    f = qgc_emit_intrinsic(e, "llvm.minnum", &e->vf32, 1, high_args, 2);
    f = qgc_emit_intrinsic(e, "llvm.rint", &e->vf32, 1, &f, 1);
    LLVMValueRef i = LLVMBuildFPToSI(e->builder, f, e->vi32, "");
    LLVMValueRef zp = qgc_emit_splat(e, qgc_emit_i32(e, p->zero_point), c->lanes);
    return LLVMBuildTrunc(e->builder, LLVMBuildAdd(e->builder, i, zp, ""), e->vi8, "");
}

static void emit_masked_store(conv *c, LLVMValueRef value, LLVMValueRef address, int64_t channels)
{
    qgc_emitter *e = c->e;
    LLVMTypeRef i1 = LLVMInt1TypeInContext(e->context);
    LLVMValueRef bits[64];
    for (uint32_t i = 0; i < c->lanes; i++)
        bits[i] = LLVMConstInt(i1, i < channels, false);
    if (c->lanes >= 16) {
        LLVMTypeRef overloads[] = {e->vi8, e->ptr};
        LLVMValueRef args[] = {value, address, qgc_emit_i32(e, 1), LLVMConstVector(bits, c->lanes)};
        qgc_emit_intrinsic(e, "llvm.masked.store", overloads, 2, args, 4);
        return;
    }
    for (int64_t i = 0; i < channels; i++) {
        LLVMValueRef byte =
            LLVMBuildExtractElement(e->builder, value, qgc_emit_i32(e, (int32_t)i), "");
        qgc_emit_store(e, byte, qgc_emit_at_const(e, address, i), 1);
    }
}

static void emit_stores(conv *c, const block *b, uint32_t pixels, LLVMValueRef channel,
                        LLVMValueRef out, LLVMValueRef *acc)
{
    qgc_emitter *e = c->e;
    LLVMValueRef offset = qgc_emit_mul_const(e, channel, 4);
    for (uint32_t v = 0; v < b->vectors; v++) {
        int64_t left = b->channels - (int64_t)v * c->lanes;
        if (left <= 0)
            break;
        int64_t first = (int64_t)v * c->lanes * 4;
        LLVMValueRef m = qgc_emit_load(
            e, e->vf32, qgc_emit_at_const(e, qgc_emit_at(e, c->multipliers, offset), first), 4);
        LLVMValueRef bias =
            c->k->epilogue.has_bias
                ? qgc_emit_load(e, e->vf32,
                                qgc_emit_at_const(e, qgc_emit_at(e, c->bias, offset), first), 4)
                : NULL;
        for (uint32_t p = 0; p < pixels; p++) {
            LLVMValueRef value = emit_epilogue(c, acc[p * b->vectors + v], m, bias);
            LLVMValueRef at =
                qgc_emit_at_const(e, out, (int64_t)p * c->k->out_pixel + (int64_t)v * c->lanes);
            if (left >= (int64_t)c->lanes)
                qgc_emit_store(e, value, at, 1);
            else
                emit_masked_store(c, value, at, left);
        }
    }
}

/* A tile: |in| and |out| point at its first pixel. */
static void emit_tile(conv *c, const block *b, uint32_t pixels, LLVMValueRef channel,
                      LLVMValueRef w_block, LLVMValueRef in, LLVMValueRef out)
{
    qgc_emitter *e = c->e;
    LLVMValueRef acc[MAX_PIXELS * MAX_VECTORS];
    LLVMValueRef start = qgc_emit_at(e, c->start, qgc_emit_mul_const(e, channel, 4));
    for (uint32_t v = 0; v < b->vectors; v++) {
        LLVMValueRef at = qgc_emit_at_const(e, start, (int64_t)v * c->lanes * 4);
        LLVMValueRef first = qgc_emit_load(e, e->vi32, at, 4);
        for (uint32_t p = 0; p < pixels; p++)
            acc[p * b->vectors + v] = first;
    }
    int64_t run_bytes = c->k->run_steps * (int64_t)b->vectors * c->lanes * 4;
    for (int64_t r = 0; r < c->k->num_runs; r++)
        emit_run(c, b, pixels, qgc_emit_at_const(e, in, c->k->run_offsets[r]),
                 qgc_emit_at_const(e, w_block, run_bytes * r), acc);
    emit_stores(c, b, pixels, channel, out, acc);
}

/* |count| tiles of |pixels| pixels; in and out move along. */
static void emit_tiles(conv *c, const block *b, int64_t count, uint32_t pixels,
                       LLVMValueRef channel, LLVMValueRef w_block, LLVMValueRef *in,
                       LLVMValueRef *out)
{
    qgc_emitter *e = c->e;
    if (!count)
        return;
    qgc_loop loop = {.carried = {*in, *out}, .num_carried = 2};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, count), 1);
    emit_tile(c, b, pixels, channel, w_block, loop.carried[0], loop.carried[1]);
    loop.carried[0] = qgc_emit_at_const(e, loop.carried[0], pixels * c->k->in_pixel);
    loop.carried[1] = qgc_emit_at_const(e, loop.carried[1], pixels * c->k->out_pixel);
    LLVMValueRef next_in = loop.carried[0], next_out = loop.carried[1];
    qgc_loop_end(e, &loop);
    *in = next_in;
    *out = next_out;
}

/* All rows of one block of channels. Tiles are balanced: 14 pixels are 5 + 5 + 4, never 6 + 6 + 2.
 */
static void emit_rows(conv *c, const block *b, uint32_t most_pixels, LLVMValueRef channel,
                      LLVMValueRef w_block)
{
    qgc_emitter *e = c->e;
    int64_t tiles = (c->k->out_w + most_pixels - 1) / most_pixels;
    uint32_t small = (uint32_t)(c->k->out_w / tiles);
    int64_t large_tiles = c->k->out_w - small * tiles;
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, c->row_begin, c->row_end, 1);
    LLVMValueRef per_image = qgc_emit_i64(e, c->k->rows_per_image);
    LLVMValueRef image = LLVMBuildUDiv(e->builder, loop.index, per_image, "");
    LLVMValueRef row = LLVMBuildURem(e->builder, loop.index, per_image, "");
    LLVMValueRef in = qgc_emit_at(e, c->in, qgc_emit_mul_const(e, image, c->k->in_image));
    in = qgc_emit_at(e, in, qgc_emit_mul_const(e, row, c->k->in_row));
    LLVMValueRef out = qgc_emit_at(e, c->out, qgc_emit_mul_const(e, loop.index, c->k->out_row));
    out = qgc_emit_at(e, out, channel);
    emit_tiles(c, b, large_tiles, small + 1, channel, w_block, &in, &out);
    emit_tiles(c, b, tiles - large_tiles, small, channel, w_block, &in, &out);
    qgc_loop_end(e, &loop);
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
    block b = {k->tile_vectors, block_channels};
    if (whole) {
        qgc_loop loop = {.carried = {c->weights}, .num_carried = 1};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole * block_channels),
                       block_channels);
        emit_rows(c, &b, k->tile_pixels, loop.index, loop.carried[0]);
        loop.carried[0] = qgc_emit_at_const(e, loop.carried[0], block_bytes(c, k->tile_vectors));
        qgc_loop_end(e, &loop);
    }
    if (rest) {
        block last = {(uint32_t)((rest + c->lanes - 1) / c->lanes), rest};
        emit_rows(c, &last, k->tile_pixels, qgc_emit_i64(e, whole * block_channels),
                  qgc_emit_at_const(e, c->weights, whole * block_bytes(c, k->tile_vectors)));
    }
}

void qgc_emit_conv(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    conv c = {.e = e,
              .k = (const qgc_conv_kernel *)kernel,
              .in = qgc_emit_argument(e, args.in, 0),
              .out = qgc_emit_argument(e, args.out, 0),
              .weights = qgc_emit_argument(e, args.constants, QGC_CONV_WEIGHTS),
              .start = qgc_emit_argument(e, args.constants, QGC_CONV_START),
              .multipliers = qgc_emit_argument(e, args.constants, QGC_CONV_MULTIPLIERS),
              .bias = qgc_emit_argument(e, args.constants, QGC_CONV_BIAS),
              .row_begin = args.begin,
              .row_end = args.end,
              .lanes = e->level->lanes};
    emit_blocks(&c);
    LLVMBuildRetVoid(e->builder);
}
