/* Float products of few pixels with many weights: for block of channels: for kernel plane and row:
 * for kernel column: for chunk of channels: for row: for tile of pixels: the chunk's products.
 *
 * A chunk's weights come from the L2 cache once, all pixels but the first find them in the L1.
 * Between chunks the sums wait on the stack. The chains are those of emit_chain.c. */
#include "codegen/llvm/emit_chain.h"

typedef qgc_chain_emitter chain;

LLVMValueRef qgc_emit_chain_sums(qgc_emitter *e, const qgc_chain_kernel *k)
{
    int64_t vectors = qgc_chain_rows(k) * k->out_w * k->tile_vectors;
    LLVMTypeRef type = LLVMArrayType2(e->vf32, (uint64_t)vectors);
    LLVMValueRef sums = LLVMBuildAlloca(e->builder, type, "sums");
    LLVMSetAlignment(sums, 4 * e->level->lanes);
    return sums;
}

/* Vector |v| of column |x| of the unit. */
static LLVMValueRef sum_at(const chain *c, LLVMValueRef x, uint32_t v)
{
    qgc_emitter *e = c->e;
    int64_t vector = (int64_t)c->lanes * 4, pixel = c->vectors * vector;
    LLVMValueRef row = qgc_emit_mul_const(e, c->unit, c->k->out_w * pixel);
    LLVMValueRef at = qgc_emit_at(e, qgc_emit_at(e, c->sums, row), qgc_emit_mul_const(e, x, pixel));
    return qgc_emit_at_const(e, at, v * vector);
}

static LLVMValueRef load_sum(const chain *c, LLVMValueRef x, uint32_t v)
{
    return qgc_emit_load(c->e, c->e->vf32, sum_at(c, x, v), 4 * c->lanes);
}

/* ---- a chunk ---- */

static void emit_tile(chain *c, qgc_chain_tile *t, LLVMValueRef x)
{
    enum {
        AHEAD = 64 << 10
    }; /* bytes: sooner than the L2 is asked, and not so soon that it forgot */
    qgc_emitter *e = c->e;
    qgc_chain_columns s = qgc_chain_pixels_of(c, t, c->chunk_column);
    LLVMValueRef acc[QGC_CHAIN_MAX_SUMS];
    uint32_t first = s.from * c->vectors, end = s.to * c->vectors;
    for (uint32_t i = first; i < end; i++)
        acc[i] = load_sum(c, x, i);
    if (first >= end)
        return;
    LLVMValueRef in = qgc_emit_at(e, c->in, qgc_emit_mul_const(e, x, c->k->in.pixel));
    qgc_emit_chain_next(c, t->pixels, x, c->k->chunk * c->w_row, AHEAD);
    qgc_emit_chain_run(c, t, &s, qgc_emit_at(e, in, c->chunk_tap), c->w, c->k->chunk, acc);
    for (uint32_t i = first; i < end; i++)
        qgc_emit_store(e, acc[i], sum_at(c, x, i), 4 * c->lanes);
}

/* A row of the kernel, of all its planes. */
typedef struct kernel_row {
    LLVMValueRef index, plane, row;
} kernel_row;

/* Tap |at| is one of |taps|, which NULL are all. */
static LLVMValueRef is_one_of(const chain *c, LLVMValueRef at, LLVMValueRef const *taps)
{
    LLVMBuilderRef b = c->e->builder;
    if (!taps[0])
        return LLVMConstInt(LLVMInt1TypeInContext(c->e->context), 1, false);
    return LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSGE, at, taps[0], ""),
                        LLVMBuildICmp(b, LLVMIntSLT, at, taps[1], ""), "");
}

/* 1 where the unit has the kernel's row in bounds, else 0. */
static LLVMValueRef is_met(const chain *c, const kernel_row *at)
{
    LLVMBuilderRef b = c->e->builder;
    LLVMValueRef both = LLVMBuildAnd(b, is_one_of(c, at->plane, c->plane_taps),
                                     is_one_of(c, at->row, c->row_taps), "");
    return LLVMBuildZExt(b, both, c->e->i64, "");
}

