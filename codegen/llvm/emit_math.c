#include "codegen/llvm/emit_math_steps.h"

vector qgc_emit_like_f32(qgc_emitter *e, vector like, float value)
{
    return qgc_emit_splat(e, qgc_emit_f32(e, value), LLVMGetVectorSize(LLVMTypeOf(like)));
}

vector qgc_emit_like_i32(qgc_emitter *e, vector like, int32_t value)
{
    return qgc_emit_splat(e, qgc_emit_i32(e, value), LLVMGetVectorSize(LLVMTypeOf(like)));
}

vector qgc_emit_choose(qgc_emitter *e, LLVMRealPredicate predicate, vector a, vector b)
{
    return choose(e, LLVMBuildFCmp(e->builder, predicate, a, b, ""), a, b);
}

vector qgc_emit_is_nan(qgc_emitter *e, vector x)
{
    return LLVMBuildFCmp(e->builder, LLVMRealUNO, x, x, "");
}

vector qgc_emit_abs(qgc_emitter *e, vector x)
{
    return from_bits(e, masked(e, bits(e, x), ~QGC_F32_SIGN));
}

/* The fence keeps a select behind it apart: LLVM 19 merges both into a masked vpternlogd whose
 * truth table it permutes wrongly. */
/* ---- rounding, roots ---- */

vector qgc_emit_sqrt(qgc_emitter *e, vector x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return qgc_emit_intrinsic(e, "llvm.sqrt", &type, 1, &x, 1);
}

vector qgc_emit_rne(qgc_emitter *e, vector x)
{
    vector magnitude = qgc_emit_abs(e, x);
    vector shifted = add_f(e, magnitude, 0x1p23f);
    vector rounded = sub(e, shifted, qgc_emit_like_f32(e, x, 0x1p23f));
    return choose(e, compare(e, LLVMRealOLT, magnitude, 0x1p23f), copy_sign(e, rounded, x), x);
}

vector qgc_emit_floor(qgc_emitter *e, vector x)
{
    vector near = qgc_emit_rne(e, x);
    vector is_above = LLVMBuildFCmp(e->builder, LLVMRealOGT, near, x, "");
    return choose(e, is_above, add_f(e, near, -1.0f), near);
}

/* A result of zero is -0 where x is negative. */
vector qgc_emit_ceil(qgc_emitter *e, vector x)
{
    vector near = qgc_emit_rne(e, x);
    vector is_below = LLVMBuildFCmp(e->builder, LLVMRealOLT, near, x, "");
    vector up = choose(e, is_below, add_f(e, near, 1.0f), near);
    return copy_sign(e, up, x);
}

/* ---- runtime/math_exp.c ---- */

vector qgc_emit_exp(qgc_emitter *e, vector x)
{
    exp_parts parts = exp_reduce(e, clamp(e, x, -104.0f, 89.0f));
    vector result = scale(e, add_f(e, parts.q, 1.0f), parts.n);
    return choose(e, qgc_emit_is_nan(e, x), x, result);
}

vector qgc_emit_expm1(qgc_emitter *e, vector x)
{
    exp_parts parts = exp_reduce(e, clamp(e, x, -20.0f, 89.0f));
    vector most = qgc_emit_like_f32(e, x, 30.0f);
    vector capped = choose(e, compare(e, LLVMRealOGT, parts.n_float, 30.0f), most, parts.n_float);
    vector minus_n = rounder_offset(e, sub_from_f(e, QGC_F32_ROUNDER, capped));
    vector sum = add(e, parts.q, sub_from_f(e, 1.0f, power_of_two(e, minus_n)));
    vector result = scale(e, sum, parts.n);
    vector as_is = LLVMBuildFCmp(e->builder, LLVMRealUEQ, x, qgc_emit_like_f32(e, x, 0.0f), "");
    return choose(e, as_is, x, result);
}

vector qgc_emit_tanh(qgc_emitter *e, vector x)
{
    vector magnitude = qgc_emit_abs(e, x), z = mul(e, x, x), p;
    POLY(p, QGC_MATH_TANH, z);
    vector small = add(e, magnitude, mul(e, magnitude, mul(e, z, p)));
    vector sum = add_f(e, qgc_emit_exp(e, mul_f(e, magnitude, 2.0f)), 1.0f);
    vector large = sub_from_f(e, 1.0f, divide(e, qgc_emit_like_f32(e, x, 2.0f), sum));
    vector result = choose(e, compare(e, LLVMRealOLT, magnitude, 0.75f), small, large);
    return choose(e, qgc_emit_is_nan(e, x), x, copy_sign(e, result, x));
}

