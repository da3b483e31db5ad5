/* Linear and cubic resize along one axis: for row: for group: y = start + w * x + w * x ..., each
 * step rounded. A group is one position, whose inner elements go in tiles of vectors, or, by
 * element, as many neighbours as a vector has lanes, of a tile of rows. The last tile reaches back
 * over the one before. */
#include "codegen/llvm/emit.h"

enum { MAX_VECTORS = 4, MAX_TAPS = 4, FLOAT = 4 };

typedef struct resize {
    qgc_emitter *e;
    const qgc_resize_kernel *k;
    LLVMValueRef in, out;
    LLVMValueRef tables[QGC_RESIZE_NUM_CONSTANTS];
    uint32_t lanes;
} resize;

/* What the tables say of a group: a vector each. */
typedef struct group {
    LLVMValueRef start, weights[MAX_TAPS], masks[MAX_TAPS]; /* masks NULL: all there */
    LLVMValueRef positions[MAX_TAPS], base;
} group;

/* Where the tile at |index| begins, of |size| of |num|. */
static LLVMValueRef tile_start(qgc_emitter *e, LLVMValueRef index, int64_t size, int64_t num)
{
    int64_t last = num > size ? num - size : 0;
    return qgc_emit_limit(e, LLVMIntSLT, qgc_emit_mul_const(e, index, size), last);
}

static LLVMValueRef offset(qgc_emitter *e, LLVMValueRef base, LLVMValueRef index, int64_t stride)
{
    return qgc_emit_at(e, base, qgc_emit_mul_const(e, index, stride));
}

/* ---- tables ---- */

/* Number |item| of |items| of group |g| of a table. */
static LLVMValueRef entry(const resize *r, uint32_t table, LLVMTypeRef element, LLVMValueRef g,
                          int64_t items, int64_t item)
{
    qgc_emitter *e = r->e;
    int64_t bytes = element == e->i64 ? 8 : 4, width = r->k->width * bytes;
    LLVMValueRef at = offset(e, r->tables[table], g, items * width);
    at = qgc_emit_at_const(e, at, item * width);
    if (r->k->by_element && table != QGC_RESIZE_BASES)
        return qgc_emit_load(e, qgc_emit_vector(element, r->lanes), at, 4);
    LLVMValueRef one = qgc_emit_load(e, element, at, 4);
    return element == e->i64 ? one : qgc_emit_splat(e, one, r->lanes);
}

static group read_group(const resize *r, LLVMValueRef g)
{
    qgc_emitter *e = r->e;
    const qgc_resize_kernel *k = r->k;
    group all = {.start = entry(r, QGC_RESIZE_START, e->f32, g, 1, 0)};
    for (uint32_t t = 0; t < k->taps; t++) {
        all.weights[t] = entry(r, QGC_RESIZE_WEIGHTS, e->f32, g, k->taps, t);
        if (t >= k->full)
            all.masks[t] = entry(r, QGC_RESIZE_MASKS, e->i32, g, k->taps, t);
        all.positions[t] =
            entry(r, QGC_RESIZE_POSITIONS, k->by_element ? e->i32 : e->i64, g, k->taps, t);
    }
    if (k->sources) {
        LLVMValueRef at = offset(e, r->tables[QGC_RESIZE_BASES], g, sizeof(int64_t));
        all.base = qgc_emit_load(e, e->i64, at, 8);
    }
    return all;
}

/* ---- sums ---- */

/* sum + tap |t|'s product. */
static LLVMValueRef add_tap(const resize *r, const group *g, uint32_t t, LLVMValueRef x,
                            LLVMValueRef sum)
{
    qgc_emitter *e = r->e;
    if (g->masks[t]) {
        LLVMValueRef bits = LLVMBuildBitCast(e->builder, x, e->vi32, "");
        bits = LLVMBuildAnd(e->builder, bits, g->masks[t], "");
        x = LLVMBuildBitCast(e->builder, bits, e->vf32, "");
    }
    return LLVMBuildFAdd(e->builder, sum, LLVMBuildFMul(e->builder, g->weights[t], x, ""), "");
}

