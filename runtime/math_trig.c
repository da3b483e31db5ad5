/* sin, cos, tan and their inverses. */
#include "runtime/math.h"

#include "runtime/math_bits.h"

#define PI_2_HI QGC_F32_PI_2_HI
#define PI_2_LO QGC_F32_PI_2_LO

/* x = quadrant * pi/2 + r, |r| <= pi/4 (a little over), quadrant mod 4. */
typedef struct trig_parts {
    f32_pair r;
    uint32_t quadrant;
} trig_parts;

static const uint32_t two_over_pi[8] = QGC_F32_TWO_OVER_PI;

/* 32 bits of the table from bit |position| on. */
static uint32_t table_bits(uint32_t position)
{
    uint64_t pair = (uint64_t)two_over_pi[position >> 5] << 32 | two_over_pi[(position >> 5) + 1];
    return (uint32_t)(pair << (position & 31) >> 32);
}

/* |m| * 2^-62 * pi/2 to 2^-45 relative; m < 2^62. */
static f32_pair scale_fraction(uint64_t m)
{
    float high = (float)(int32_t)(m >> 38), middle = (float)(int32_t)(m >> 14 & 0xffffff);
    float low = (float)(int32_t)(m & 0x3fff);
    f32_pair fraction = f32_fast_two_sum(high * 0x1p-24f, middle * 0x1p-48f);
    fraction = f32_fast_two_sum(fraction.hi, fraction.lo + low * 0x1p-62f);
    return f32_pair_multiply(fraction, (f32_pair){PI_2_HI, PI_2_LO});
}

/* Payne and Hanek: only the bits of 2/pi that reach x * 2/pi mod 4 are multiplied. With x = m 2^k,
 * k = exponent - 150, scaled = floor(m * (2/pi) * 2^(k + 62)) mod 2^64: the product needs the bits
 * k - 1 to k + 94 of the fraction of 2/pi, and bit i stands at position i + 31 of the table. No f32
 * comes nearer than 2^-32 to a multiple of pi/2; the error of |scaled| is below 2, that is 2^-61.
 */
static trig_parts reduce_large(float magnitude)
{
    uint32_t bits = f32_bits(magnitude);
    uint32_t exponent = bits >> 23; /* 126 (pi/4) to 254 */
    uint64_t m = (bits & 0x7fffff) | 0x800000;
    uint32_t position = exponent - 120;
    uint64_t scaled = (m * table_bits(position) << 32) + m * table_bits(position + 32) +
                      (m * table_bits(position + 64) >> 32);
    uint32_t quadrant = (uint32_t)((scaled + (UINT64_C(1) << 61)) >> 62);
    uint64_t rest = scaled - ((uint64_t)quadrant << 62);
    bool negative = rest >> 63 != 0;
    f32_pair r = scale_fraction(negative ? 0 - rest : rest);
    return (trig_parts){negative ? (f32_pair){-r.hi, -r.lo} : r, quadrant & 3};
}

static trig_parts trig_reduce(float x)
{
    float magnitude = f32_abs(x);
    if (!(magnitude > 0x1.921fb6p-1f && magnitude < QGC_F32_INF))
        return (trig_parts){{x, 0.0f}, 0};
    trig_parts parts = reduce_large(magnitude);
    if (x > 0.0f)
        return parts;
    return (trig_parts){{-parts.r.hi, -parts.r.lo}, (0 - parts.quadrant) & 3};
}

static float sin_core(f32_pair r)
{
    float z = r.hi * r.hi, p;
    QGC_F32_POLY(p, QGC_MATH_SIN, z);
    return r.hi + (r.hi * (z * p) + r.lo * (1.0f - 0.5f * z));
}

static float cos_core(f32_pair r)
{
    float z = r.hi * r.hi, half = 0.5f * z, p;
    QGC_F32_POLY(p, QGC_MATH_COS, z);
    float top = 1.0f - half;
    return top + (((1.0f - top) - half) + (z * z * p - r.hi * r.lo));
}

