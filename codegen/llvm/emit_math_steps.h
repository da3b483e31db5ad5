/* Single operations on vectors of f32 and i32, and runtime/math_bits.h in them: what
 * codegen/llvm/emit_math*.c are written in. */
#ifndef QGC_CODEGEN_LLVM_EMIT_MATH_STEPS_H
#define QGC_CODEGEN_LLVM_EMIT_MATH_STEPS_H

#include "codegen/llvm/emit_math.h"

#include "runtime/math_bits.h"

typedef LLVMValueRef vector;

/* ---- single operations ---- */

static inline vector add(qgc_emitter *e, vector a, vector b)
{
    return LLVMBuildFAdd(e->builder, a, b, "");
}

static inline vector sub(qgc_emitter *e, vector a, vector b)
{
    return LLVMBuildFSub(e->builder, a, b, "");
}

static inline vector mul(qgc_emitter *e, vector a, vector b)
{
    return LLVMBuildFMul(e->builder, a, b, "");
}

static inline vector divide(qgc_emitter *e, vector a, vector b)
{
    return LLVMBuildFDiv(e->builder, a, b, "");
}

static inline vector add_f(qgc_emitter *e, vector a, float b)
{
    return add(e, a, qgc_emit_like_f32(e, a, b));
}

static inline vector mul_f(qgc_emitter *e, vector a, float b)
{
    return mul(e, a, qgc_emit_like_f32(e, a, b));
}

/* b - a */
static inline vector sub_from_f(qgc_emitter *e, float b, vector a)
{
    return sub(e, qgc_emit_like_f32(e, a, b), a);
}

static inline vector negate(qgc_emitter *e, vector a)
{
    return LLVMBuildFNeg(e->builder, a, "");
}

static inline vector compare(qgc_emitter *e, LLVMRealPredicate predicate, vector a, float b)
{
    return LLVMBuildFCmp(e->builder, predicate, a, qgc_emit_like_f32(e, a, b), "");
}

static inline vector choose(qgc_emitter *e, vector condition, vector a, vector b)
{
    return LLVMBuildSelect(e->builder, condition, a, b, "");
}

static inline vector bits(qgc_emitter *e, vector x)
{
    LLVMTypeRef ints = LLVMVectorType(e->i32, LLVMGetVectorSize(LLVMTypeOf(x)));
    return LLVMBuildBitCast(e->builder, x, ints, "");
}

static inline vector from_bits(qgc_emitter *e, vector x)
{
    LLVMTypeRef floats = LLVMVectorType(e->f32, LLVMGetVectorSize(LLVMTypeOf(x)));
    return LLVMBuildBitCast(e->builder, x, floats, "");
}

static inline vector masked(qgc_emitter *e, vector x, uint32_t mask)
{
    return LLVMBuildAnd(e->builder, x, qgc_emit_like_i32(e, x, (int32_t)mask), "");
}

static inline vector shift_left(qgc_emitter *e, vector x, int32_t count)
{
    return LLVMBuildShl(e->builder, x, qgc_emit_like_i32(e, x, count), "");
}

static inline vector shift_right(qgc_emitter *e, vector x, int32_t count)
{
    return LLVMBuildLShr(e->builder, x, qgc_emit_like_i32(e, x, count), "");
}

static inline vector add_i(qgc_emitter *e, vector a, int32_t b)
{
    return LLVMBuildAdd(e->builder, a, qgc_emit_like_i32(e, a, b), "");
}

/* ---- runtime/math_bits.h ---- */

/* The fence keeps a select behind it apart: LLVM 19 merges both into a masked vpternlogd whose
 * truth table it permutes wrongly. */
static inline vector copy_sign(qgc_emitter *e, vector x, vector sign)
{
    vector taken = masked(e, bits(e, sign), QGC_F32_SIGN);
    vector both = from_bits(e, LLVMBuildOr(e->builder, bits(e, x), taken, ""));
    LLVMTypeRef type = LLVMTypeOf(both);
    return qgc_emit_intrinsic(e, "llvm.arithmetic.fence", &type, 1, &both, 1);
}

static inline vector power_of_two(qgc_emitter *e, vector n)
{
    return from_bits(e, shift_left(e, add_i(e, n, 127), 23));
}

