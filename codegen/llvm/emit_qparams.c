/* Scale and zero point of the values at hand: their finite range, then qgc_choose_qparams
 * (runtime/quant.c) step by step. Zero is in every range and stands for what is not finite, so the
 * lanes may be taken in any order. */
#include "codegen/llvm/emit_math.h"

#include <float.h>

enum { UNROLL = 4 };

typedef struct qparams {
    qgc_emitter *e;
    const qgc_qparams_kernel *k;
    LLVMValueRef in;
} qparams;

typedef LLVMValueRef vector;

static vector like(const qparams *q, float value)
{
    return qgc_emit_splat(q->e, qgc_emit_f32(q->e, value), q->e->level->lanes);
}

static vector is_finite(const qparams *q, vector x)
{
    return LLVMBuildFCmp(q->e->builder, LLVMRealOLE, qgc_emit_abs(q->e, x), like(q, FLT_MAX), "");
}

/* The |num| elements from |index| on, at most a vector. */
static vector load(const qparams *q, LLVMValueRef index, int64_t num)
{
    qgc_emitter *e = q->e;
    uint32_t lanes = e->level->lanes;
    vector x = LLVMConstNull(e->vf32);
    LLVMValueRef at = qgc_emit_at(e, q->in, qgc_emit_mul_const(e, index, 4));
    if (num >= lanes)
        x = qgc_emit_load(e, e->vf32, at, 4);
    for (int64_t i = 0; num < lanes && i < num; i++) {
        LLVMValueRef one = qgc_emit_load(e, e->f32, qgc_emit_at_const(e, at, 4 * i), 4);
        x = LLVMBuildInsertElement(e->builder, x, one, qgc_emit_i32(e, (int32_t)i), "");
    }
    return LLVMBuildSelect(e->builder, is_finite(q, x), x, LLVMConstNull(e->vf32), "");
}

/* Ranges so far: |UNROLL| least ones, then as many greatest ones. */
static void widen(const qparams *q, vector x, vector *least, vector *greatest)
{
    *least = qgc_emit_choose(q->e, LLVMRealOLT, x, *least);
    *greatest = qgc_emit_choose(q->e, LLVMRealOGT, x, *greatest);
}

static LLVMValueRef across(const qparams *q, LLVMRealPredicate keep, vector x)
{
    qgc_emitter *e = q->e;
    for (uint32_t half = e->level->lanes / 2; half; half /= 2)
        x = qgc_emit_choose(e, keep, qgc_emit_part(e, x, 0, half), qgc_emit_part(e, x, half, half));
    return qgc_emit_splat(e, LLVMBuildExtractElement(e->builder, x, qgc_emit_i32(e, 0), ""),
                          e->level->lanes);
}

static void emit_range(const qparams *q, vector *least, vector *greatest)
{
    qgc_emitter *e = q->e;
    int64_t lanes = e->level->lanes, num = q->k->num, step = lanes * UNROLL;
    int64_t whole = num / step * step;
    vector sums[2 * UNROLL];
    for (uint32_t i = 0; i < 2 * UNROLL; i++)
        sums[i] = LLVMConstNull(e->vf32);
    if (whole) {
        qgc_loop loop = {.num_carried = 2 * UNROLL};
        for (uint32_t i = 0; i < 2 * UNROLL; i++)
            loop.carried[i] = sums[i];
        qgc_loop_begin(e, &loop, qgc_emit_i64(e, 0), qgc_emit_i64(e, whole), step);
        for (uint32_t i = 0; i < UNROLL; i++) {
            LLVMValueRef more = qgc_emit_i64(e, i * lanes);
            vector x = load(q, LLVMBuildAdd(e->builder, loop.index, more, ""), lanes);
            widen(q, x, &loop.carried[i], &loop.carried[UNROLL + i]);
        }
        qgc_loop_end(e, &loop);
        for (uint32_t i = 0; i < 2 * UNROLL; i++)
            sums[i] = loop.carried[i];
    }
    for (int64_t at = whole; at < num; at += lanes)
        widen(q, load(q, qgc_emit_i64(e, at), num - at), &sums[0], &sums[UNROLL]);
    for (uint32_t i = 1; i < UNROLL; i++) {
        sums[0] = qgc_emit_choose(e, LLVMRealOLT, sums[i], sums[0]);
        sums[UNROLL] = qgc_emit_choose(e, LLVMRealOGT, sums[UNROLL + i], sums[UNROLL]);
    }
    *least = across(q, LLVMRealOLT, sums[0]);
    *greatest = across(q, LLVMRealOGT, sums[UNROLL]);
}

