/* Bytes as i16, a vector of those at a time. */
#include "codegen/llvm/emit.h"

static void emit_vector(qgc_emitter *e, LLVMValueRef in, LLVMValueRef out, LLVMValueRef first,
                        uint32_t num)
{
    LLVMValueRef x = qgc_emit_load(e, LLVMVectorType(e->i8, num), qgc_emit_at(e, in, first), 1);
    x = LLVMBuildZExt(e->builder, x, LLVMVectorType(e->i16, num), "");
    qgc_emit_store(e, x, qgc_emit_at(e, out, qgc_emit_mul_const(e, first, 2)), 1);
}

/* The whole vectors of units [begin, end), then what the last unit has besides. */
void qgc_emit_widen(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    const qgc_widen_kernel *k = (const qgc_widen_kernel *)kernel;
    int64_t num = 2 * (int64_t)e->level->lanes, whole = k->bytes / num * num;
    LLVMValueRef in = qgc_emit_argument(e, args.in, 0), out = qgc_emit_argument(e, args.out, 0);
    LLVMValueRef end = qgc_emit_mul_const(e, args.end, QGC_WIDEN_BLOCK);
    qgc_loop loop = {.may_be_empty = true};
    qgc_loop_begin(e, &loop, qgc_emit_mul_const(e, args.begin, QGC_WIDEN_BLOCK),
                   qgc_emit_limit(e, LLVMIntSLT, end, whole), num);
    emit_vector(e, in, out, loop.index, (uint32_t)num);
    qgc_loop_end(e, &loop);
    if (k->bytes > whole) {
        qgc_loop rest = {.may_be_empty = true};
        LLVMValueRef is_last =
            LLVMBuildICmp(e->builder, LLVMIntSGE, end, qgc_emit_i64(e, k->bytes), "");
        LLVMValueRef first = qgc_emit_i64(e, whole), behind = qgc_emit_i64(e, k->bytes);
        qgc_loop_begin(e, &rest, LLVMBuildSelect(e->builder, is_last, first, behind, ""), behind,
                       1);
        emit_vector(e, in, out, rest.index, 1);
        qgc_loop_end(e, &rest);
    }
    LLVMBuildRetVoid(e->builder);
}
