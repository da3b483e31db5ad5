/* Bytes through a table of 256 bytes in four registers, with AVX-512: a permutation of words picks
 * the pair that has the byte, twice, for either half of the table. */
#include "codegen/llvm/emit.h"

void qgc_emit_load_table(qgc_emitter *e, LLVMValueRef address, LLVMValueRef table[4])
{
    LLVMTypeRef words = LLVMVectorType(e->i16, QGC_TABLE_BYTES / 2);
    for (int64_t i = 0; i < 4; i++)
        table[i] = qgc_emit_load(e, words, qgc_emit_at_const(e, address, QGC_TABLE_BYTES * i),
                                 QGC_TABLE_BYTES);
}

static LLVMValueRef splat_word(qgc_emitter *e, unsigned long long word)
{
    return qgc_emit_splat(e, LLVMConstInt(e->i16, word, false), QGC_TABLE_BYTES / 2);
}

/* The bytes of the table that 7 bits of |index| and |odd|, 0 or 8, stand for, in the low halves;
 * |is_high|: the seventh bit. */
static LLVMValueRef pick(qgc_emitter *e, const LLVMValueRef *table, LLVMValueRef index,
                         LLVMValueRef is_high, LLVMValueRef odd)
{
    const char *name = "llvm.x86.avx512.vpermi2var.hi.512";
    LLVMValueRef low_args[] = {table[0], index, table[1]},
                 high_args[] = {table[2], index, table[3]};
    LLVMValueRef low = qgc_emit_intrinsic(e, name, NULL, 0, low_args, 3);
    LLVMValueRef high = qgc_emit_intrinsic(e, name, NULL, 0, high_args, 3);
    LLVMValueRef pair = LLVMBuildSelect(e->builder, is_high, high, low, "");
    return LLVMBuildLShr(e->builder, pair, odd, "");
}

LLVMValueRef qgc_emit_table(qgc_emitter *e, LLVMValueRef bytes, const LLVMValueRef table[4])
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = LLVMTypeOf(bytes);
    LLVMValueRef x = LLVMBuildBitCast(b, bytes, LLVMTypeOf(table[0]), "");
    LLVMValueRef eight = splat_word(e, 8), none = LLVMConstNull(LLVMTypeOf(x));
    LLVMValueRef top = LLVMBuildAnd(b, x, splat_word(e, 0x80), "");
    LLVMValueRef even = pick(e, table, LLVMBuildLShr(b, x, splat_word(e, 1), ""),
                             LLVMBuildICmp(b, LLVMIntNE, top, none, ""),
                             LLVMBuildAnd(b, LLVMBuildShl(b, x, splat_word(e, 3), ""), eight, ""));
    LLVMValueRef odd = pick(e, table, LLVMBuildLShr(b, x, splat_word(e, 9), ""),
                            LLVMBuildICmp(b, LLVMIntSLT, x, none, ""),
                            LLVMBuildAnd(b, LLVMBuildLShr(b, x, splat_word(e, 5), ""), eight, ""));
    even = LLVMBuildAnd(b, even, splat_word(e, 0xff), "");
    LLVMValueRef both = LLVMBuildOr(b, even, LLVMBuildShl(b, odd, eight, ""), "");
    return LLVMBuildBitCast(b, both, type, "");
}
