/* Moves: loops over rows of elements, vectors where they lie together in input and output,
 * transposed tiles where they lie together along different loops, else one by one. Nothing beside
 * the elements is touched. */
#include "codegen/llvm/emit.h"

enum { TILE_BYTES = 16, UNROLL = 4, MAX_TILE = 16 };

typedef struct move {
    qgc_emitter *e;
    const qgc_move_kernel *k;
    LLVMValueRef constants;
    LLVMValueRef computed; /* table */
} move;

/* Addresses at some position of the outer loops. */
typedef struct place {
    LLVMValueRef in, out;
} place;

static LLVMTypeRef element_type(const move *m)
{
    return LLVMIntTypeInContext(m->e->context, m->k->element_bytes * 8);
}

static LLVMValueRef flip(const move *m, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef bit = LLVMConstInt(m->e->i8, 0x80, false);
    if (!m->k->flip)
        return x;
    if (type != m->e->i8)
        bit = qgc_emit_splat(m->e, bit, LLVMGetVectorSize(type));
    return LLVMBuildXor(m->e->builder, x, bit, "");
}

static LLVMValueRef offset_of(const move *m, const qgc_move_dim *dim, LLVMValueRef index)
{
    qgc_emitter *e = m->e;
    if (!dim->table)
        return qgc_emit_mul_const(e, index, dim->in);
    LLVMValueRef table = dim->table == QGC_MOVE_COMPUTED
                             ? m->computed
                             : qgc_emit_argument(e, m->constants, dim->table);
    return qgc_emit_load(e, e->i64, qgc_emit_at(e, table, qgc_emit_mul_const(e, index, 8)), 8);
}

/* Offsets may be negative. */
static LLVMValueRef emit_at(const move *m, LLVMValueRef base, LLVMValueRef offset)
{
    return LLVMBuildGEP2(m->e->builder, m->e->i8, base, &offset, 1, "");
}

static place step(const move *m, place at, const qgc_move_dim *dim, LLVMValueRef index)
{
    at.in = emit_at(m, at.in, offset_of(m, dim, index));
    at.out = emit_at(m, at.out, qgc_emit_mul_const(m->e, index, dim->out));
    return at;
}

/* ---- rows ---- */

static void move_element(const move *m, place at, const qgc_move_dim *dim, LLVMValueRef index)
{
    at = step(m, at, dim, index);
    LLVMValueRef x = qgc_emit_load(m->e, element_type(m), at.in, 1);
    qgc_emit_store(m->e, flip(m, x), at.out, 1);
}

static void move_elements(const move *m, place at, const qgc_move_dim *dim)
{
    qgc_emitter *e = m->e;
    int64_t whole = dim->size / UNROLL * UNROLL;
    if (whole) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), UNROLL);
        for (int64_t i = 0; i < UNROLL; i++)
            move_element(m, at, dim, LLVMBuildAdd(e->builder, loop.index, qgc_emit_i64(e, i), ""));
        qgc_loop_end(e, &loop);
    }
    for (int64_t i = whole; i < dim->size; i++)
        move_element(m, at, dim, qgc_emit_i64(e, i));
}

/* |num| elements that lie together in the output: in the input, too, or all from one. */
static void move_vector(const move *m, place at, const qgc_move_dim *dim, LLVMValueRef index,
                        uint32_t num)
{
    qgc_emitter *e = m->e;
    LLVMTypeRef vector = LLVMVectorType(element_type(m), num);
    LLVMValueRef offset = qgc_emit_mul_const(e, index, m->k->element_bytes);
    LLVMValueRef x = dim->in ? qgc_emit_load(e, vector, emit_at(m, at.in, offset), 1)
                             : qgc_emit_splat(e, qgc_emit_load(e, element_type(m), at.in, 1), num);
    qgc_emit_store(e, flip(m, x), emit_at(m, at.out, offset), 1);
}