static inline vector scale(qgc_emitter *e, vector y, vector n)
{
    vector sign = masked(e, n, QGC_F32_SIGN);
    vector half = LLVMBuildOr(e->builder, shift_right(e, n, 1), sign, "");
    vector rest = LLVMBuildSub(e->builder, n, half, "");
    return mul(e, mul(e, y, power_of_two(e, half)), power_of_two(e, rest));
}

static inline vector clamp(qgc_emitter *e, vector x, float low, float high)
{
    vector above = choose(e, compare(e, LLVMRealOLT, x, low), qgc_emit_like_f32(e, x, low), x);
    vector limit = qgc_emit_like_f32(e, x, high);
    return choose(e, compare(e, LLVMRealOGT, above, high), limit, above);
}

static inline vector horner(qgc_emitter *e, const float *coefficients, size_t num, vector t)
{
    vector p = qgc_emit_like_f32(e, t, coefficients[num - 1]);
    for (size_t i = num - 1; i-- > 0;)
        p = add_f(e, mul(e, p, t), coefficients[i]);
    return p;
}

/* |table| is one of QGC_MATH_*. */
#define POLY(out, table, t)                                                                        \
    do {                                                                                           \
        static const float coefficients[] = table;                                                 \
        (out) = horner(e, coefficients, sizeof coefficients / sizeof *coefficients, t);            \
    } while (0)

typedef struct exp_parts {
    vector q, n_float, n;
} exp_parts;

static inline vector rounder_offset(qgc_emitter *e, vector shifted)
{
    vector rounder = qgc_emit_like_i32(e, shifted, (int32_t)f32_bits(QGC_F32_ROUNDER));
    return LLVMBuildSub(e->builder, bits(e, shifted), rounder, "");
}

static inline exp_parts exp_reduce(qgc_emitter *e, vector x)
{
    vector shifted = add_f(e, mul_f(e, x, QGC_F32_LOG2_E), QGC_F32_ROUNDER);
    vector n = sub(e, shifted, qgc_emit_like_f32(e, x, QGC_F32_ROUNDER));
    vector r = sub(e, x, mul_f(e, n, QGC_F32_LN2_HI));
    r = sub(e, r, mul_f(e, n, QGC_F32_LN2_LO));
    vector p;
    POLY(p, QGC_MATH_EXP, r);
    return (exp_parts){add(e, r, mul(e, mul(e, r, r), p)), n, rounder_offset(e, shifted)};
}

typedef struct pair {
    vector hi, lo;
} pair;

static inline pair fast_two_sum(qgc_emitter *e, vector a, vector b)
{
    vector sum = add(e, a, b);
    return (pair){sum, sub(e, b, sub(e, sum, a))};
}

static inline pair two_sum(qgc_emitter *e, vector a, vector b)
{
    vector sum = add(e, a, b), b_part = sub(e, sum, a);
    return (pair){sum, add(e, sub(e, a, sub(e, sum, b_part)), sub(e, b, b_part))};
}

static inline pair two_product(qgc_emitter *e, vector a, vector b)
{
    vector a_split = mul_f(e, a, 4097.0f), b_split = mul_f(e, b, 4097.0f);
    vector a_hi = sub(e, a_split, sub(e, a_split, a)), b_hi = sub(e, b_split, sub(e, b_split, b));
    vector a_lo = sub(e, a, a_hi), b_lo = sub(e, b, b_hi), product = mul(e, a, b);
    vector error = add(e, sub(e, mul(e, a_hi, b_hi), product), mul(e, a_hi, b_lo));
    error = add(e, add(e, error, mul(e, a_lo, b_hi)), mul(e, a_lo, b_lo));
    return (pair){product, error};
}

static inline pair pair_multiply(qgc_emitter *e, pair a, pair b)
{
    pair product = two_product(e, a.hi, b.hi);
    vector cross = add(e, mul(e, a.hi, b.lo), mul(e, a.lo, b.hi));
    return fast_two_sum(e, product.hi, add(e, product.lo, cross));
}

static inline pair pair_add(qgc_emitter *e, pair a, pair b)
{
    pair sum = two_sum(e, a.hi, b.hi);
    return fast_two_sum(e, sum.hi, add(e, sum.lo, add(e, a.lo, b.lo)));
}

#endif