static vector times_sigmoid(qgc_emitter *e, vector factor, vector x)
{
    vector zero = qgc_emit_like_f32(e, x, 0.0f);
    exp_parts parts = exp_reduce(e, clamp(e, negate(e, qgc_emit_abs(e, x)), -120.0f, 0.0f));
    vector y = add_f(e, parts.q, 1.0f), y_low = sub(e, parts.q, add_f(e, y, -1.0f));
    vector exponential = scale(e, y, parts.n), e_low = scale(e, y_low, parts.n);
    vector sum = add_f(e, exponential, 1.0f);
    vector sum_low = sub(e, exponential, add_f(e, sum, -1.0f));
    vector is_negative = compare(e, LLVMRealOLT, x, 0.0f);
    vector top = choose(e, is_negative, scale(e, mul(e, factor, y), parts.n), factor);
    vector top_low = choose(e, is_negative, scale(e, mul(e, factor, y_low), parts.n), zero);
    vector quotient = divide(e, top, sum);
    vector lost = mul(e, quotient, add(e, sum_low, e_low));
    vector correction = divide(e, sub(e, top_low, lost), sum);
    vector result = copy_sign(e, qgc_emit_abs(e, add(e, quotient, correction)), factor);
    return choose(e, compare(e, LLVMRealOGT, x, 104.0f), factor, result);
}

vector qgc_emit_sigmoid(qgc_emitter *e, vector x)
{
    vector result = times_sigmoid(e, qgc_emit_like_f32(e, x, 1.0f), x);
    return choose(e, qgc_emit_is_nan(e, x), x, result);
}

vector qgc_emit_silu(qgc_emitter *e, vector x)
{
    vector least = qgc_emit_like_f32(e, x, -120.0f);
    vector limited = choose(e, compare(e, LLVMRealOLT, x, -120.0f), least, x);
    return choose(e, qgc_emit_is_nan(e, x), x, times_sigmoid(e, limited, limited));
}

vector qgc_emit_erf(qgc_emitter *e, vector x)
{
    vector magnitude = qgc_emit_abs(e, x), z = mul(e, x, x), p, q;
    POLY(p, QGC_MATH_ERF, z);
    vector small = add(e, x, mul(e, x, p));
    vector most = qgc_emit_like_f32(e, x, 4.0f);
    vector limited = qgc_emit_choose(e, LLVMRealOLT, magnitude, most);
    POLY(q, QGC_MATH_ERFC_LOG, limited);
    vector large = sub_from_f(e, 1.0f, qgc_emit_exp(e, mul(e, limited, q)));
    large = choose(e, qgc_emit_is_nan(e, x), x, copy_sign(e, large, x));
    return choose(e, compare(e, LLVMRealOLT, magnitude, 0.875f), small, large);
}

/* (x / 2) * (1 + f), -0 for -inf. */
static vector half_weighted(qgc_emitter *e, vector x, vector f)
{
    vector result = mul(e, mul_f(e, x, 0.5f), add_f(e, f, 1.0f));
    vector is_least = compare(e, LLVMRealOEQ, x, -QGC_F32_INF);
    return choose(e, is_least, qgc_emit_like_f32(e, x, -0.0f), result);
}

vector qgc_emit_gelu(qgc_emitter *e, vector x)
{
    return half_weighted(e, x, qgc_emit_erf(e, mul_f(e, x, 0x1.6a09e6p-1f)));
}

vector qgc_emit_gelu_tanh(qgc_emitter *e, vector x)
{
    vector cubed = mul(e, mul(e, x, x), x);
    vector inner = mul_f(e, add(e, x, mul_f(e, cubed, 0x1.6e4e26p-5f)), 0x1.988454p-1f);
    return half_weighted(e, x, qgc_emit_tanh(e, inner));
}

/* ---- runtime/math_log.c ---- */

typedef struct log_parts {
    vector m, k;
} log_parts;

static log_parts log_reduce(qgc_emitter *e, vector x)
{
    int32_t sqrt_half = (int32_t)f32_bits(0x1.6a09e6p-1f);
    vector is_subnormal = compare(e, LLVMRealOLT, x, 0x1p-126f);
    vector pattern = bits(e, choose(e, is_subnormal, mul_f(e, x, 0x1p23f), x));
    vector offset = add_i(e, add_i(e, pattern, -sqrt_half), (int32_t)(UINT32_C(128) << 23));
    vector m = from_bits(e, add_i(e, masked(e, offset, 0x7fffff), sqrt_half));
    vector k = add_i(e, shift_right(e, offset, 23), -128);
    vector zero = qgc_emit_like_i32(e, k, 0), moved = qgc_emit_like_i32(e, k, 23);
    k = LLVMBuildSub(e->builder, k, choose(e, is_subnormal, moved, zero), "");
    return (log_parts){m, LLVMBuildSIToFP(e->builder, k, LLVMTypeOf(x), "")};
}