static void move_rest(const move *m, place at, const qgc_move_dim *dim, int64_t first,
                      uint32_t most)
{
    for (uint32_t part = most / 2; part; part /= 2)
        if ((dim->size - first) & part) {
            move_vector(m, at, dim, qgc_emit_i64(m->e, first), part);
            first += part;
        }
}

static bool is_contiguous(const move *m, const qgc_move_dim *dim)
{
    int64_t element = m->k->element_bytes;
    return !dim->table && dim->out == element && (dim->in == element || dim->in == 0);
}

static uint32_t vector_size(const move *m)
{
    return m->e->level->lanes * 4 / m->k->element_bytes;
}

static void move_row(const move *m, place at, const qgc_move_dim *dim)
{
    qgc_emitter *e = m->e;
    int64_t lanes = vector_size(m), whole = dim->size / lanes * lanes;
    if (!is_contiguous(m, dim)) {
        move_elements(m, at, dim);
        return;
    }
    if (whole) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), lanes);
        move_vector(m, at, dim, loop.index, (uint32_t)lanes);
        qgc_loop_end(e, &loop);
    }
    move_rest(m, at, dim, whole, (uint32_t)lanes);
}

/* ---- tiles ---- */

/* Log2(|num|) times the halves are interleaved: rows become columns. */
static void transpose(qgc_emitter *e, LLVMValueRef *rows, uint32_t num)
{
    LLVMValueRef next[MAX_TILE], masks[2];
    for (uint32_t h = 0; h < 2; h++) {
        LLVMValueRef indices[MAX_TILE];
        for (uint32_t i = 0; i < num; i++)
            indices[i] = qgc_emit_i32(e, (int32_t)(h * num / 2 + i / 2 + i % 2 * num));
        masks[h] = LLVMConstVector(indices, num);
    }
    for (uint32_t stage = 1; stage < num; stage *= 2) {
        for (uint32_t i = 0; i < num; i++)
            next[i] = LLVMBuildShuffleVector(e->builder, rows[i / 2], rows[i / 2 + num / 2],
                                             masks[i % 2], "");
        for (uint32_t i = 0; i < num; i++)
            rows[i] = next[i];
    }
}

static void move_tile(const move *m, place at, const qgc_move_dim *outer, const qgc_move_dim *inner)
{
    qgc_emitter *e = m->e;
    uint32_t num = TILE_BYTES / m->k->element_bytes;
    LLVMTypeRef vector = LLVMVectorType(element_type(m), num);
    LLVMValueRef rows[MAX_TILE];
    for (uint32_t i = 0; i < num; i++) {
        LLVMValueRef row = emit_at(m, at.in, qgc_emit_i64(e, i * inner->in));
        rows[i] = flip(m, qgc_emit_load(e, vector, row, 1));
    }
    transpose(e, rows, num);
    for (uint32_t i = 0; i < num; i++)
        qgc_emit_store(e, rows[i], emit_at(m, at.out, qgc_emit_i64(e, i * outer->out)), 1);
}

/* Where tile |index| of |size| elements begins: the last one reaches back over the one before. */
static LLVMValueRef tile_start(const move *m, LLVMValueRef index, int64_t size)
{
    qgc_emitter *e = m->e;
    int64_t tile = TILE_BYTES / m->k->element_bytes;
    LLVMValueRef at = qgc_emit_mul_const(e, index, tile), last = qgc_emit_i64(e, size - tile);
    return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, at, last, ""), at,
                           last, "");
}

static void move_tiles(const move *m, place at, LLVMValueRef index)
{
    qgc_emitter *e = m->e;
    const qgc_move_dim *outer = &m->k->dims[m->k->rank - 2], *inner = outer + 1;
    int64_t tile = TILE_BYTES / m->k->element_bytes;
    at = step(m, at, outer, tile_start(m, index, outer->size));
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, (inner->size + tile - 1) / tile),
                   1);
    move_tile(m, step(m, at, inner, tile_start(m, loop.index, inner->size)), outer, inner);
    qgc_loop_end(e, &loop);
}

/* ---- units ---- */

