/* runtime/math_trig.c, and the hyperbolic functions of math_exp.c and math_log.c. */
#include "codegen/llvm/emit_math_steps.h"

#define PI_2_HI QGC_F32_PI_2_HI
#define PI_2_LO QGC_F32_PI_2_LO

/* Where |a| <= |bound|, ...: of a NaN never. */
static vector is_at_most(qgc_emitter *e, vector a, float bound)
{
    return compare(e, LLVMRealOLE, a, bound);
}

static vector or_nan(qgc_emitter *e, vector condition, vector x)
{
    return choose(e, condition, x, qgc_emit_like_f32(e, x, QGC_F32_NAN));
}

/* ---- reduction ---- */

typedef struct trig_parts {
    pair r;
    vector quadrant;
} trig_parts;

static vector longs(qgc_emitter *e, vector like, uint64_t value)
{
    LLVMValueRef scalar = LLVMConstInt(e->i64, value, false);
    return qgc_emit_splat(e, scalar, LLVMGetVectorSize(LLVMTypeOf(like)));
}

static vector widen(qgc_emitter *e, vector x)
{
    LLVMTypeRef type = LLVMVectorType(e->i64, LLVMGetVectorSize(LLVMTypeOf(x)));
    return LLVMBuildZExt(e->builder, x, type, "");
}

/* Bits |shift| to |shift| + |count| - 1 as a float; exact, |count| <= 24. */
static vector part_of(qgc_emitter *e, vector m, uint64_t shift, uint32_t count)
{
    uint32_t lanes = LLVMGetVectorSize(LLVMTypeOf(m));
    vector moved = LLVMBuildLShr(e->builder, m, longs(e, m, shift), "");
    moved = LLVMBuildTrunc(e->builder, moved, LLVMVectorType(e->i32, lanes), "");
    moved = masked(e, moved, (UINT32_C(1) << count) - 1);
    return LLVMBuildSIToFP(e->builder, moved, LLVMVectorType(e->f32, lanes), "");
}

static pair scale_fraction(qgc_emitter *e, vector m)
{
    vector high = mul_f(e, part_of(e, m, 38, 24), 0x1p-24f);
    vector middle = mul_f(e, part_of(e, m, 14, 24), 0x1p-48f);
    vector low = mul_f(e, part_of(e, m, 0, 14), 0x1p-62f);
    pair fraction = fast_two_sum(e, high, middle);
    fraction = fast_two_sum(e, fraction.hi, add(e, fraction.lo, low));
    pair half_pi = {qgc_emit_like_f32(e, low, PI_2_HI), qgc_emit_like_f32(e, low, PI_2_LO)};
    return pair_multiply(e, fraction, half_pi);
}

/* Three times 32 bits of 2/pi, from bit |position| of the table on. A lane's first word is one of
 * five, so words are selected and not loaded. */
static void table_bits(qgc_emitter *e, vector position, vector out[3])
{
    enum { NUM_FIRST = 5, NUM_WORDS = 4 };
    static const uint32_t table[] = QGC_F32_TWO_OVER_PI;
    LLVMTypeRef type = LLVMTypeOf(position);
    vector first = shift_right(e, position, 5), words[NUM_WORDS];
    for (uint32_t w = 0; w < NUM_WORDS; w++)
        words[w] = qgc_emit_like_i32(e, position, (int32_t)table[w]);
    for (uint32_t f = 1; f < NUM_FIRST; f++) {
        vector number = qgc_emit_like_i32(e, position, (int32_t)f);
        vector is_first = LLVMBuildICmp(e->builder, LLVMIntEQ, first, number, "");
        for (uint32_t w = 0; w < NUM_WORDS; w++) {
            vector word = qgc_emit_like_i32(e, position, (int32_t)table[f + w]);
            words[w] = choose(e, is_first, word, words[w]);
        }
    }
    for (uint32_t w = 0; w + 1 < NUM_WORDS; w++) {
        vector args[] = {words[w], words[w + 1], masked(e, position, 31)};
        out[w] = qgc_emit_intrinsic(e, "llvm.fshl", &type, 1, args, 3);
    }
}

/* x * 2/pi mod 4 in units of 2^-62. */
static vector scaled_angle(qgc_emitter *e, vector pattern)
{
    LLVMBuilderRef b = e->builder;
    vector one = qgc_emit_like_i32(e, pattern, 0x800000), words[3];
    vector m = LLVMBuildOr(b, masked(e, pattern, 0x7fffff), one, "");
    table_bits(e, add_i(e, shift_right(e, pattern, 23), -120), words);
    vector high = widen(e, LLVMBuildMul(b, m, words[0], "")), wide = widen(e, m);
    vector middle = LLVMBuildMul(b, wide, widen(e, words[1]), "");
    vector low = LLVMBuildMul(b, wide, widen(e, words[2]), "");
    vector half = longs(e, m, 32);
    high = LLVMBuildShl(b, high, half, "");
    low = LLVMBuildLShr(b, low, half, "");
    return LLVMBuildAdd(b, LLVMBuildAdd(b, high, middle, ""), low, "");
}

