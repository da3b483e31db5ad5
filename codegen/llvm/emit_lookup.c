/* A table of 256 entries, byte by byte: no level has a gather of bytes. */
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

static void emit_row(lookup *l, int64_t bytes)
{
    qgc_emitter *e = l->e;
    int64_t whole = bytes / UNROLL * UNROLL;
    if (whole) {
        qgc_loop loop = {0};
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), UNROLL);
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
