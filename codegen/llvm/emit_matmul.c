/* Products of two computed matrices: packing, and register tiles of rows x vectors of columns.
 *
 * for matrix: for block of columns: for tile of rows: for step:
 *     acc[r][v] += dot4(x[r], w[v])
 *
 * The tile is that of conv (emit_conv.c): four bytes of x broadcast, four weights in each lane. */
#include "codegen/llvm/emit.h"

enum { MAX_ROWS = 8, MAX_VECTORS = 4, MAX_SUMS = 64 };

typedef struct matmul {
    qgc_emitter *e;
    const qgc_matmul_kernel *k;
    LLVMValueRef x, packed, starts, row_sums, addend, out; /* of the result at hand */
    LLVMValueRef multipliers, bias, addend_multipliers;
    LLVMValueRef begin, end; /* tiles */
    uint32_t lanes;
    int64_t steps;
} matmul;

typedef struct block {
    uint32_t vectors;
    int64_t columns;              /* stored */
    LLVMValueRef weights, column; /* column: its first one */
} block;

static int64_t padded(const matmul *t)
{
    return qgc_matmul_vectors(t->k, t->lanes) * t->lanes;
}

static int64_t block_bytes(const matmul *t, uint32_t vectors)
{
    return t->steps * (int64_t)vectors * t->lanes * 4;
}

/* ---- a tile ---- */

static void emit_step(const matmul *t, const block *b, LLVMValueRef x, LLVMValueRef weights,
                      LLVMValueRef *acc)
{
    qgc_emitter *e = t->e;
    LLVMValueRef w[MAX_VECTORS];
    for (uint32_t v = 0; v < b->vectors; v++)
        w[v] = qgc_emit_load(e, e->vi32, qgc_emit_at_const(e, weights, (int64_t)v * t->lanes * 4),
                             4 * t->lanes);
    for (uint32_t r = 0; r < t->k->tile_rows; r++) {
        LLVMValueRef at = qgc_emit_at_const(e, x, r * t->k->depth);
        LLVMValueRef a = qgc_emit_splat(e, qgc_emit_load(e, e->i32, at, 1), t->lanes);
        for (uint32_t v = 0; v < b->vectors; v++, acc++)
            *acc = qgc_emit_raw_dot(e, t->lanes, *acc, a, w[v]);
    }
}

/* All steps, into sums[phase][row][vector], which are added up in the end. */
static void emit_steps(const matmul *t, const block *b, LLVMValueRef x, uint32_t phases,
                       LLVMValueRef *sums)
{
    qgc_emitter *e = t->e;
    uint32_t num = t->k->tile_rows * b->vectors;
    int64_t step_bytes = block_bytes(t, b->vectors) / t->steps, least = phases > 2 ? phases : 2;
    int64_t unroll = t->steps < least ? t->steps : least, whole = t->steps / unroll * unroll;
    qgc_loop loop = {.num_carried = num * phases};
    for (uint32_t i = 0; i < num * phases; i++)
        loop.carried[i] = sums[i];
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), unroll);
    LLVMValueRef at = qgc_emit_at(e, x, qgc_emit_mul_const(e, loop.index, 4));
    LLVMValueRef w = qgc_emit_at(e, b->weights, qgc_emit_mul_const(e, loop.index, step_bytes));
    for (int64_t u = 0; u < unroll; u++)
        emit_step(t, b, qgc_emit_at_const(e, at, 4 * u), qgc_emit_at_const(e, w, u * step_bytes),
                  loop.carried + u % phases * num);
    qgc_loop_end(e, &loop);
    for (int64_t s = whole; s < t->steps; s++)
        emit_step(t, b, qgc_emit_at_const(e, x, 4 * s),
                  qgc_emit_at_const(e, b->weights, s * step_bytes),
                  loop.carried + s % phases * num);
    for (uint32_t i = 0; i < num * phases; i++)
        sums[i % num] = i < num ? loop.carried[i]
                                : LLVMBuildAdd(e->builder, sums[i % num], loop.carried[i], "");
}

