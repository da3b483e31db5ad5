/* Indices as bytes: vectors of single ones, tuples one by one. */
#include "codegen/llvm/emit.h"

typedef struct indices {
    qgc_emitter *e;
    const qgc_indices_kernel *k;
    LLVMValueRef in, out;
    uint32_t lanes; /* of i64, that are taken at a time */
} indices;

static LLVMTypeRef of_lanes(LLVMTypeRef element, uint32_t lanes)
{
    return lanes > 1 ? LLVMVectorType(element, lanes) : element;
}

static LLVMValueRef like(const indices *n, uint32_t lanes, int64_t value)
{
    LLVMValueRef one = qgc_emit_i64(n->e, value);
    return lanes > 1 ? qgc_emit_splat(n->e, one, lanes) : one;
}

/* 0, |step|, 2 * |step|, ... */
static LLVMValueRef ramp(const indices *n, uint32_t lanes, int64_t step)
{
    enum { MOST = 16 };
    LLVMValueRef items[MOST];
    QGC_ASSERT(lanes <= MOST, "%u lanes", lanes);
    for (uint32_t i = 0; i < lanes; i++)
        items[i] = qgc_emit_i64(n->e, (int64_t)i * step);
    return lanes > 1 ? LLVMConstVector(items, lanes) : items[0];
}

static LLVMValueRef spread(const indices *n, uint32_t lanes, LLVMValueRef scalar)
{
    return lanes > 1 ? qgc_emit_splat(n->e, scalar, lanes) : scalar;
}

/* The indices at |place| and behind, as bytes. |first|: per lane the least place so far of an index
 * out of range; all bits: none. */
static LLVMValueRef emit_column(const indices *n, uint32_t lanes, const qgc_indices_dim *column,
                                LLVMValueRef place, LLVMValueRef *first)
{
    qgc_emitter *e = n->e;
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = of_lanes(n->k->index_bytes == 4 ? e->i32 : e->i64, lanes);
    LLVMValueRef at = qgc_emit_at(e, n->in, qgc_emit_mul_const(e, place, n->k->index_bytes));
    LLVMValueRef index = qgc_emit_load(e, type, at, n->k->index_bytes);
    if (n->k->index_bytes == 4)
        index = LLVMBuildSExt(b, index, of_lanes(e->i64, lanes), "");
    LLVMValueRef size = like(n, lanes, column->size), zero = like(n, lanes, 0);
    LLVMValueRef is_negative = LLVMBuildICmp(b, LLVMIntSLT, index, zero, "");
    index = LLVMBuildAdd(b, index, LLVMBuildSelect(b, is_negative, size, zero, ""), "");
    LLVMValueRef is_bad = LLVMBuildICmp(b, LLVMIntUGE, index, size, "");
    LLVMValueRef places = LLVMBuildAdd(b, spread(n, lanes, place), ramp(n, lanes, 1), "");
    LLVMValueRef is_first = LLVMBuildICmp(b, LLVMIntULT, places, *first, "");
    *first = LLVMBuildSelect(b, LLVMBuildAnd(b, is_bad, is_first, ""), places, *first, "");
    return LLVMBuildMul(b, index, like(n, lanes, column->bytes), "");
}

/* The tuples from |tuple| on, where the loops around the innermost one have come to |base| bytes
 * and that to |index|. */
static void emit_tuples(const indices *n, uint32_t lanes, LLVMValueRef base, LLVMValueRef tuple,
                        LLVMValueRef index, LLVMValueRef *first)
{
    qgc_emitter *e = n->e;
    LLVMBuilderRef b = e->builder;
    int64_t step = n->k->dims[n->k->rank - 1].bytes;
    base = LLVMBuildAdd(b, base, qgc_emit_mul_const(e, index, step), "");
    LLVMValueRef bytes = LLVMBuildAdd(b, spread(n, lanes, base), ramp(n, lanes, step), "");
    LLVMValueRef place = qgc_emit_mul_const(e, tuple, n->k->num_columns);
    for (uint32_t c = 0; c < n->k->num_columns; c++) {
        LLVMValueRef column = LLVMBuildAdd(b, place, qgc_emit_i64(e, c), "");
        bytes = LLVMBuildAdd(b, bytes, emit_column(n, lanes, &n->k->columns[c], column, first), "");
    }
    qgc_emit_store(e, bytes, qgc_emit_at(e, n->out, qgc_emit_mul_const(e, tuple, 8)), 8);
}