static void store(const resize *r, LLVMValueRef sum, int64_t num, LLVMValueRef at)
{
    qgc_emitter *e = r->e;
    sum = LLVMBuildBitCast(e->builder, sum, e->vi32, "");
    qgc_emit_store_part(e, sum, r->lanes, num, at);
}

/* Row |row| of the input. */
static LLVMValueRef row_of(const resize *r, LLVMValueRef row)
{
    qgc_emitter *e = r->e;
    if (!r->k->base.constants[QGC_RESIZE_ROWS])
        return offset(e, r->in, row, r->k->in * r->k->inner * FLOAT);
    LLVMValueRef at = offset(e, r->tables[QGC_RESIZE_ROWS], row, sizeof(int64_t));
    return qgc_emit_at(e, r->in, qgc_emit_load(e, e->i64, at, 8));
}

/* ---- inner elements side by side ---- */

/* A whole vector, or |num| elements and nothing behind them. */
static LLVMValueRef load_part(const resize *r, LLVMValueRef at, int64_t num)
{
    qgc_emitter *e = r->e;
    LLVMValueRef bits[16];
    if (num >= r->lanes)
        return qgc_emit_load(e, e->vf32, at, 4);
    for (uint32_t i = 0; i < r->lanes; i++)
        bits[i] = LLVMConstInt(LLVMInt1TypeInContext(e->context), i < num, false);
    LLVMTypeRef overloads[] = {e->vf32, e->ptr};
    LLVMValueRef args[] = {at, qgc_emit_i32(e, 4), LLVMConstVector(bits, r->lanes),
                           LLVMConstNull(e->vf32)};
    return qgc_emit_intrinsic(e, "llvm.masked.load", overloads, 2, args, 4);
}

static void emit_position(const resize *r, LLVMValueRef in, LLVMValueRef out, LLVMValueRef o)
{
    qgc_emitter *e = r->e;
    const qgc_resize_kernel *k = r->k;
    group g = read_group(r, o);
    int64_t size = (int64_t)k->vectors * r->lanes, tiles = (k->inner + size - 1) / size;
    out = offset(e, out, o, k->inner * FLOAT);
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, tiles), 1);
    LLVMValueRef first = qgc_emit_mul_const(e, tile_start(e, loop.index, size, k->inner), FLOAT);
    for (uint32_t v = 0; v < k->vectors; v++) {
        int64_t ahead = (int64_t)v * r->lanes * FLOAT;
        LLVMValueRef sum = g.start;
        for (uint32_t t = 0; t < k->taps; t++) {
            LLVMValueRef at = qgc_emit_at(e, qgc_emit_at(e, in, g.positions[t]), first);
            LLVMValueRef x = load_part(r, qgc_emit_at_const(e, at, ahead), k->inner);
            sum = add_tap(r, &g, t, x, sum);
        }
        store(r, sum, k->inner, qgc_emit_at_const(e, qgc_emit_at(e, out, first), ahead));
    }
    qgc_loop_end(e, &loop);
}

/* ---- by element ---- */

/* Lanes of |x| by the lowest bits of |index|. */
static LLVMValueRef permute(const resize *r, LLVMValueRef x, LLVMValueRef index)
{
    LLVMValueRef args[] = {x, index};
    const char *name = r->lanes == 16 ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps";
    return qgc_emit_intrinsic(r->e, name, NULL, 0, args, 2);
}

/* Elements |index| of the vectors that lie at |at|. */
static LLVMValueRef pick(const resize *r, LLVMValueRef at, LLVMValueRef index)
{
    qgc_emitter *e = r->e;
    LLVMValueRef all = permute(r, qgc_emit_load(e, e->vf32, at, 4), index);
    for (uint32_t i = 1; i < r->k->sources; i++) {
        uint32_t first = i * r->lanes;
        LLVMValueRef from = qgc_emit_at_const(e, at, (int64_t)first * FLOAT);
        LLVMValueRef x = permute(r, qgc_emit_load(e, e->vf32, from, 4), index);
        LLVMValueRef bound = qgc_emit_splat(e, qgc_emit_i32(e, (int32_t)first), r->lanes);
        LLVMValueRef is_here = LLVMBuildICmp(e->builder, LLVMIntSGE, index, bound, "");
        all = LLVMBuildSelect(e->builder, is_here, x, all, "");
    }
    return all;
}