/* What the column starts with and what the row adds. |row|: the first one. */
static void emit_start(const matmul *t, const block *b, LLVMValueRef row, LLVMValueRef *sums)
{
    qgc_emitter *e = t->e;
    LLVMValueRef list = qgc_emit_at(e, t->starts, qgc_emit_mul_const(e, b->column, 4));
    LLVMValueRef row_sums =
        t->row_sums ? qgc_emit_at(e, t->row_sums, qgc_emit_mul_const(e, row, 4)) : NULL;
    for (uint32_t r = 0; r < t->k->tile_rows; r++)
        for (uint32_t v = 0; v < b->vectors; v++, sums++) {
            LLVMValueRef at = qgc_emit_at_const(e, list, (int64_t)v * t->lanes * 4);
            *sums = qgc_emit_load(e, e->vi32, at, 4);
            if (!row_sums)
                continue;
            LLVMValueRef sum =
                qgc_emit_load(e, e->i32, qgc_emit_at_const(e, row_sums, (int64_t)r * 4), 4);
            sum = LLVMBuildMul(e->builder, sum, qgc_emit_i32(e, -t->k->w_zero_point), "");
            *sums = LLVMBuildAdd(e->builder, *sums, qgc_emit_splat(e, sum, t->lanes), "");
        }
}

static void emit_tile(const matmul *t, const block *b, LLVMValueRef tile)
{
    qgc_emitter *e = t->e;
    const qgc_matmul_kernel *k = t->k;
    uint32_t num = k->tile_rows * b->vectors, phases = num >= 8 ? 1 : num >= 4 ? 2 : 4;
    int64_t element = k->epilogue.is_raw ? 4 : 1;
    LLVMValueRef sums[MAX_SUMS];
    LLVMValueRef row = qgc_emit_limit(e, LLVMIntSLT, qgc_emit_mul_const(e, tile, k->tile_rows),
                                      k->rows - k->tile_rows);
    emit_start(t, b, row, sums);
    for (uint32_t i = num; i < num * phases; i++)
        sums[i] = LLVMConstNull(e->vi32);
    emit_steps(t, b, qgc_emit_at(e, t->x, qgc_emit_mul_const(e, row, k->depth)), phases, sums);
    LLVMValueRef lists = qgc_emit_mul_const(e, b->column, 4);
    qgc_emit_channels channels = {.epilogue = &k->epilogue,
                                  .lanes = t->lanes,
                                  .vectors = b->vectors,
                                  .multipliers = qgc_emit_at(e, t->multipliers, lists),
                                  .bias = qgc_emit_at(e, t->bias, lists),
                                  .addend_multipliers =
                                      qgc_emit_at(e, t->addend_multipliers, lists)};
    LLVMValueRef first =
        LLVMBuildAdd(e->builder, qgc_emit_mul_const(e, row, k->columns), b->column, "");
    LLVMValueRef out = qgc_emit_at(e, t->out, qgc_emit_mul_const(e, first, element));
    LLVMValueRef addend = t->addend ? qgc_emit_at(e, t->addend, first) : NULL;
    qgc_emit_place places[MAX_ROWS] = {0};
    for (uint32_t r = 0; r < k->tile_rows; r++) {
        places[r].out = qgc_emit_at_const(e, out, r * k->columns * element);
        places[r].addend = addend ? qgc_emit_at_const(e, addend, r * k->columns) : NULL;
    }
    qgc_emit_finish_tile(e, &channels, k->tile_rows, sums, places, b->columns);
}

/* ---- blocks, results ---- */

static void emit_tiles(const matmul *t, const block *b)
{
    qgc_loop loop = {0};
    qgc_loop_begin(t->e, &loop, t->begin, t->end, 1);
    emit_tile(t, b, loop.index);
    qgc_loop_end(t->e, &loop);
}

static void emit_blocks(const matmul *t)
{
    qgc_emitter *e = t->e;
    const qgc_matmul_kernel *k = t->k;
    int64_t width = (int64_t)k->tile_vectors * t->lanes;
    int64_t rest = k->columns % width, whole = k->columns - rest;
    if (whole) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), width);
        LLVMValueRef bytes = qgc_emit_mul_const(e, loop.index, t->steps * 4);
        block b = {k->tile_vectors, width, qgc_emit_at(e, t->packed, bytes), loop.index};
        emit_tiles(t, &b);
        qgc_loop_end(e, &loop);
    }
    if (rest) {
        block b = {(uint32_t)((rest + t->lanes - 1) / t->lanes), rest,
                   qgc_emit_at_const(e, t->packed, whole * t->steps * 4), qgc_emit_i64(e, whole)};
        emit_tiles(t, &b);
    }
}