/* Of lanes that are neither NaN nor infinite. */
static trig_parts reduce_large(qgc_emitter *e, vector magnitude)
{
    LLVMBuilderRef b = e->builder;
    vector pattern = bits(e, magnitude), scaled = scaled_angle(e, pattern);
    vector units = longs(e, pattern, 62), zero = longs(e, pattern, 0);
    vector rounded = LLVMBuildAdd(b, scaled, longs(e, pattern, UINT64_C(1) << 61), "");
    vector turns = LLVMBuildLShr(b, rounded, units, "");
    vector rest = LLVMBuildSub(b, scaled, LLVMBuildShl(b, turns, units, ""), "");
    vector is_negative = LLVMBuildICmp(b, LLVMIntSLT, rest, zero, "");
    rest = choose(e, is_negative, LLVMBuildSub(b, zero, rest, ""), rest);
    pair r = scale_fraction(e, rest);
    r.hi = choose(e, is_negative, negate(e, r.hi), r.hi);
    r.lo = choose(e, is_negative, negate(e, r.lo), r.lo);
    return (trig_parts){r, LLVMBuildTrunc(b, turns, LLVMTypeOf(pattern), "")};
}

static trig_parts trig_reduce(qgc_emitter *e, vector x)
{
    LLVMBuilderRef b = e->builder;
    vector magnitude = qgc_emit_abs(e, x), zero = qgc_emit_like_f32(e, x, 0.0f);
    trig_parts parts = reduce_large(e, magnitude);
    vector none = qgc_emit_like_i32(e, x, 0), is_above = compare(e, LLVMRealOGT, x, 0.0f);
    vector is_large = LLVMBuildAnd(b, compare(e, LLVMRealOGT, magnitude, 0x1.921fb6p-1f),
                                   compare(e, LLVMRealOLT, magnitude, QGC_F32_INF), "");
    vector hi = choose(e, is_above, parts.r.hi, negate(e, parts.r.hi));
    vector lo = choose(e, is_above, parts.r.lo, negate(e, parts.r.lo));
    vector back = LLVMBuildSub(b, none, parts.quadrant, "");
    vector quadrant = choose(e, is_above, parts.quadrant, back);
    pair r = {choose(e, is_large, hi, x), choose(e, is_large, lo, zero)};
    return (trig_parts){r, choose(e, is_large, quadrant, none)};
}

/* ---- sin, cos, tan ---- */

static vector sin_core(qgc_emitter *e, pair r)
{
    vector z = mul(e, r.hi, r.hi), p;
    POLY(p, QGC_MATH_SIN, z);
    vector slope = sub_from_f(e, 1.0f, mul_f(e, z, 0.5f));
    return add(e, r.hi, add(e, mul(e, r.hi, mul(e, z, p)), mul(e, r.lo, slope)));
}

static vector cos_core(qgc_emitter *e, pair r)
{
    vector z = mul(e, r.hi, r.hi), half = mul_f(e, z, 0.5f), p;
    POLY(p, QGC_MATH_COS, z);
    vector top = sub_from_f(e, 1.0f, half);
    vector lost = sub(e, sub_from_f(e, 1.0f, top), half);
    vector rest = sub(e, mul(e, mul(e, z, z), p), mul(e, r.hi, r.lo));
    return add(e, top, add(e, lost, rest));
}

static vector has_bit(qgc_emitter *e, vector x, uint32_t bit)
{
    vector kept = masked(e, x, bit);
    return LLVMBuildICmp(e->builder, LLVMIntNE, kept, LLVMConstNull(LLVMTypeOf(x)), "");
}

static vector if_finite(qgc_emitter *e, vector x, vector result)
{
    return or_nan(e, compare(e, LLVMRealOLT, qgc_emit_abs(e, x), QGC_F32_INF), result);
}

static vector keep_zero(qgc_emitter *e, vector x, vector result)
{
    return choose(e, compare(e, LLVMRealOEQ, x, 0.0f), x, result);
}

vector qgc_emit_sin(qgc_emitter *e, vector x)
{
    trig_parts parts = trig_reduce(e, x);
    vector sine = sin_core(e, parts.r), cosine = cos_core(e, parts.r);
    vector result = choose(e, has_bit(e, parts.quadrant, 1), cosine, sine);
    result = choose(e, has_bit(e, parts.quadrant, 2), negate(e, result), result);
    return if_finite(e, x, keep_zero(e, x, result));
}