static void move_inner(const move *m, place at)
{
    qgc_emitter *e = m->e;
    const qgc_move_dim *inner = &m->k->dims[m->k->rank - 1];
    if (m->k->num_outer == m->k->rank - 1) {
        move_row(m, at, inner);
        return;
    }
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, inner[-1].size), 1);
    move_row(m, step(m, at, &inner[-1], loop.index), inner);
    qgc_loop_end(e, &loop);
}

static void move_units(const move *m, place first, const qgc_kernel_args *args)
{
    qgc_emitter *e = m->e;
    const qgc_move_kernel *k = m->k;
    int64_t tile = TILE_BYTES / k->element_bytes;
    int64_t tiles = k->is_tiled ? (k->dims[k->rank - 2].size + tile - 1) / tile : 1;
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, args->begin, args->end, 1);
    LLVMValueRef rest = loop.index,
                 in_row = LLVMBuildURem(e->builder, rest, qgc_emit_i64(e, tiles), "");
    rest = LLVMBuildUDiv(e->builder, rest, qgc_emit_i64(e, tiles), "");
    place at = first;
    for (uint32_t d = k->num_outer; d-- > 0;) {
        LLVMValueRef size = qgc_emit_i64(e, k->dims[d].size);
        LLVMValueRef index = d ? LLVMBuildURem(e->builder, rest, size, "") : rest;
        rest = d ? LLVMBuildUDiv(e->builder, rest, size, "") : rest;
        at = step(m, at, &k->dims[d], index);
    }
    if (k->is_tiled)
        move_tiles(m, at, in_row);
    else
        move_inner(m, at);
    qgc_loop_end(e, &loop);
}

/* Of one loop alone: units are blocks of elements, the last one ends in the rest. */
static void move_blocks(const move *m, place at, const qgc_kernel_args *args)
{
    qgc_emitter *e = m->e;
    const qgc_move_dim *dim = &m->k->dims[0];
    bool is_vector = is_contiguous(m, dim);
    int64_t lanes = is_vector ? vector_size(m) : 1, whole = dim->size / lanes * lanes;
    LLVMValueRef end = qgc_emit_mul_const(e, args->end, QGC_MOVE_BLOCK),
                 all = qgc_emit_i64(e, whole);
    LLVMValueRef is_inside = LLVMBuildICmp(e->builder, LLVMIntSLT, end, all, "");
    qgc_loop loop = {.may_be_empty = true};
    qgc_loop_begin(e, &loop, qgc_emit_mul_const(e, args->begin, QGC_MOVE_BLOCK),
                   LLVMBuildSelect(e->builder, is_inside, end, all, ""), lanes);
    if (is_vector)
        move_vector(m, at, dim, loop.index, (uint32_t)lanes);
    else
        move_element(m, at, dim, loop.index);
    qgc_loop_end(e, &loop);
    if (whole == dim->size)
        return;
    LLVMValueRef last = qgc_emit_i64(e, m->k->base.units - 1);
    qgc_loop rest = {.may_be_empty = true}; /* once, for the last unit */
    qgc_loop_begin(e, &rest, last, args->end, 1);
    move_rest(m, at, dim, whole, (uint32_t)lanes);
    qgc_loop_end(e, &rest);
}

void qgc_emit_move(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_move_kernel *k = (const qgc_move_kernel *)kernel;
    move m = {.e = e, .k = k, .constants = args.constants};
    for (uint32_t d = 0; d < k->rank; d++)
        if (k->dims[d].table == QGC_MOVE_COMPUTED)
            m.computed = qgc_emit_argument(e, args.in, 1);
    LLVMValueRef in = qgc_emit_argument(e, k->is_fill ? args.constants : args.in, 0);
    place first = {emit_at(&m, in, qgc_emit_i64(e, k->in_first)),
                   qgc_emit_at_const(e, qgc_emit_argument(e, args.out, 0), k->out_first)};
    if (k->rank == 1)
        move_blocks(&m, first, &args);
    else
        move_units(&m, first, &args);
    LLVMBuildRetVoid(e->builder);
}