/* The least of the lanes of |first|. */
static LLVMValueRef emit_least(const indices *n, uint32_t lanes, LLVMValueRef first)
{
    qgc_emitter *e = n->e;
    if (lanes == 1)
        return first;
    LLVMValueRef least = LLVMBuildExtractElement(e->builder, first, qgc_emit_i32(e, 0), "");
    for (uint32_t i = 1; i < lanes; i++) {
        LLVMValueRef one =
            LLVMBuildExtractElement(e->builder, first, qgc_emit_i32(e, (int32_t)i), "");
        LLVMValueRef is_less = LLVMBuildICmp(e->builder, LLVMIntULT, one, least, "");
        least = LLVMBuildSelect(e->builder, is_less, one, least, "");
    }
    return least;
}

/* Positions [begin, end) of the innermost loop, a multiple of |lanes|. Returns |first|, as |lanes|.
 */
static LLVMValueRef emit_part(const indices *n, uint32_t lanes, LLVMValueRef base, LLVMValueRef row,
                              int64_t begin, int64_t end, LLVMValueRef first)
{
    qgc_emitter *e = n->e;
    qgc_loop loop = {.num_carried = 1, .carried = {first}};
    if (begin == end)
        return first;
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, begin), qgc_emit_i64(e, end), lanes);
    LLVMValueRef tuple = LLVMBuildAdd(e->builder, row, loop.index, "");
    emit_tuples(n, lanes, base, tuple, loop.index, &loop.carried[0]);
    qgc_loop_end(e, &loop);
    return loop.carried[0];
}

/* One run of the innermost loop. |first| is the least place so far, a scalar. */
static LLVMValueRef emit_row(const indices *n, LLVMValueRef base, LLVMValueRef row,
                             LLVMValueRef first)
{
    int64_t size = n->k->dims[n->k->rank - 1].size, whole = size / n->lanes * n->lanes;
    LLVMValueRef vector = emit_part(n, n->lanes, base, row, 0, whole, spread(n, n->lanes, first));
    return emit_part(n, 1, base, row, whole, size, emit_least(n, n->lanes, vector));
}

/* The loops around the innermost one as one. */
static LLVMValueRef emit_rows(const indices *n)
{
    qgc_emitter *e = n->e;
    const qgc_indices_kernel *k = n->k;
    int64_t outer = 1, size = k->dims[k->rank - 1].size;
    for (uint32_t d = 0; d + 1 < k->rank; d++)
        outer *= k->dims[d].size;
    qgc_loop loop = {.num_carried = 1, .carried = {qgc_emit_i64(e, -1)}};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, outer), 1);
    LLVMValueRef base = qgc_emit_i64(e, 0), rest = loop.index;
    for (uint32_t d = k->rank - 1; d-- > 0;) {
        LLVMValueRef num = qgc_emit_i64(e, k->dims[d].size);
        LLVMValueRef index = LLVMBuildURem(e->builder, rest, num, "");
        rest = LLVMBuildUDiv(e->builder, rest, num, "");
        base = LLVMBuildAdd(e->builder, base, qgc_emit_mul_const(e, index, k->dims[d].bytes), "");
    }
    LLVMValueRef row = qgc_emit_mul_const(e, loop.index, size);
    loop.carried[0] = emit_row(n, base, row, loop.carried[0]);
    qgc_loop_end(e, &loop);
    return loop.carried[0];
}

void qgc_emit_indices(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_indices_kernel *k = (const qgc_indices_kernel *)kernel;
    indices n = {.e = e,
                 .k = k,
                 .in = qgc_emit_argument(e, args.in, 0),
                 .out = qgc_emit_argument(e, args.out, 0),
                 .lanes = k->num_columns == 1 && e->level->lanes > 1 ? e->level->lanes / 2 : 1};
    LLVMValueRef first = emit_rows(&n);
    /* none is all bits: 0 */
    qgc_emit_store(e, LLVMBuildAdd(e->builder, first, qgc_emit_i64(e, 1), ""),
                   qgc_emit_argument(e, args.out, 1), 8);
    LLVMBuildRetVoid(e->builder);
}