/* Result |batch|, of its tiles those that are asked for. */
static void emit_result(const matmul *all, LLVMValueRef batch, const qgc_kernel_args *args)
{
    qgc_emitter *e = all->e;
    const qgc_matmul_kernel *k = all->k;
    matmul t = *all;
    int64_t tiles = k->base.units / k->batches, results = k->rows * k->columns;
    LLVMValueRef list = qgc_emit_at(e, qgc_emit_argument(e, args->constants, QGC_MATMUL_OPERANDS),
                                    qgc_emit_mul_const(e, batch, 16));
    LLVMValueRef x = qgc_emit_load(e, e->i64, list, 8);
    LLVMValueRef w = qgc_emit_load(e, e->i64, qgc_emit_at_const(e, list, 8), 8);
    LLVMValueRef first = qgc_emit_mul_const(e, batch, tiles);
    t.begin = qgc_emit_limit(e, LLVMIntSGT, LLVMBuildSub(e->builder, args->begin, first, ""), 0);
    t.end = qgc_emit_limit(e, LLVMIntSLT, LLVMBuildSub(e->builder, args->end, first, ""), tiles);
    t.x = qgc_emit_at(e, all->x, x);
    if (all->row_sums) {
        LLVMValueRef row = LLVMBuildUDiv(e->builder, x, qgc_emit_i64(e, k->depth), "");
        t.row_sums = qgc_emit_at(e, all->row_sums, qgc_emit_mul_const(e, row, 4));
    }
    int64_t bytes = block_bytes(all, (uint32_t)qgc_matmul_vectors(k, all->lanes));
    t.packed = qgc_emit_at(e, all->packed, qgc_emit_mul_const(e, w, bytes));
    t.starts = qgc_emit_at_const(e, all->packed, k->w_matrices * bytes);
    t.starts = qgc_emit_at(e, t.starts, qgc_emit_mul_const(e, w, padded(all) * 4));
    t.out = qgc_emit_at(e, all->out,
                        qgc_emit_mul_const(e, batch, results * (k->epilogue.is_raw ? 4 : 1)));
    if (all->addend)
        t.addend = qgc_emit_at(e, all->addend, qgc_emit_mul_const(e, batch, results));
    emit_blocks(&t);
}

static void emit_products(matmul *t, const qgc_kernel_args *args)
{
    qgc_emitter *e = t->e;
    const qgc_matmul_kernel *k = t->k;
    uint32_t input = 2;
    t->x = qgc_emit_argument(e, args->in, 0);
    t->packed = qgc_emit_argument(e, args->in, 1);
    t->row_sums = k->w_zero_point ? qgc_emit_argument(e, args->in, input++) : NULL;
    t->addend = k->epilogue.has_addend ? qgc_emit_argument(e, args->in, input) : NULL;
    t->out = qgc_emit_argument(e, args->out, 0);
    t->multipliers = qgc_emit_argument(e, args->constants, QGC_CONV_MULTIPLIERS);
    t->bias = qgc_emit_argument(e, args->constants, QGC_CONV_BIAS);
    t->addend_multipliers = qgc_emit_argument(e, args->constants, QGC_CONV_ADDEND_MULTIPLIERS);
    LLVMValueRef tiles = qgc_emit_i64(e, k->base.units / k->batches);
    LLVMValueRef last = LLVMBuildSub(e->builder, args->end, qgc_emit_i64(e, 1), "");
    LLVMValueRef end = LLVMBuildAdd(e->builder, LLVMBuildUDiv(e->builder, last, tiles, ""),
                                    qgc_emit_i64(e, 1), "");
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, LLVMBuildUDiv(e->builder, args->begin, tiles, ""), end, 1);
    emit_result(t, loop.index, args);
    qgc_loop_end(e, &loop);
}

/* ---- packing ---- */

static LLVMValueRef shuffle(qgc_emitter *e, LLVMValueRef a, LLVMValueRef b, const uint32_t *from,
                            uint32_t num)
{
    LLVMValueRef indices[128];
    for (uint32_t i = 0; i < num; i++)
        indices[i] = qgc_emit_i32(e, (int32_t)from[i]);
    return LLVMBuildShuffleVector(e->builder, a, b, LLVMConstVector(indices, num), "");
}

