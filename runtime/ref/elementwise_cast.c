/* cast: from every element type to every other. */
#include "base/number.h"
#include "runtime/ref/elementwise.h"

#include <math.h>
#include <string.h>

/* ---- to the half types, rounding once ---- */

/* To f32, rounding to odd: toward zero, with the last bit set where something was lost. f32 has
 * more than two bits beyond f16 and bf16, so rounding the result half to even is rounding |v| once.
 */
static float f32_to_odd(double v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if ((double)f == v || isnan(f))
        return f;
    bits -= fabs((double)f) > fabs(v);
    bits |= 1;
    memcpy(&f, &bits, sizeof bits);
    return f;
}

/* To f64 in the same way, for integers that f64 does not hold. */
static double f64_to_odd(uint64_t magnitude, bool is_negative)
{
    const uint64_t dropped = (1u << 11) - 1;
    if (magnitude >> 53) {
        bool inexact = (magnitude & dropped) != 0;
        magnitude = (magnitude & ~dropped) | (uint64_t)inexact << 11;
    }
    return is_negative ? -(double)magnitude : (double)magnitude;
}

static void set_half(qgc_tensor *y, size_t i, double v)
{
    float odd = f32_to_odd(v);
    ((uint16_t *)y->data)[i] =
        y->dtype == QGC_DTYPE_F16 ? qgc_f16_from_f32(odd) : qgc_bf16_from_f32(odd);
}

/* ---- to integers ---- */

/* 2^63 and 2^64 are the first beyond; the bounds of narrower types are exact in f64. */
static int64_t saturate_signed(double v, size_t bits)
{
    int64_t max = (int64_t)(UINT64_MAX >> (65 - bits));
    double limit = ldexp(1, (int)bits - 1);
    if (isnan(v))
        return 0;
    if (v >= limit)
        return max;
    return v < -limit ? -max - 1 : (int64_t)v;
}

static uint64_t saturate_unsigned(double v, size_t bits)
{
    if (isnan(v) || v <= 0)
        return 0;
    return v >= ldexp(1, (int)bits) ? UINT64_MAX >> (64 - bits) : (uint64_t)v;
}

/* ---- one element ---- */

static void cast_float(qgc_tensor *y, size_t i, double v)
{
    size_t bits = 8 * qgc_dtype_bytes(y->dtype);
    switch (qgc_dtype_get_kind(y->dtype)) {
    case QGC_FLOAT:
        if (y->dtype == QGC_DTYPE_F64)
            qgc_set_f64(y, i, v);
        else if (y->dtype == QGC_DTYPE_F32)
            qgc_set_f32(y, i, (float)v);
        else
            set_half(y, i, v);
        break;
    case QGC_SIGNED:
        qgc_set_int(y, i, saturate_signed(v, bits));
        break;
    case QGC_UNSIGNED:
        qgc_set_int(y, i, (int64_t)saturate_unsigned(v, bits));
        break;
    case QGC_BOOL:
        qgc_set_int(y, i, v != 0);
        break;
    }
}

static void cast_integer(qgc_tensor *y, size_t i, int64_t v, bool is_unsigned)
{
    bool is_negative = v < 0 && !is_unsigned;
    if (qgc_dtype_get_kind(y->dtype) != QGC_FLOAT)
        qgc_set_int(y, i, v);
    else if (y->dtype == QGC_DTYPE_F64)
        qgc_set_f64(y, i, is_unsigned ? (double)(uint64_t)v : (double)v);
    else if (y->dtype == QGC_DTYPE_F32)
        qgc_set_f32(y, i, is_unsigned ? (float)(uint64_t)v : (float)v);
    else
        set_half(y, i, f64_to_odd(is_negative ? 0 - (uint64_t)v : (uint64_t)v, is_negative));
}

qgc_result ref_cast(qgc_ref_call *call)
{
    const qgc_tensor *x = call->operands[0];
    qgc_tensor *y = &call->results[0];
    size_t num = qgc_tensor_count(y);
    if (x->dtype == y->dtype) {
        memcpy(y->data, x->data, num ? y->bytes : 0);
        return QGC_OK;
    }
    qgc_dtype_kind kind = qgc_dtype_get_kind(x->dtype);
    for (size_t i = 0; i < num; i++) {
        if (kind == QGC_FLOAT)
            cast_float(y, i, qgc_get_f64(x, i));
        else
            cast_integer(y, i, qgc_get_int(x, i), kind == QGC_UNSIGNED);
    }
    return QGC_OK;
}