float qgc_f32_sin(float x)
{
    trig_parts parts = trig_reduce(x);
    float result = parts.quadrant & 1 ? cos_core(parts.r) : sin_core(parts.r);
    result = parts.quadrant & 2 ? -result : result;
    return x - x == 0.0f ? (x == 0.0f ? x : result) : QGC_F32_NAN;
}

float qgc_f32_cos(float x)
{
    trig_parts parts = trig_reduce(x);
    float result = parts.quadrant & 1 ? sin_core(parts.r) : cos_core(parts.r);
    result = (parts.quadrant + 1) & 2 ? -result : result;
    return x - x == 0.0f ? result : QGC_F32_NAN;
}

float qgc_f32_tan(float x)
{
    trig_parts parts = trig_reduce(x);
    float sine = sin_core(parts.r), cosine = cos_core(parts.r);
    float result = parts.quadrant & 1 ? -cosine / sine : sine / cosine;
    return x - x == 0.0f ? (x == 0.0f ? x : result) : QGC_F32_NAN;
}

/* (asin(x) - x) / x for |x| <= 1/2, from z = x^2. */
static float asin_tail(float z)
{
    float p;
    QGC_F32_POLY(p, QGC_MATH_ASIN, z);
    return z * p;
}

/* For |x| > 1/2: asin|x| = pi/2 - 2 asin(root), root^2 = (1 - |x|) / 2. */
typedef struct asin_parts {
    float root; /* as computed */
    float low;  /* exact root - root */
    float tail; /* (asin(root) - root) / root */
} asin_parts;

static asin_parts asin_reduce(float magnitude)
{
    float z = 0.5f * (1.0f - magnitude); /* exact for magnitude >= 1/2 */
    z = z < 0.0f ? 0.0f : z;
    float root = __builtin_sqrtf(z);
    f32_pair square = f32_two_product(root, root);
    float low = root > 0.0f ? ((z - square.hi) - square.lo) / (2.0f * root) : 0.0f;
    return (asin_parts){root, low, asin_tail(z)};
}

float qgc_f32_asin(float x)
{
    float magnitude = f32_abs(x);
    float small = x + x * asin_tail(x * x);
    asin_parts parts = asin_reduce(magnitude);
    float low = 2.0f * (parts.root * parts.tail + parts.low) - PI_2_LO;
    float large = f32_copy_sign(PI_2_HI - (2.0f * parts.root + low), x);
    float result = magnitude <= 0.5f ? small : large;
    return magnitude <= 1.0f ? result : QGC_F32_NAN;
}

float qgc_f32_acos(float x)
{
    float magnitude = f32_abs(x);
    f32_pair small = f32_fast_two_sum(PI_2_HI, -x);
    float near_zero = small.hi + (small.lo + (PI_2_LO - x * asin_tail(x * x)));
    asin_parts parts = asin_reduce(magnitude);
    float low = 2.0f * (parts.root * parts.tail + parts.low);
    float positive = 2.0f * parts.root + low;
    float negative = 2.0f * PI_2_HI - (2.0f * parts.root + (low - 2.0f * PI_2_LO));
    float result = magnitude <= 0.5f ? near_zero : x > 0.0f ? positive : negative;
    return magnitude <= 1.0f ? result : QGC_F32_NAN;
}

float qgc_f32_atan(float x)
{
    /* atan(a) = base + atan(t) with |t| <= tan(pi/8). */
    float magnitude = f32_abs(x);
    bool middle = magnitude > 0x1.a8279ap-2f, outer = magnitude > 0x1.3504f4p+1f;
    float numerator = outer ? -1.0f : middle ? magnitude - 1.0f : magnitude;
    float denominator = outer ? magnitude : middle ? magnitude + 1.0f : 1.0f;
    float base = outer ? PI_2_HI : middle ? 0.5f * PI_2_HI : 0.0f;
    float base_low = outer ? PI_2_LO : middle ? 0.5f * PI_2_LO : 0.0f;
    float t = numerator / denominator, z = t * t, p;
    QGC_F32_POLY(p, QGC_MATH_ATAN, z);
    float result = base + (t + (t * (z * p) + base_low));
    return x != x ? x : f32_copy_sign(result, x);
}