static LLVMValueRef gather(const resize *r, LLVMValueRef row, LLVMValueRef index)
{
    qgc_emitter *e = r->e;
    LLVMValueRef at = LLVMBuildGEP2(e->builder, e->f32, row, &index, 1, "");
    LLVMTypeRef overloads[] = {e->vf32, LLVMTypeOf(at)};
    LLVMValueRef all = LLVMConstInt(LLVMInt1TypeInContext(e->context), 1, false);
    LLVMValueRef args[] = {at, qgc_emit_i32(e, 4), qgc_emit_splat(e, all, r->lanes),
                           LLVMConstNull(e->vf32)};
    return qgc_emit_intrinsic(e, "llvm.masked.gather", overloads, 2, args, 4);
}

static void emit_elements(const resize *r, LLVMValueRef row_index, LLVMValueRef out,
                          LLVMValueRef index)
{
    qgc_emitter *e = r->e;
    const qgc_resize_kernel *k = r->k;
    group g = read_group(r, index);
    int64_t row = k->out * k->inner;
    out = offset(e, out, tile_start(e, index, r->lanes, row), FLOAT);
    for (uint32_t v = 0; v < k->vectors; v++) {
        LLVMValueRef at = LLVMBuildAdd(e->builder, row_index, qgc_emit_i64(e, v), "");
        LLVMValueRef sum = g.start, from = row_of(r, at);
        for (uint32_t t = 0; t < k->taps; t++) {
            LLVMValueRef x = k->sources ? pick(r, qgc_emit_at(e, from, g.base), g.positions[t])
                                        : gather(r, from, g.positions[t]);
            sum = add_tap(r, &g, t, x, sum);
        }
        store(r, sum, row, qgc_emit_at_const(e, out, v * row * FLOAT));
    }
}

/* ---- units ---- */

/* Groups [begin, end) of the row, or tile of rows, of |unit|. */
static void emit_unit(const resize *r, LLVMValueRef unit)
{
    qgc_emitter *e = r->e;
    const qgc_resize_kernel *k = r->k;
    int64_t groups = qgc_resize_groups(k), parts = (groups + k->per_unit - 1) / k->per_unit;
    LLVMValueRef row = LLVMBuildUDiv(e->builder, unit, qgc_emit_i64(e, parts), "");
    LLVMValueRef part = LLVMBuildURem(e->builder, unit, qgc_emit_i64(e, parts), "");
    if (k->by_element)
        row = tile_start(e, row, k->vectors, k->outer);
    LLVMValueRef in = k->by_element ? NULL : row_of(r, row);
    LLVMValueRef out = offset(e, r->out, row, k->out * k->inner * FLOAT);
    LLVMValueRef begin = qgc_emit_mul_const(e, part, k->per_unit);
    LLVMValueRef end = LLVMBuildAdd(e->builder, begin, qgc_emit_i64(e, k->per_unit), "");
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, begin, qgc_emit_limit(e, LLVMIntSLT, end, groups), 1);
    if (k->by_element)
        emit_elements(r, row, out, loop.index);
    else
        emit_position(r, in, out, loop.index);
    qgc_loop_end(e, &loop);
}

void qgc_emit_resize(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_resize_kernel *k = (const qgc_resize_kernel *)kernel;
    resize r = {.e = e, .k = k, .lanes = e->level->lanes};
    r.in = qgc_emit_argument(e, args.in, 0);
    r.out = qgc_emit_argument(e, args.out, 0);
    for (uint32_t i = 0; i < QGC_RESIZE_NUM_CONSTANTS; i++)
        r.tables[i] = qgc_emit_argument(e, args.constants, i);
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, args.begin, args.end, 1);
    emit_unit(&r, loop.index);
    qgc_loop_end(e, &loop);
    LLVMBuildRetVoid(e->builder);
}