vector qgc_emit_cos(qgc_emitter *e, vector x)
{
    trig_parts parts = trig_reduce(e, x);
    vector sine = sin_core(e, parts.r), cosine = cos_core(e, parts.r);
    vector result = choose(e, has_bit(e, parts.quadrant, 1), sine, cosine);
    vector flips = has_bit(e, add_i(e, parts.quadrant, 1), 2);
    return if_finite(e, x, choose(e, flips, negate(e, result), result));
}

vector qgc_emit_tan(qgc_emitter *e, vector x)
{
    trig_parts parts = trig_reduce(e, x);
    vector sine = sin_core(e, parts.r), cosine = cos_core(e, parts.r);
    vector is_odd = has_bit(e, parts.quadrant, 1);
    vector top = choose(e, is_odd, negate(e, cosine), sine);
    vector result = divide(e, top, choose(e, is_odd, sine, cosine));
    return if_finite(e, x, keep_zero(e, x, result));
}

/* ---- inverses ---- */

static vector asin_tail(qgc_emitter *e, vector z)
{
    vector p;
    POLY(p, QGC_MATH_ASIN, z);
    return mul(e, z, p);
}

typedef struct asin_parts {
    vector twice_root, low; /* low: twice (root * tail + what root lacks) */
} asin_parts;

static asin_parts asin_reduce(qgc_emitter *e, vector magnitude)
{
    vector zero = qgc_emit_like_f32(e, magnitude, 0.0f);
    vector z = mul_f(e, sub_from_f(e, 1.0f, magnitude), 0.5f);
    z = choose(e, compare(e, LLVMRealOLT, z, 0.0f), zero, z);
    vector root = qgc_emit_sqrt(e, z), twice = mul_f(e, root, 2.0f);
    pair square = two_product(e, root, root);
    vector low = divide(e, sub(e, sub(e, z, square.hi), square.lo), twice);
    low = choose(e, compare(e, LLVMRealOGT, root, 0.0f), low, zero);
    vector sum = add(e, mul(e, root, asin_tail(e, z)), low);
    return (asin_parts){twice, mul_f(e, sum, 2.0f)};
}

vector qgc_emit_asin(qgc_emitter *e, vector x)
{
    vector magnitude = qgc_emit_abs(e, x);
    vector small = add(e, x, mul(e, x, asin_tail(e, mul(e, x, x))));
    asin_parts parts = asin_reduce(e, magnitude);
    vector low = add_f(e, parts.low, -PI_2_LO);
    vector large = sub_from_f(e, PI_2_HI, add(e, parts.twice_root, low));
    vector result = choose(e, is_at_most(e, magnitude, 0.5f), small, copy_sign(e, large, x));
    return or_nan(e, is_at_most(e, magnitude, 1.0f), result);
}

vector qgc_emit_acos(qgc_emitter *e, vector x)
{
    vector magnitude = qgc_emit_abs(e, x), half_pi = qgc_emit_like_f32(e, x, PI_2_HI);
    pair small = fast_two_sum(e, half_pi, negate(e, x));
    vector tail = mul(e, x, asin_tail(e, mul(e, x, x)));
    vector near_zero = add(e, small.hi, add(e, small.lo, sub_from_f(e, PI_2_LO, tail)));
    asin_parts parts = asin_reduce(e, magnitude);
    vector positive = add(e, parts.twice_root, parts.low);
    vector rest = add(e, parts.twice_root, add_f(e, parts.low, -2.0f * PI_2_LO));
    vector negative = sub_from_f(e, 2.0f * PI_2_HI, rest);
    vector result = choose(e, compare(e, LLVMRealOGT, x, 0.0f), positive, negative);
    result = choose(e, is_at_most(e, magnitude, 0.5f), near_zero, result);
    return or_nan(e, is_at_most(e, magnitude, 1.0f), result);
}