/* a < b ? b : a */
static vector larger(const qparams *q, vector a, vector b)
{
    return LLVMBuildSelect(q->e->builder, LLVMBuildFCmp(q->e->builder, LLVMRealOLT, a, b, ""), b, a,
                           "");
}

static vector over(const qparams *q, vector a, vector b)
{
    return LLVMBuildFDiv(q->e->builder, a, b, "");
}

static vector emit_scale(const qparams *q, vector lo, vector hi)
{
    LLVMBuilderRef b = q->e->builder;
    const qgc_qparams_kernel *k = q->k;
    float span = (float)((int64_t)k->hi - k->lo);
    vector eps = like(q, k->eps);
    if (k->is_symmetric) {
        vector most = larger(q, LLVMBuildFNeg(b, lo, ""), hi);
        return larger(q, over(q, most, like(q, 0.5f * span)), eps);
    }
    vector width = LLVMBuildFSub(b, hi, lo, ""), spans = like(q, span);
    vector apart = LLVMBuildFSub(b, over(q, hi, spans), over(q, lo, spans), "");
    vector is_huge = LLVMBuildFCmp(b, LLVMRealOGT, width, like(q, FLT_MAX), "");
    return larger(q, LLVMBuildSelect(b, is_huge, apart, over(q, width, spans), ""), eps);
}

/* clamp(lo - rne(least / scale), lo, hi) */
static LLVMValueRef emit_zero_point(const qparams *q, vector least, vector scale)
{
    qgc_emitter *e = q->e;
    LLVMBuilderRef b = e->builder;
    if (q->k->is_symmetric)
        return qgc_emit_i32(e, q->k->middle);
    vector steps = qgc_emit_rne(e, over(q, least, scale));
    LLVMValueRef one = LLVMBuildExtractElement(b, steps, qgc_emit_i32(e, 0), "");
    LLVMValueRef below = LLVMBuildFPToSI(b, one, e->i64, "");
    LLVMValueRef zero = LLVMBuildSub(b, qgc_emit_i64(e, q->k->lo), below, "");
    zero = qgc_emit_limit(e, LLVMIntSGT, zero, q->k->lo);
    zero = qgc_emit_limit(e, LLVMIntSLT, zero, q->k->hi);
    return LLVMBuildTrunc(b, zero, e->i32, "");
}

void qgc_emit_qparams(qgc_emitter *e, const qgc_kernel *kernel)
{
    qgc_kernel_args args = qgc_emit_kernel_begin(e, kernel);
    qparams q = {
        .e = e, .k = (const qgc_qparams_kernel *)kernel, .in = qgc_emit_argument(e, args.in, 0)};
    vector least, greatest;
    emit_range(&q, &least, &greatest);
    vector scale = emit_scale(&q, least, greatest);
    qgc_emit_store(e, LLVMBuildExtractElement(e->builder, scale, qgc_emit_i32(e, 0), ""),
                   qgc_emit_argument(e, args.out, 0), 4);
    qgc_emit_store(e, emit_zero_point(&q, least, scale), qgc_emit_argument(e, args.out, 1), 4);
    LLVMBuildRetVoid(e->builder);
}