/* The chunk of a kernel row at |c->w|, of all units that have it. */
static void emit_chunk(const chain *block, const chain *base, LLVMValueRef channel,
                       const kernel_row *row)
{
    qgc_emitter *e = block->e;
    chain c = *block;
    qgc_loop units = {.may_be_empty = c.k->by_block}, met = {.may_be_empty = true};
    qgc_loop_begin(e, &units, c.begin, c.end, 1);
    qgc_emit_chain_enter(&c, base, channel, units.index);
    c.w = block->w;
    qgc_loop_begin(e, &met, qgc_emit_i64(e, 0), is_met(&c, row), 1);
    qgc_emit_chain_tiles(&c, emit_tile);
    qgc_loop_end(e, &met);
    qgc_loop_end(e, &units);
}

/* The chunks of one tap, |column| of |row|. */
static void emit_tap(const chain *block, const chain *base, LLVMValueRef channel,
                     const kernel_row *row, int64_t column)
{
    qgc_emitter *e = block->e;
    const qgc_chain_kernel *k = block->k;
    chain c = *block;
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, k->channels), k->chunk);
    LLVMValueRef w = qgc_emit_mul_const(e, row->index, k->kernel_w * k->channels * c.w_row);
    w = qgc_emit_at_const(e, qgc_emit_at(e, block->w, w), column * k->channels * c.w_row);
    c.w = qgc_emit_at(e, w, qgc_emit_mul_const(e, loop.index, c.w_row));
    LLVMValueRef tap = LLVMBuildAdd(e->builder, qgc_emit_mul_const(e, row->plane, k->tap_plane),
                                    qgc_emit_mul_const(e, row->row, k->tap_row), "");
    tap = LLVMBuildAdd(e->builder, tap, qgc_emit_i64(e, column * k->tap_column), "");
    c.chunk_tap = LLVMBuildAdd(e->builder, tap, qgc_emit_mul_const(e, loop.index, 4), "");
    c.chunk_column = column;
    emit_chunk(&c, base, channel, row);
    qgc_loop_end(e, &loop);
}

/* ---- before and after all chunks ---- */

typedef void pixel_fn(chain *c, LLVMValueRef x);

static void emit_start(chain *c, LLVMValueRef x)
{
    qgc_emitter *e = c->e;
    for (uint32_t v = 0; v < c->vectors; v++) {
        LLVMValueRef at =
            c->k->has_bias ? qgc_emit_at_const(e, c->bias, (int64_t)v * c->lanes * 4) : NULL;
        LLVMValueRef start = at ? qgc_emit_load(e, e->vf32, at, 4) : LLVMConstNull(e->vf32);
        qgc_emit_store(e, start, sum_at(c, x, v), 4 * c->lanes);
    }
}

static void emit_end(chain *c, LLVMValueRef x)
{
    for (uint32_t v = 0; v < c->vectors; v++)
        qgc_emit_chain_result(c, load_sum(c, x, v), x, 0, v);
}

static void emit_pixels(const chain *block, const chain *base, LLVMValueRef channel, pixel_fn *emit)
{
    qgc_emitter *e = block->e;
    chain c = *block;
    qgc_loop units = {.may_be_empty = c.k->by_block}, pixels = {0};
    qgc_loop_begin(e, &units, c.begin, c.end, 1);
    qgc_emit_chain_enter(&c, base, channel, units.index);
    qgc_loop_begin(e, &pixels, qgc_emit_i64(e, 0), qgc_emit_i64(e, c.k->out_w), 1);
    emit(&c, pixels.index);
    qgc_loop_end(e, &pixels);
    qgc_loop_end(e, &units);
}

void qgc_emit_chain_chunks(chain *c, const chain *base, LLVMValueRef channel)
{
    qgc_emitter *e = c->e;
    qgc_loop rows = {0};
    emit_pixels(c, base, channel, emit_start);
    LLVMValueRef height = qgc_emit_i64(e, c->k->kernel_h);
    qgc_loop_begin(e, &rows, qgc_emit_i64(e, 0), qgc_emit_i64(e, c->k->kernel_d * c->k->kernel_h),
                   1);
    kernel_row row = {rows.index, LLVMBuildUDiv(e->builder, rows.index, height, ""),
                      LLVMBuildURem(e->builder, rows.index, height, "")};
    for (int64_t column = 0; column < c->k->kernel_w; column++)
        emit_tap(c, base, channel, &row, column);
    qgc_loop_end(e, &rows);
    emit_pixels(c, base, channel, emit_end);
}