vector qgc_emit_atan(qgc_emitter *e, vector x)
{
    vector magnitude = qgc_emit_abs(e, x), p;
    vector middle = compare(e, LLVMRealOGT, magnitude, 0x1.a8279ap-2f);
    vector outer = compare(e, LLVMRealOGT, magnitude, 0x1.3504f4p+1f);
#define BY_RANGE(outer_, middle_, inner_)                                                          \
    choose(e, outer, outer_, choose(e, middle, middle_, inner_))
#define CONSTANT(value) qgc_emit_like_f32(e, x, value)
    vector top = BY_RANGE(CONSTANT(-1.0f), add_f(e, magnitude, -1.0f), magnitude);
    vector bottom = BY_RANGE(magnitude, add_f(e, magnitude, 1.0f), CONSTANT(1.0f));
    vector base = BY_RANGE(CONSTANT(PI_2_HI), CONSTANT(0.5f * PI_2_HI), CONSTANT(0.0f));
    vector base_low = BY_RANGE(CONSTANT(PI_2_LO), CONSTANT(0.5f * PI_2_LO), CONSTANT(0.0f));
#undef CONSTANT
#undef BY_RANGE
    vector t = divide(e, top, bottom), z = mul(e, t, t);
    POLY(p, QGC_MATH_ATAN, z);
    vector rest = add(e, mul(e, t, mul(e, z, p)), base_low);
    vector result = add(e, base, add(e, t, rest));
    return choose(e, qgc_emit_is_nan(e, x), x, copy_sign(e, result, x));
}

/* ---- hyperbolic ---- */

static vector half_exp(qgc_emitter *e, vector magnitude)
{
    exp_parts parts = exp_reduce(e, clamp(e, magnitude, 0.0f, 90.0f));
    return scale(e, add_f(e, parts.q, 1.0f), add_i(e, parts.n, -1));
}

/* 1/4 / half */
static vector quarter_over(qgc_emitter *e, vector half)
{
    return divide(e, qgc_emit_like_f32(e, half, 0.25f), half);
}

vector qgc_emit_sinh(qgc_emitter *e, vector x)
{
    vector magnitude = qgc_emit_abs(e, x), z = mul(e, x, x), p;
    POLY(p, QGC_MATH_SINH, z);
    vector small = add(e, x, mul(e, x, mul(e, z, p)));
    vector half = half_exp(e, magnitude);
    vector large = copy_sign(e, sub(e, half, quarter_over(e, half)), x);
    large = choose(e, qgc_emit_is_nan(e, x), x, large);
    return choose(e, compare(e, LLVMRealOLT, magnitude, 1.0f), small, large);
}

vector qgc_emit_cosh(qgc_emitter *e, vector x)
{
    vector half = half_exp(e, qgc_emit_abs(e, x));
    vector result = add(e, half, quarter_over(e, half));
    return choose(e, qgc_emit_is_nan(e, x), x, result);
}

vector qgc_emit_asinh(qgc_emitter *e, vector x)
{
    vector magnitude = qgc_emit_abs(e, x);
    vector is_large = compare(e, LLVMRealOGT, magnitude, 0x1p24f);
    vector limited = choose(e, is_large, qgc_emit_like_f32(e, x, 1.0f), magnitude);
    vector square = mul(e, limited, limited);
    vector root = qgc_emit_sqrt(e, add_f(e, square, 1.0f));
    vector excess = add(e, limited, divide(e, square, add_f(e, root, 1.0f)));
    vector near = qgc_emit_log1p(e, excess);
    vector far = add_f(e, qgc_emit_log(e, magnitude), 0x1.62e43p-1f);
    vector result = copy_sign(e, choose(e, is_large, far, near), x);
    vector as_is = LLVMBuildFCmp(e->builder, LLVMRealUEQ, x, qgc_emit_like_f32(e, x, 0.0f), "");
    return choose(e, as_is, x, result);
}

vector qgc_emit_acosh(qgc_emitter *e, vector x)
{
    vector zero = qgc_emit_like_f32(e, x, 0.0f), regular = compare(e, LLVMRealOGE, x, 1.0f);
    vector is_large = compare(e, LLVMRealOGT, x, 0x1p24f);
    vector takes = LLVMBuildAnd(e->builder, regular, LLVMBuildNot(e->builder, is_large, ""), "");
    vector t = choose(e, takes, add_f(e, x, -1.0f), zero);
    vector root = qgc_emit_sqrt(e, add(e, mul_f(e, t, 2.0f), mul(e, t, t)));
    vector near = qgc_emit_log1p(e, add(e, t, root));
    vector far = add_f(e, qgc_emit_log(e, x), 0x1.62e43p-1f);
    return or_nan(e, regular, choose(e, is_large, far, near));
}

vector qgc_emit_atanh(qgc_emitter *e, vector x)
{
    vector magnitude = qgc_emit_abs(e, x);
    vector quotient = divide(e, mul_f(e, magnitude, 2.0f), sub_from_f(e, 1.0f, magnitude));
    vector result = mul_f(e, qgc_emit_log1p(e, quotient), 0.5f);
    vector is_pole = compare(e, LLVMRealOEQ, magnitude, 1.0f);
    result = choose(e, is_pole, qgc_emit_like_f32(e, x, QGC_F32_INF), result);
    result = or_nan(e, is_at_most(e, magnitude, 1.0f), result);
    return keep_zero(e, x, copy_sign(e, result, x));
}