/* Within each 16 bytes, the low or the high halves of |a| and |b| in turns. */
static LLVMValueRef unpack(qgc_emitter *e, LLVMValueRef a, LLVMValueRef b, bool high, bool words)
{
    uint32_t num = LLVMGetVectorSize(LLVMTypeOf(a)), per_lane = 16, from[64];
    if (words) {
        LLVMTypeRef type = LLVMVectorType(e->i16, num /= 2);
        a = LLVMBuildBitCast(e->builder, a, type, "");
        b = LLVMBuildBitCast(e->builder, b, type, "");
        per_lane = 8;
    }
    for (uint32_t i = 0; i < num; i++) {
        uint32_t within = i % per_lane / 2 + (high ? per_lane / 2 : 0);
        from[i] = i / per_lane * per_lane + within + (i % 2 ? num : 0);
    }
    return shuffle(e, a, b, from, num);
}

/* Four rows of a block to its vectors: four bytes of a column in each lane. */
static void interleave(const matmul *t, LLVMValueRef *rows, uint32_t vectors, LLVMValueRef *out)
{
    qgc_emitter *e = t->e;
    uint32_t width = vectors * t->lanes, from[128];
    for (uint32_t v = 0; v < 4 && vectors == 4; v++)
        out[v] = unpack(e, unpack(e, rows[0], rows[1], v / 2, false),
                        unpack(e, rows[2], rows[3], v / 2, false), v % 2, true);
    if (vectors == 4)
        return;
    for (uint32_t i = 0; i < 2 * width; i++)
        from[i] = i / 2 + (i % 2 ? width : 0);
    LLVMTypeRef words = LLVMVectorType(e->i16, width);
    LLVMValueRef low =
        LLVMBuildBitCast(e->builder, shuffle(e, rows[0], rows[1], from, 2 * width), words, "");
    LLVMValueRef high =
        LLVMBuildBitCast(e->builder, shuffle(e, rows[2], rows[3], from, 2 * width), words, "");
    for (uint32_t v = 0; v < vectors; v++) {
        for (uint32_t i = 0; i < 2 * t->lanes; i++)
            from[i] =
                (uint32_t)qgc_block_channel(vectors, t->lanes, v, i / 2) + (i % 2 ? width : 0);
        out[v] = shuffle(e, low, high, from, 2 * t->lanes);
    }
}

/* Rows [4 * step, ...) of a block, of which |num| are there. */
static void pack_step(const matmul *t, const block *b, LLVMValueRef from, LLVMValueRef to,
                      uint32_t num, LLVMValueRef *sums)
{
    qgc_emitter *e = t->e;
    uint32_t width = b->vectors * t->lanes;
    LLVMTypeRef bytes = LLVMVectorType(e->i8, width);
    LLVMValueRef rows[4], vectors[MAX_VECTORS];
    LLVMValueRef sign = qgc_emit_splat(e, LLVMConstInt(e->i8, 0x80, false), width);
    for (uint32_t r = 0; r < 4; r++) {
        LLVMValueRef at = qgc_emit_at_const(e, from, r * t->k->columns);
        rows[r] = r < num ? qgc_emit_load(e, bytes, at, 1) : LLVMConstNull(bytes);
        if (t->k->flip && r < num)
            rows[r] = LLVMBuildXor(e->builder, rows[r], sign, "");
    }
    interleave(t, rows, b->vectors, vectors);
    LLVMValueRef ones = qgc_emit_splat(e, qgc_emit_i32(e, 0x01010101), t->lanes);
    for (uint32_t v = 0; v < b->vectors; v++) {
        LLVMValueRef w = LLVMBuildBitCast(e->builder, vectors[v], e->vi32, "");
        qgc_emit_store(e, w, qgc_emit_at_const(e, to, (int64_t)v * t->lanes * 4), 4 * t->lanes);
        if (t->k->dot_zero_point)
            sums[v] = qgc_emit_dot(e, t->lanes, sums[v], ones, w);
    }
}