static vector log_core(qgc_emitter *e, vector x, vector c)
{
    log_parts parts = log_reduce(e, x);
    vector f = add_f(e, parts.m, -1.0f);
    vector s = divide(e, f, add_f(e, f, 2.0f)), z = mul(e, s, s), p;
    POLY(p, QGC_MATH_LOG, z);
    vector half_square = mul(e, mul_f(e, f, 0.5f), f);
    vector low = mul(e, s, add(e, half_square, mul(e, z, p)));
    low = add(e, low, add(e, mul_f(e, parts.k, QGC_F32_LN2_LO), c));
    vector rest = sub(e, sub(e, half_square, low), f);
    return sub(e, mul_f(e, parts.k, QGC_F32_LN2_HI), rest);
}

/* Where x is |pole|: -inf; below: NaN; else x. */
static vector log_special(qgc_emitter *e, vector x, float pole)
{
    vector nan = qgc_emit_like_f32(e, x, QGC_F32_NAN);
    vector least = qgc_emit_like_f32(e, x, -QGC_F32_INF);
    vector below = choose(e, compare(e, LLVMRealOLT, x, pole), nan, x);
    return choose(e, compare(e, LLVMRealOEQ, x, pole), least, below);
}

static vector is_between(qgc_emitter *e, vector x, float low)
{
    return LLVMBuildAnd(e->builder, compare(e, LLVMRealOGT, x, low),
                        compare(e, LLVMRealOLT, x, QGC_F32_INF), "");
}

vector qgc_emit_log(qgc_emitter *e, vector x)
{
    vector result = log_core(e, x, qgc_emit_like_f32(e, x, 0.0f));
    return choose(e, is_between(e, x, 0.0f), result, log_special(e, x, 0.0f));
}

vector qgc_emit_log1p(qgc_emitter *e, vector x)
{
    vector sum = add_f(e, x, 1.0f);
    vector lost_below = sub(e, x, add_f(e, sum, -1.0f));
    vector lost_above = sub_from_f(e, 1.0f, sub(e, sum, x));
    vector lost = choose(e, compare(e, LLVMRealOLT, x, 1.0f), lost_below, lost_above);
    vector result = log_core(e, sum, divide(e, lost, sum));
    vector is_regular =
        LLVMBuildAnd(e->builder, is_between(e, x, -1.0f), compare(e, LLVMRealONE, x, 0.0f), "");
    return choose(e, is_regular, result, log_special(e, x, -1.0f));
}

vector qgc_emit_softplus(qgc_emitter *e, vector x)
{
    vector zero = qgc_emit_like_f32(e, x, 0.0f);
    vector positive = choose(e, compare(e, LLVMRealOLT, x, 0.0f), zero, x);
    vector falling = qgc_emit_exp(e, negate(e, qgc_emit_abs(e, x)));
    return add(e, positive, qgc_emit_log1p(e, falling));
}

vector qgc_emit_mish(qgc_emitter *e, vector x)
{
    return mul(e, x, qgc_emit_tanh(e, qgc_emit_softplus(e, x)));
}

/* ---- pow ---- */

static pair pair_like(qgc_emitter *e, vector like, float hi, float lo)
{
    return (pair){qgc_emit_like_f32(e, like, hi), qgc_emit_like_f32(e, like, lo)};
}

static pair log2_pair(qgc_emitter *e, vector x)
{
    pair first = pair_like(e, x, 0x1.715476p+1f, 0x1.4ae0cp-25f);
    pair second = pair_like(e, x, 0x1.ec709ep-1f, -0x1.e2fe02p-28f);
    vector zero = qgc_emit_like_f32(e, x, 0.0f), p;
    log_parts parts = log_reduce(e, x);
    vector f = add_f(e, parts.m, -1.0f);
    pair sum = fast_two_sum(e, qgc_emit_like_f32(e, x, 2.0f), f);
    vector s_hi = divide(e, f, sum.hi);
    pair back = two_product(e, s_hi, sum.hi);
    vector rest = sub(e, sub(e, sub(e, f, back.hi), back.lo), mul(e, s_hi, sum.lo));
    pair s = fast_two_sum(e, s_hi, divide(e, rest, sum.hi));
    pair z = pair_multiply(e, s, s);
    POLY(p, QGC_MATH_LOG2_TAIL, z.hi);
    pair series = pair_add(e, second, (pair){mul(e, z.hi, p), zero});
    series = pair_add(e, first, pair_multiply(e, z, series));
    return pair_add(e, (pair){parts.k, zero}, pair_multiply(e, s, series));
}

