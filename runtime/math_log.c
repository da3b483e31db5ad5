/* log and what is made of it: log1p, pow, the inverse hyperbolic functions. */
#include "runtime/math.h"

#include "runtime/math_bits.h"

/* x = m * 2^k, sqrt(1/2) <= m < sqrt(2); for positive finite x. */
typedef struct log_parts {
    float m, k;
} log_parts;

static log_parts log_reduce(float x)
{
    bool subnormal = x < 0x1p-126f;
    uint32_t bits = f32_bits(subnormal ? x * 0x1p23f : x);
    uint32_t sqrt_half = f32_bits(0x1.6a09e6p-1f);
    uint32_t offset = bits - sqrt_half + (UINT32_C(128) << 23); /* not negative */
    float m = f32_from_bits((offset & 0x7fffff) + sqrt_half);
    int32_t k = (int32_t)(offset >> 23) - 128 - (subnormal ? 23 : 0);
    return (log_parts){m, (float)k};
}

/* ln(x + c * x) for positive finite x, |c| tiny. */
static float log_core(float x, float c)
{
    log_parts parts = log_reduce(x);
    float f = parts.m - 1.0f;
    float s = f / (2.0f + f), z = s * s, p;
    QGC_F32_POLY(p, QGC_MATH_LOG, z);
    /* ln(1 + f) = f - f^2/2 + s (f^2/2 + z p): the largest term is exact, the next small. */
    float half_square = 0.5f * f * f;
    float low = s * (half_square + z * p) + (parts.k * QGC_F32_LN2_LO + c);
    return parts.k * QGC_F32_LN2_HI - ((half_square - low) - f);
}

float qgc_f32_log(float x)
{
    float result = log_core(x, 0.0f);
    float special = x == 0.0f ? -QGC_F32_INF : x < 0.0f ? QGC_F32_NAN : x;
    return x > 0.0f && x < QGC_F32_INF ? result : special;
}

float qgc_f32_log1p(float x)
{
    float sum = 1.0f + x;
    float lost = x < 1.0f ? x - (sum - 1.0f) : 1.0f - (sum - x);
    float result = log_core(sum, lost / sum);
    float special = x == -1.0f ? -QGC_F32_INF : x < -1.0f ? QGC_F32_NAN : x;
    return x > -1.0f && x < QGC_F32_INF && x != 0.0f ? result : special;
}

/* log2(x) to 2^-35 relative, for positive finite x. log2(m) = 2 atanh(s) / ln 2, s = (m-1)/(m+1).
 */
static f32_pair log2_pair(float x)
{
    const f32_pair first = {0x1.715476p+1f, 0x1.4ae0cp-25f};    /* 2 / ln 2 */
    const f32_pair second = {0x1.ec709ep-1f, -0x1.e2fe02p-28f}; /* 2 / (3 ln 2) */
    log_parts parts = log_reduce(x);
    float f = parts.m - 1.0f;
    f32_pair sum = f32_fast_two_sum(2.0f, f); /* m + 1; f is exact */
    float s_hi = f / sum.hi;
    f32_pair back = f32_two_product(s_hi, sum.hi);
    float s_lo = (((f - back.hi) - back.lo) - s_hi * sum.lo) / sum.hi;
    f32_pair s = f32_fast_two_sum(s_hi, s_lo);
    f32_pair z = f32_pair_multiply(s, s);
    float p;
    QGC_F32_POLY(p, QGC_MATH_LOG2_TAIL, z.hi);
    f32_pair series = f32_pair_add(second, (f32_pair){z.hi * p, 0.0f});
    series = f32_pair_add(first, f32_pair_multiply(z, series));
    return f32_pair_add((f32_pair){parts.k, 0.0f}, f32_pair_multiply(s, series));
}

/* 2^(x.hi + x.lo), |x.hi| <= 200. */
static float exp2_pair(f32_pair x)
{
    float shifted = x.hi + QGC_F32_ROUNDER;
    float r = (x.hi - (shifted - QGC_F32_ROUNDER)) + x.lo;
    float p;
    QGC_F32_POLY(p, QGC_MATH_EXP2, r);
    float y = 1.0f + (r * 0x1.62e43p-1f + r * r * p);
    return f32_scale(y, f32_bits(shifted) - f32_bits(QGC_F32_ROUNDER));
}

/* |x|^y for |x| neither 0 nor infinite. */
static float pow_magnitude(float magnitude, float y)
{
    /* |log2 x| >= 2^-24 unless x = 1, so a larger |y| gives 0 or inf as well. */
    f32_pair log2 = log2_pair(magnitude);
    f32_pair scaled = f32_pair_multiply(log2, (f32_pair){f32_clamp(y, -0x1p32f, 0x1p32f), 0.0f});
    bool fits = f32_abs(scaled.hi) < 200.0f;
    f32_pair limited = {f32_clamp(scaled.hi, -200.0f, 200.0f), fits ? scaled.lo : 0.0f};
    return exp2_pair(limited);
}

float qgc_f32_pow(float x, float y)
{
    float magnitude = f32_abs(x);
    bool at_end = magnitude == 0.0f || magnitude == QGC_F32_INF;
    float end = (magnitude == 0.0f) == (y < 0.0f) ? QGC_F32_INF : 0.0f;
    float result = at_end ? end : pow_magnitude(at_end ? 1.0f : magnitude, y);
    bool is_integer = qgc_f32_rne(y) == y;
    float half = 0.5f * y;
    bool is_odd = is_integer && qgc_f32_rne(half) != half;
    bool negative = (f32_bits(x) & QGC_F32_SIGN) != 0;
    result = negative && is_odd ? -result : result;
    result = x < 0.0f && !is_integer && !at_end ? QGC_F32_NAN : result;
    result = x != x || y != y ? QGC_F32_NAN : result;
    return x == 1.0f || y == 0.0f ? 1.0f : result;
}

static float square_root(float x)
{
    return __builtin_sqrtf(x);
}

float qgc_f32_asinh(float x)
{
    float magnitude = f32_abs(x);
    bool large = magnitude > 0x1p24f; /* asinh = ln 2|x| there */
    float limited = large ? 1.0f : magnitude;
    float square = limited * limited;
    float excess = limited + square / (1.0f + square_root(1.0f + square));
    float near = qgc_f32_log1p(excess);
    float far = qgc_f32_log(magnitude) + 0x1.62e43p-1f;
    return x != x || x == 0.0f ? x : f32_copy_sign(large ? far : near, x);
}

float qgc_f32_acosh(float x)
{
    bool large = x > 0x1p24f;
    float t = large || !(x >= 1.0f) ? 0.0f : x - 1.0f;
    float near = qgc_f32_log1p(t + square_root(2.0f * t + t * t));
    float far = qgc_f32_log(x) + 0x1.62e43p-1f;
    return x >= 1.0f ? (large ? far : near) : QGC_F32_NAN;
}

float qgc_f32_atanh(float x)
{
    float magnitude = f32_abs(x);
    float result = 0.5f * qgc_f32_log1p(2.0f * magnitude / (1.0f - magnitude));
    result = magnitude == 1.0f ? QGC_F32_INF : result;
    result = magnitude > 1.0f || x != x ? QGC_F32_NAN : result;
    return x == 0.0f ? x : f32_copy_sign(result, x);
}
