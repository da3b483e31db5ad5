/* Steps shared by math*.c: bits of an f32, powers of two, sums and products in two f32. */
#ifndef QGC_RUNTIME_MATH_BITS_H
#define QGC_RUNTIME_MATH_BITS_H

#include "runtime/math_coefficients.h"

#include "qgc/base.h"

#include <string.h>

#define QGC_F32_INF     __builtin_inff()
#define QGC_F32_NAN     __builtin_nanf("")
#define QGC_F32_LN2_HI  0x1.62e4p-1f    /* 15 bits: a product with |n| < 512 is exact */
#define QGC_F32_LN2_LO  0x1.7f7d1cp-20f /* ln 2 - LN2_HI */
#define QGC_F32_LOG2_E  0x1.715476p+0f  /* 1 / ln 2 */
#define QGC_F32_PI_2_HI 0x1.921fb6p+0f
#define QGC_F32_PI_2_LO -0x1.777a5cp-25f
#define QGC_F32_ROUNDER 0x1.8p+23f /* t = x + ROUNDER leaves rne(x) in the low bits of t */
#define QGC_F32_SIGN    UINT32_C(0x80000000)

/* 2/pi: 31 zero bits and the units bit, then 224 bits of fraction. */
#define QGC_F32_TWO_OVER_PI                                                                        \
    {                                                                                              \
        0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,     \
    }

/* Horner form; |table| is one of QGC_MATH_*. The loop has a constant count. */
#define QGC_F32_POLY(out, table, t)                                                                \
    do {                                                                                           \
        static const float coefficients[] = table;                                                 \
        size_t num_left = sizeof coefficients / sizeof coefficients[0] - 1;                        \
        (out) = coefficients[num_left];                                                            \
        while (num_left > 0)                                                                       \
            (out) = (out) * (t) + coefficients[--num_left];                                        \
    } while (0)

static inline uint32_t f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float f32_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float f32_abs(float x)
{
    return f32_from_bits(f32_bits(x) & ~QGC_F32_SIGN);
}

/* The magnitude of |x| (not negative) with the sign of |sign|. */
static inline float f32_copy_sign(float x, float sign)
{
    return f32_from_bits(f32_bits(x) | (f32_bits(sign) & QGC_F32_SIGN));
}

/* 2^n for -126 <= n <= 127; |n| is a two's complement number in unsigned bits, any other value
 * gives some float, never undefined behaviour (NaN arguments come here). */
static inline float f32_power_of_two(uint32_t n)
{
    return f32_from_bits((n + 127) << 23);
}

/* y * 2^n in two steps, of which only the second can round: |n| <= 250, 0.5 < |y| < 2. */
static inline float f32_scale(float y, uint32_t n)
{
    uint32_t half = (n >> 1) | (n & QGC_F32_SIGN);
    return y * f32_power_of_two(half) * f32_power_of_two(n - half);
}

/* An unevaluated sum hi + lo, |lo| <= ulp(hi) / 2. */
typedef struct f32_pair {
    float hi, lo;
} f32_pair;

/* Exact a + b where |a| >= |b| or a = 0. */
static inline f32_pair f32_fast_two_sum(float a, float b)
{
    float sum = a + b;
    return (f32_pair){sum, b - (sum - a)};
}

/* Exact a + b. */
static inline f32_pair f32_two_sum(float a, float b)
{
    float sum = a + b;
    float b_part = sum - a;
    return (f32_pair){sum, (a - (sum - b_part)) + (b - b_part)};
}

/* Exact a * b (Dekker's product); |a|, |b| < 2^100, and nothing underflows. */
static inline f32_pair f32_two_product(float a, float b)
{
    float a_split = a * 4097.0f, b_split = b * 4097.0f;
    float a_hi = a_split - (a_split - a), b_hi = b_split - (b_split - b);
    float a_lo = a - a_hi, b_lo = b - b_hi;
    float product = a * b;
    float error = ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo;
    return (f32_pair){product, error};
}

/* Relative error about 2^-45 each. */
static inline f32_pair f32_pair_multiply(f32_pair a, f32_pair b)
{
    f32_pair product = f32_two_product(a.hi, b.hi);
    return f32_fast_two_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline f32_pair f32_pair_add(f32_pair a, f32_pair b)
{
    f32_pair sum = f32_two_sum(a.hi, b.hi);
    return f32_fast_two_sum(sum.hi, sum.lo + (a.lo + b.lo));
}

/* exp(x) = (1 + q) * 2^n; q in [-0.3, 0.42]. */
typedef struct f32_exp_parts {
    float q;
    float n_float; /* n */
    uint32_t n;    /* n in two's complement */
} f32_exp_parts;

/* |x| <= 200, or NaN (which gives some n and a NaN q). */
static inline f32_exp_parts f32_exp_reduce(float x)
{
    float shifted = x * QGC_F32_LOG2_E + QGC_F32_ROUNDER;
    float n = shifted - QGC_F32_ROUNDER;
    float r = (x - n * QGC_F32_LN2_HI) - n * QGC_F32_LN2_LO;
    float p;
    QGC_F32_POLY(p, QGC_MATH_EXP, r);
    return (f32_exp_parts){r + r * r * p, n, f32_bits(shifted) - f32_bits(QGC_F32_ROUNDER)};
}

/* max(low, min(x, high)); NaN stays. */
static inline float f32_clamp(float x, float low, float high)
{
    float above = x < low ? low : x;
    return above > high ? high : above;
}

#endif
