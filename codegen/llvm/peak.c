#include "codegen/llvm/peak.h"

#include <string.h>

/* Sums that do not wait for each other: latency times throughput of what has both high. */
enum { CHAINS = 12, UNROLL = 4 };

/* Of i16 in place of u8 and s8, where the level has nothing for bytes: half as many. */
static LLVMValueRef add_pairs(qgc_emitter *e, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef w)
{
    LLVMTypeRef type = LLVMVectorType(e->i16, 2 * e->level->lanes);
    LLVMValueRef args[] = {LLVMBuildBitCast(e->builder, a, type, ""),
                           LLVMBuildBitCast(e->builder, w, type, "")};
    return LLVMBuildAdd(e->builder, acc,
                        qgc_emit_intrinsic(e, "llvm.x86.sse2.pmadd.wd", NULL, 0, args, 2), "");
}

static bool has_pairs_only(const qgc_level *level)
{
    return level->dot == QGC_DOT_WIDEN && !level->has_ssse3;
}

/* The quickest product of bytes that is exact for some weights at least. */
static LLVMValueRef add_dot(qgc_emitter *e, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef w)
{
    if (has_pairs_only(e->level))
        return add_pairs(e, acc, a, w);
    if (e->level->dot == QGC_DOT_WIDEN)
        return qgc_emit_byte_pair_dot(e, e->level->lanes, acc, a, w);
    return qgc_emit_raw_dot(e, e->level->lanes, acc, a, w);
}

static LLVMValueRef add_product(qgc_emitter *e, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef w)
{
    LLVMValueRef args[] = {a, w, acc};
    if (e->level->has_fma)
        return qgc_emit_intrinsic(e, "llvm.fma", &e->vf32, 1, args, 3);
    return LLVMBuildFAdd(e->builder, acc, LLVMBuildFMul(e->builder, a, w, ""), "");
}

/* The same value, as far as LLVM knows another one: products are not taken out of the loop. */
static LLVMValueRef make_opaque(qgc_emitter *e, LLVMValueRef value)
{
    const char *same = e->level->arch == QGC_ARCH_AARCH64 ? "=w,0" : "=x,0";
    LLVMTypeRef type = LLVMTypeOf(value), function = LLVMFunctionType(type, &type, 1, false);
    LLVMValueRef nothing = LLVMGetInlineAsm(function, "", 0, same, strlen(same), true, false,
                                            LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(e->builder, function, nothing, &value, 1, "");
}

typedef LLVMValueRef add_fn(qgc_emitter *e, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef w);

static void emit_loop(qgc_emitter *e, const char *name, LLVMTypeRef type, add_fn *add)
{
    qgc_kernel kernel = {.name = name};
    qgc_kernel_args args = qgc_emit_kernel_begin(e, &kernel);
    LLVMValueRef factors = qgc_emit_load(e, type, qgc_emit_argument(e, args.in, 0), 1);
    LLVMValueRef out = qgc_emit_argument(e, args.out, 0);
    qgc_loop loop = {.num_carried = CHAINS};
    for (int i = 0; i < CHAINS; i++)
        loop.carried[i] = LLVMConstNull(type);
    LLVMValueRef other = factors;
    qgc_loop_begin(e, &loop, args.begin, args.end, 1);
    for (int i = 0; i < CHAINS * UNROLL; i++) {
        other = make_opaque(e, other);
        loop.carried[i % CHAINS] = add(e, loop.carried[i % CHAINS], other, factors);
    }
    qgc_loop_end(e, &loop);
    bool is_float = type == e->vf32;
    LLVMValueRef sum = loop.carried[0];
    for (int i = 1; i < CHAINS; i++)
        sum = is_float ? LLVMBuildFAdd(e->builder, sum, loop.carried[i], "")
                       : LLVMBuildXor(e->builder, sum, loop.carried[i], "");
    qgc_emit_store(e, sum, out, 1);
    LLVMBuildRetVoid(e->builder);
}

static qgc_kernel_fn *find(qgc_jit *jit, const char *name)
{
    void *address = qgc_jit_find(jit, name);
    qgc_kernel_fn *function;
    memcpy(&function, &address, sizeof function);
    return function;
}

qgc_result qgc_peak_create(qgc_diag *diag, const qgc_level *level, qgc_peak *out)
{
    qgc_emitter e;
    *out = (qgc_peak){0};
    QGC_TRY(qgc_jit_create(diag, level, &out->jit));
    qgc_jit_begin(out->jit, "peak", &e);
    emit_loop(&e, "integers", e.vi32, add_dot);
    emit_loop(&e, "floats", e.vf32, add_product);
    if (qgc_jit_add(out->jit, &e, "") == QGC_OK) {
        out->integers = find(out->jit, "integers");
        out->floats = find(out->jit, "floats");
    }
    double vectors = CHAINS * UNROLL * (double)level->lanes;
    out->integer_macs = vectors * (has_pairs_only(level) ? 2 : 4);
    out->float_macs = vectors;
    if (out->integers && out->floats)
        return QGC_OK;
    qgc_peak_destroy(out);
    return QGC_FAILED;
}

void qgc_peak_destroy(qgc_peak *peak)
{
    qgc_jit_destroy(peak->jit);
    *peak = (qgc_peak){0};
}
