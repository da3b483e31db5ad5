/* A table of 256 entries: bytes by bytes 64 at a time where the level can, else one by one. */
#include "codegen/llvm/emit.h"

enum { UNROLL = 4 };

typedef struct lookup {
    qgc_emitter *e;
    LLVMValueRef in, out, table; /* in, out: at the row */
    LLVMTypeRef element;
    uint32_t bytes; /* of an element */
} lookup;

static void emit_byte(lookup *l, LLVMValueRef index)
{
    qgc_emitter *e = l->e;
    LLVMValueRef q = qgc_emit_load(e, e->i8, qgc_emit_at(e, l->in, index), 1);
    q = qgc_emit_mul_const(e, LLVMBuildZExt(e->builder, q, e->i64, ""), l->bytes);
    LLVMValueRef y = qgc_emit_load(e, l->element, qgc_emit_at(e, l->table, q), l->bytes);
    qgc_emit_store(e, y, qgc_emit_at(e, l->out, qgc_emit_mul_const(e, index, l->bytes)), l->bytes);
}

/* Whole vectors; returns how many bytes. */
static int64_t emit_vectors(lookup *l, int64_t bytes)
{
    qgc_emitter *e = l->e;
    int64_t whole = bytes / QGC_TABLE_BYTES * QGC_TABLE_BYTES;
    LLVMTypeRef vector = LLVMVectorType(e->i8, QGC_TABLE_BYTES);
    LLVMValueRef table[4];
    if (!whole || l->bytes != 1 || !qgc_level_target(e->level).has_table)
        return 0;
    qgc_emit_load_table(e, l->table, table);
    qgc_loop loop = {0};
    qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), QGC_TABLE_BYTES);
    LLVMValueRef q = qgc_emit_load(e, vector, qgc_emit_at(e, l->in, loop.index), 1);
    qgc_emit_store(e, qgc_emit_table(e, q, table), qgc_emit_at(e, l->out, loop.index), 1);
    qgc_loop_end(e, &loop);
    return whole;
}

static void emit_row(lookup *l, int64_t bytes)
{
    qgc_emitter *e = l->e;
    int64_t first = emit_vectors(l, bytes), whole = first + (bytes - first) / UNROLL * UNROLL;
    if (whole > first) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, first), qgc_emit_i64(e, whole), UNROLL);
        for (int64_t i = 0; i < UNROLL; i++)
            emit_byte(l, LLVMBuildAdd(e->builder, loop.index, qgc_emit_i64(e, i), ""));
        qgc_loop_end(e, &loop);
    }
    for (int64_t i = whole; i < bytes; i++)
        emit_byte(l, qgc_emit_i64(e, i));
}

static LLVMValueRef emit_address(qgc_emitter *e, const qgc_lookup_kernel *k,
                                 const qgc_pixels *pixels, LLVMValueRef base, LLVMValueRef unit)
{
    LLVMValueRef rows = qgc_emit_i64(e, k->rows_per_image);
    LLVMValueRef image = LLVMBuildUDiv(e->builder, unit, rows, "");
    LLVMValueRef row = LLVMBuildURem(e->builder, unit, rows, "");
    return qgc_emit_row_address(e, pixels, base, image, row);
}

void qgc_emit_lookup(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_lookup_kernel *k = (const qgc_lookup_kernel *)kernel;
    LLVMValueRef in = qgc_emit_argument(e, args.in, 0), out = qgc_emit_argument(e, args.out, 0);
    lookup l = {.e = e,
                .table = qgc_emit_argument(e, args.constants, 0),
                .element = k->element_bytes == 2 ? e->i16 : e->i8,
                .bytes = k->element_bytes};
    qgc_loop rows = {0};
    qgc_loop_begin(e, &rows, args.begin, args.end, 1);
    l.in = emit_address(e, k, &k->in, in, rows.index);
    l.out = emit_address(e, k, &k->out, out, rows.index);
    emit_row(&l, k->row_bytes);
    qgc_loop_end(e, &rows);
    LLVMBuildRetVoid(e->builder);
}
