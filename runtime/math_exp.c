/* exp and what is made of it. */
#include "runtime/math.h"

#include "runtime/math_bits.h"

float qgc_f32_rne(float x)
{
    /* Adding 2^23 leaves no bit for a fraction, so the addition rounds. */
    float magnitude = f32_abs(x);
    float rounded = (magnitude + 0x1p23f) - 0x1p23f;
    return magnitude < 0x1p23f ? f32_copy_sign(rounded, x) : x;
}

float qgc_f32_exp(float x)
{
    /* exp(-104) < 2^-150 rounds to 0, exp(89) > 2^128 to inf. */
    f32_exp_parts parts = f32_exp_reduce(f32_clamp(x, -104.0f, 89.0f));
    float result = f32_scale(1.0f + parts.q, parts.n);
    return x != x ? x : result;
}

float qgc_f32_expm1(float x)
{
    /* exp(x) - 1 = (q + (1 - 2^-n)) 2^n. Below -20 the sum rounds to -1; above, 1 - 2^-n is exact
     * or rounds to 1. */
    f32_exp_parts parts = f32_exp_reduce(f32_clamp(x, -20.0f, 89.0f));
    float capped = parts.n_float > 30.0f ? 30.0f : parts.n_float;
    uint32_t minus_n = f32_bits(QGC_F32_ROUNDER - capped) - f32_bits(QGC_F32_ROUNDER);
    float sum = parts.q + (1.0f - f32_power_of_two(minus_n));
    float result = f32_scale(sum, parts.n);
    return x != x || x == 0.0f ? x : result;
}

float qgc_f32_tanh(float x)
{
    float magnitude = f32_abs(x), z = x * x, p;
    QGC_F32_POLY(p, QGC_MATH_TANH, z);
    float small = magnitude + magnitude * (z * p);
    float large = 1.0f - 2.0f / (qgc_f32_exp(2.0f * magnitude) + 1.0f);
    return x != x ? x : f32_copy_sign(magnitude < 0.75f ? small : large, x);
}

/* factor / (1 + exp(-x)); |factor| is 1 or x. With e = exp(-|x|) this is factor * e / (1 + e) for
 * negative x, where factor * e is scaled by 2^n last (e may be subnormal). The roundings of e and
 * 1 + e (sum_low) come back as a correction, otherwise they cost 2 ulp. */
static float times_sigmoid(float factor, float x)
{
    f32_exp_parts parts = f32_exp_reduce(f32_clamp(-f32_abs(x), -120.0f, 0.0f));
    float y = 1.0f + parts.q, y_low = parts.q - (y - 1.0f);
    float e = f32_scale(y, parts.n), e_low = f32_scale(y_low, parts.n);
    float sum = 1.0f + e, sum_low = e - (sum - 1.0f);
    float top = x < 0.0f ? f32_scale(factor * y, parts.n) : factor;
    float top_low = x < 0.0f ? f32_scale(factor * y_low, parts.n) : 0.0f;
    float quotient = top / sum;
    float correction = (top_low - quotient * (sum_low + e_low)) / sum;
    float result = f32_copy_sign(f32_abs(quotient + correction), factor);
    return x > 104.0f ? factor : result;
}

float qgc_f32_sigmoid(float x)
{
    float result = times_sigmoid(1.0f, x);
    return x != x ? x : result;
}

float qgc_f32_silu(float x)
{
    /* Below -120 the result is -0. */
    float limited = x < -120.0f ? -120.0f : x;
    float result = times_sigmoid(limited, limited);
    return x != x ? x : result;
}

float qgc_f32_softplus(float x)
{
    float positive = x < 0.0f ? 0.0f : x;
    return positive + qgc_f32_log1p(qgc_f32_exp(-f32_abs(x)));
}

float qgc_f32_erf(float x)
{
    float magnitude = f32_abs(x), z = x * x, p, q;
    QGC_F32_POLY(p, QGC_MATH_ERF, z);
    float small = x + x * p;
    /* erf rounds to 1 from 3.92 on. */
    float limited = magnitude < 4.0f ? magnitude : 4.0f;
    QGC_F32_POLY(q, QGC_MATH_ERFC_LOG, limited);
    float large = 1.0f - qgc_f32_exp(limited * q);
    return magnitude < 0.875f ? small : x != x ? x : f32_copy_sign(large, x);
}

float qgc_f32_gelu(float x)
{
    float result = 0.5f * x * (1.0f + qgc_f32_erf(x * 0x1.6a09e6p-1f));
    return x == -QGC_F32_INF ? -0.0f : result;
}

float qgc_f32_gelu_tanh(float x)
{
    float cubed = x * x * x;
    float inner = 0x1.988454p-1f * (x + 0x1.6e4e26p-5f * cubed);
    float result = 0.5f * x * (1.0f + qgc_f32_tanh(inner));
    return x == -QGC_F32_INF ? -0.0f : result;
}

/* exp(|x|) / 2, infinite only where half of exp is. */
static float half_exp(float magnitude)
{
    f32_exp_parts parts = f32_exp_reduce(f32_clamp(magnitude, 0.0f, 90.0f));
    return f32_scale(1.0f + parts.q, parts.n - 1);
}

float qgc_f32_sinh(float x)
{
    float magnitude = f32_abs(x), z = x * x, p;
    QGC_F32_POLY(p, QGC_MATH_SINH, z);
    float small = x + x * (z * p);
    float half = half_exp(magnitude);
    float large = half - 0.25f / half;
    return magnitude < 1.0f ? small : x != x ? x : f32_copy_sign(large, x);
}

float qgc_f32_cosh(float x)
{
    float half = half_exp(f32_abs(x));
    return x != x ? x : half + 0.25f / half;
}