static vector exp2_pair(qgc_emitter *e, pair x)
{
    vector shifted = add_f(e, x.hi, QGC_F32_ROUNDER), p;
    vector n = sub(e, shifted, qgc_emit_like_f32(e, shifted, QGC_F32_ROUNDER));
    vector r = add(e, sub(e, x.hi, n), x.lo);
    POLY(p, QGC_MATH_EXP2, r);
    vector y = add(e, mul_f(e, r, 0x1.62e43p-1f), mul(e, mul(e, r, r), p));
    return scale(e, add_f(e, y, 1.0f), rounder_offset(e, shifted));
}

static vector pow_magnitude(qgc_emitter *e, vector magnitude, vector y)
{
    vector zero = qgc_emit_like_f32(e, y, 0.0f);
    pair log2 = log2_pair(e, magnitude);
    pair scaled = pair_multiply(e, log2, (pair){clamp(e, y, -0x1p32f, 0x1p32f), zero});
    vector fits = compare(e, LLVMRealOLT, qgc_emit_abs(e, scaled.hi), 200.0f);
    return exp2_pair(
        e, (pair){clamp(e, scaled.hi, -200.0f, 200.0f), choose(e, fits, scaled.lo, zero)});
}

/* Where the result's sign or value does not come from the magnitude: |result| at both. */
static vector pow_special(qgc_emitter *e, vector x, vector y, vector at_end, vector result)
{
    LLVMBuilderRef b = e->builder;
    vector nan = qgc_emit_like_f32(e, x, QGC_F32_NAN), half = mul_f(e, y, 0.5f);
    vector is_integer = LLVMBuildFCmp(b, LLVMRealOEQ, qgc_emit_rne(e, y), y, "");
    vector is_half = LLVMBuildFCmp(b, LLVMRealUNE, qgc_emit_rne(e, half), half, "");
    vector sign = masked(e, bits(e, x), QGC_F32_SIGN);
    vector is_negative = LLVMBuildICmp(b, LLVMIntNE, sign, LLVMConstNull(LLVMTypeOf(sign)), "");
    vector flips = LLVMBuildAnd(b, is_negative, LLVMBuildAnd(b, is_integer, is_half, ""), "");
    vector kept = LLVMBuildOr(b, is_integer, at_end, "");
    vector is_below = compare(e, LLVMRealOLT, x, 0.0f);
    vector has_none = LLVMBuildAnd(b, is_below, LLVMBuildNot(b, kept, ""), "");
    vector is_nan = LLVMBuildFCmp(b, LLVMRealUNO, x, y, "");
    vector is_one =
        LLVMBuildOr(b, compare(e, LLVMRealOEQ, x, 1.0f), compare(e, LLVMRealOEQ, y, 0.0f), "");
    result = choose(e, flips, negate(e, result), result);
    result = choose(e, LLVMBuildOr(b, has_none, is_nan, ""), nan, result);
    return choose(e, is_one, qgc_emit_like_f32(e, x, 1.0f), result);
}

vector qgc_emit_pow(qgc_emitter *e, vector x, vector y)
{
    LLVMBuilderRef b = e->builder;
    vector magnitude = qgc_emit_abs(e, x), zero = qgc_emit_like_f32(e, x, 0.0f);
    vector infinity = qgc_emit_like_f32(e, x, QGC_F32_INF), one = qgc_emit_like_f32(e, x, 1.0f);
    vector is_zero = compare(e, LLVMRealOEQ, magnitude, 0.0f);
    vector at_end = LLVMBuildOr(b, is_zero, compare(e, LLVMRealOEQ, magnitude, QGC_F32_INF), "");
    vector is_falling = compare(e, LLVMRealOLT, y, 0.0f);
    vector end = choose(e, LLVMBuildXor(b, is_zero, is_falling, ""), zero, infinity);
    vector result = pow_magnitude(e, choose(e, at_end, one, magnitude), y);
    return pow_special(e, x, y, at_end, choose(e, at_end, end, result));
}