/* |w|: at the block's first column; |starts|, |list|: at the block. */
static void pack_block(const matmul *t, const block *b, LLVMValueRef w, LLVMValueRef starts,
                       LLVMValueRef list)
{
    qgc_emitter *e = t->e;
    const qgc_matmul_kernel *k = t->k;
    int64_t step_bytes = block_bytes(t, b->vectors) / t->steps, whole = k->depth / 4;
    qgc_loop loop = {.num_carried = b->vectors};
    for (uint32_t v = 0; v < b->vectors; v++)
        loop.carried[v] = LLVMConstNull(e->vi32);
    if (whole) {
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), 1);
        pack_step(t, b, qgc_emit_at(e, w, qgc_emit_mul_const(e, loop.index, 4 * k->columns)),
                  qgc_emit_at(e, b->weights, qgc_emit_mul_const(e, loop.index, step_bytes)), 4,
                  loop.carried);
        qgc_loop_end(e, &loop);
    }
    if (k->depth % 4)
        pack_step(t, b, qgc_emit_at_const(e, w, whole * 4 * k->columns),
                  qgc_emit_at_const(e, b->weights, whole * step_bytes), (uint32_t)(k->depth % 4),
                  loop.carried);
    LLVMValueRef zero_point = qgc_emit_splat(e, qgc_emit_i32(e, k->dot_zero_point), t->lanes);
    for (uint32_t v = 0; v < b->vectors; v++) {
        int64_t offset = (int64_t)v * t->lanes * 4;
        LLVMValueRef start = qgc_emit_load(e, e->vi32, qgc_emit_at_const(e, list, offset), 4);
        LLVMValueRef sum = LLVMBuildMul(e->builder, loop.carried[v], zero_point, "");
        qgc_emit_store(e, LLVMBuildSub(e->builder, start, sum, ""),
                       qgc_emit_at_const(e, starts, offset), 4);
    }
}

/* Units [first, first + blocks * matrices): blocks of one width, from |column| on. */
static void pack_range(const matmul *t, const qgc_kernel_args *args, int64_t first, int64_t column,
                       int64_t columns, int64_t blocks)
{
    qgc_emitter *e = t->e;
    const qgc_matmul_kernel *k = t->k;
    uint32_t vectors = (uint32_t)((columns + t->lanes - 1) / t->lanes);
    int64_t bytes = block_bytes(t, (uint32_t)qgc_matmul_vectors(k, t->lanes));
    LLVMValueRef w = qgc_emit_argument(e, args->in, 0), to = qgc_emit_argument(e, args->out, 0);
    LLVMValueRef list = qgc_emit_argument(e, args->constants, QGC_CONV_START);
    qgc_loop loop = {.may_be_empty = true};
    qgc_loop_begin(e, &loop, qgc_emit_limit(e, LLVMIntSGT, args->begin, first),
                   qgc_emit_limit(e, LLVMIntSLT, args->end, first + blocks * k->w_matrices), 1);
    LLVMValueRef unit = LLVMBuildSub(e->builder, loop.index, qgc_emit_i64(e, first), "");
    LLVMValueRef matrix = LLVMBuildUDiv(e->builder, unit, qgc_emit_i64(e, blocks), "");
    LLVMValueRef at = LLVMBuildURem(e->builder, unit, qgc_emit_i64(e, blocks), "");
    at = LLVMBuildAdd(e->builder, qgc_emit_mul_const(e, at, (int64_t)vectors * t->lanes),
                      qgc_emit_i64(e, column), "");
    LLVMValueRef starts = qgc_emit_at_const(e, to, k->w_matrices * bytes);
    starts = qgc_emit_at(e, starts, qgc_emit_mul_const(e, matrix, padded(t) * 4));
    to = qgc_emit_at(e, to, qgc_emit_mul_const(e, matrix, bytes));
    w = qgc_emit_at(e, w, qgc_emit_mul_const(e, matrix, k->depth * k->columns));
    LLVMValueRef lists = qgc_emit_mul_const(e, at, 4);
    block b = {vectors, columns, qgc_emit_at(e, to, qgc_emit_mul_const(e, at, t->steps * 4)), at};
    pack_block(t, &b, qgc_emit_at(e, w, at), qgc_emit_at(e, starts, lists),
               qgc_emit_at(e, list, lists));
    qgc_loop_end(e, &loop);
}

static void emit_packing(const matmul *t, const qgc_kernel_args *args)
{
    int64_t width = (int64_t)t->k->tile_vectors * t->lanes;
    int64_t blocks = t->k->columns / width, rest = t->k->columns % width;
    if (blocks)
        pack_range(t, args, 0, 0, width, blocks);
    if (rest)
        pack_range(t, args, blocks * t->k->w_matrices, blocks * width, rest, 1);
}

void qgc_emit_matmul(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_matmul_kernel *k = (const qgc_matmul_kernel *)kernel;
    matmul t = {.e = e, .k = k, .lanes = e->level->lanes, .steps = (k->depth + 3) / 4};
    if (k->packs)
        emit_packing(&t, &args);
    else
        emit_products(&t, &args);
    LLVMBuildRetVoid(e->builder);
}
