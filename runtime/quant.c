/* Quantization arithmetic: quantize, requantize, scale and zero point from a range. */
#include "runtime/quant.h"

#include "base/arena.h"
#include "base/number.h"
#include "runtime/math.h"

#include <float.h>

const char *qgc_quant_fault_text(qgc_quant_fault fault)
{
    static const char *const texts[] = {"",
#define TEXT(id, text) text,
                                        QGC_QUANT_FAULTS(TEXT)
#undef TEXT
    };
    return texts[fault];
}

bool qgc_quant_dtype_range(qgc_dtype dtype, qgc_int_range *out_range)
{
    static const qgc_int_range ranges[QGC_NUM_DTYPES] = {
        [QGC_DTYPE_I8] = {INT8_MIN, INT8_MAX},    [QGC_DTYPE_U8] = {0, UINT8_MAX},
        [QGC_DTYPE_I16] = {INT16_MIN, INT16_MAX}, [QGC_DTYPE_U16] = {0, UINT16_MAX},
        [QGC_DTYPE_I32] = {INT32_MIN, INT32_MAX},
    };
    if ((unsigned)dtype >= QGC_NUM_DTYPES || ranges[dtype].hi == 0)
        return false;
    *out_range = ranges[dtype];
    return true;
}

qgc_quant_fault qgc_quant_check_scale(float scale)
{
    if (scale != scale)
        return QGC_QUANT_SCALE_NAN;
    if (scale > FLT_MAX || scale < -FLT_MAX)
        return QGC_QUANT_SCALE_INFINITE;
    if (scale == 0.0f)
        return QGC_QUANT_SCALE_ZERO;
    if (scale < 0.0f)
        return QGC_QUANT_SCALE_NEGATIVE;
    return scale < FLT_MIN ? QGC_QUANT_SCALE_SUBNORMAL : QGC_QUANT_OK;
}

qgc_quant_fault qgc_quant_check(qgc_qparams params, qgc_int_range range)
{
    qgc_quant_fault fault = qgc_quant_check_scale(params.scale);
    if (fault != QGC_QUANT_OK)
        return fault;
    bool inside = range.lo <= params.zero_point && params.zero_point <= range.hi;
    return inside ? QGC_QUANT_OK : QGC_QUANT_ZERO_POINT;
}

static int32_t clamp(int64_t value, qgc_int_range range)
{
    if (value < range.lo)
        return range.lo;
    return value > range.hi ? range.hi : (int32_t)value;
}

/* clamp(rne(value) + zero_point, range); NaN counts as |nan_value| before the zero point. */
static int32_t round_and_clamp(float value, int32_t zero_point, qgc_int_range range,
                               int64_t nan_value)
{
    /* Beyond 2^33 every i32 zero point leaves the value outside every i32 range. */
    float limited = value < -0x1p33f ? -0x1p33f : value > 0x1p33f ? 0x1p33f : value;
    int64_t rounded = value != value ? nan_value : (int64_t)qgc_f32_rne(limited);
    return clamp(rounded + zero_point, range);
}

int32_t qgc_quantize(float x, qgc_qparams params, qgc_int_range range, qgc_quantize_mode mode)
{
    float value = mode == QGC_QUANTIZE_DIVIDE ? x / params.scale : x * (1.0f / params.scale);
    return round_and_clamp(value, params.zero_point, range, 0);
}

float qgc_dequantize(int32_t q, qgc_qparams params)
{
    int32_t difference = (int32_t)((uint32_t)q - (uint32_t)params.zero_point);
    return (float)difference * params.scale;
}

float qgc_fake_quant(float x, qgc_qparams params, qgc_int_range range, qgc_quantize_mode mode)
{
    return qgc_dequantize(qgc_quantize(x, params, range, mode), params);
}

float qgc_fake_cast_f16(float x)
{
    return qgc_f16_to_f32(qgc_f16_from_f32(x));
}

static float zero_first_offset(const qgc_requantize_params *params)
{
    float sum = 0.0f;
    for (size_t i = 0; params->zero_points && i < params->num_terms; ++i) {
        float product = (float)params->zero_points[i] * params->multipliers[i];
        sum = i == 0 ? product : sum + product;
    }
    return ((float)params->zero_point - sum) + params->bias;
}

int32_t qgc_requantize(const qgc_requantize_params *params, const int64_t *terms)
{
    bool zero_first = params->mode == QGC_REQUANTIZE_ZP_FIRST;
    float sum = zero_first ? zero_first_offset(params) : 0.0f;
    for (size_t i = 0; i < params->num_terms; ++i)
        sum = sum + (float)terms[i] * params->multipliers[i]; /* 0 + t1*m1 is t1*m1 */
    if (zero_first)
        return round_and_clamp(sum, 0, params->range, params->zero_point);
    return round_and_clamp(sum + params->bias, params->zero_point, params->range, 0);
}

int32_t qgc_requantize_one(const qgc_requantize_params *params, int32_t term)
{
    QGC_ASSERT(params->num_terms == 1, "%zu terms", params->num_terms);
    int64_t wide = term;
    return qgc_requantize(params, &wide);
}

qgc_quant_fault qgc_requantize_multiplier(float scale_x, float scale_w, float scale_y,
                                          float *out_multiplier)
{
    float product = scale_x * scale_w;
    const float checked[] = {scale_x, scale_w, scale_y, product, product / scale_y};
    for (size_t i = 0; i < sizeof checked / sizeof checked[0]; ++i) {
        qgc_quant_fault fault = qgc_quant_check_scale(checked[i]);
        if (fault != QGC_QUANT_OK)
            return fault;
    }
    *out_multiplier = product / scale_y;
    return QGC_QUANT_OK;
}

qgc_quant_fault qgc_pool_multiplier(float scale_x, int64_t count, float scale_y,
                                    float *out_multiplier)
{
    QGC_ASSERT(count > 0, "count %lld", (long long)count);
    float product = (float)count * scale_y;
    const float checked[] = {scale_x, scale_y, product, scale_x / product};
    for (size_t i = 0; i < sizeof checked / sizeof checked[0]; ++i) {
        qgc_quant_fault fault = qgc_quant_check_scale(checked[i]);
        if (fault != QGC_QUANT_OK)
            return fault;
    }
    *out_multiplier = scale_x / product;
    return QGC_QUANT_OK;
}

bool qgc_accumulates_in_i32(uint64_t num_products, uint32_t max_x, uint32_t max_w,
                            uint64_t max_bias)
{
    uint64_t product = (uint64_t)max_x * max_w, sum;
    if (__builtin_mul_overflow(product, num_products, &sum) ||
        __builtin_add_overflow(sum, max_bias, &sum))
        return false;
    return sum <= INT32_MAX;
}

qgc_quant_spec qgc_quant_spec_default(qgc_dtype dtype, qgc_quant_scheme scheme)
{
    qgc_quant_spec spec = {dtype, scheme, {0, 0}, QGC_QUANT_EPS};
    bool known = qgc_quant_dtype_range(dtype, &spec.range);
    QGC_ASSERT(known, "dtype %s", qgc_dtype_name(dtype));
    if (dtype == QGC_DTYPE_I8 && scheme == QGC_QUANT_SYMMETRIC)
        spec.range.lo = -127;
    return spec;
}

qgc_quant_fault qgc_quant_check_spec(const qgc_quant_spec *spec)
{
    qgc_int_range full;
    if (!qgc_quant_dtype_range(spec->dtype, &full))
        return QGC_QUANT_DTYPE;
    if (spec->range.lo >= spec->range.hi || spec->range.lo < full.lo || spec->range.hi > full.hi)
        return QGC_QUANT_BOUNDS;
    return qgc_quant_check_scale(spec->eps);
}

static float larger(float a, float b)
{
    return a < b ? b : a;
}

static qgc_qparams params_from_finite(const qgc_quant_spec *spec, float min, float max)
{
    float lo = min < 0.0f ? min : 0.0f, hi = max > 0.0f ? max : 0.0f;
    int64_t qmin = spec->range.lo, qmax = spec->range.hi;
    float span = (float)(qmax - qmin);
    if (spec->scheme == QGC_QUANT_SYMMETRIC) {
        int64_t sum = qmin + qmax + 1;
        int32_t middle = (int32_t)((sum - (sum & 1)) / 2); /* floor */
        return (qgc_qparams){larger(larger(-lo, hi) / (0.5f * span), spec->eps), middle};
    }
    float width = hi - lo;
    float quotient = width > FLT_MAX ? hi / span - lo / span : width / span;
    float scale = larger(quotient, spec->eps);
    int64_t below = (int64_t)qgc_f32_rne(lo / scale); /* about -span at most: no overflow */
    return (qgc_qparams){scale, clamp(qmin - below, spec->range)};
}

qgc_quant_fault qgc_qparams_from_range(const qgc_quant_spec *spec, float min, float max,
                                       qgc_qparams *out_params)
{
    qgc_quant_fault fault = qgc_quant_check_spec(spec);
    if (fault != QGC_QUANT_OK)
        return fault;
    if (min != min || max != max)
        return QGC_QUANT_RANGE_NAN;
    if (min > max)
        return QGC_QUANT_RANGE_EMPTY;
    if (min < -FLT_MAX || max > FLT_MAX)
        return QGC_QUANT_RANGE_INFINITE;
    *out_params = params_from_finite(spec, min, max);
    return QGC_QUANT_OK;
}

qgc_quant_fault qgc_choose_qparams(const qgc_quant_spec *spec, const float *x, size_t n,
                                   qgc_qparams *out_params)
{
    qgc_quant_fault fault = qgc_quant_check_spec(spec);
    if (fault != QGC_QUANT_OK)
        return fault;
    float min = 0.0f, max = 0.0f; /* zero is in every range */
    for (size_t i = 0; i < n; ++i) {
        min = x[i] < min && x[i] >= -FLT_MAX ? x[i] : min;
        max = x[i] > max && x[i] <= FLT_MAX ? x[i] : max;
    }
    *out_params = params_from_finite(spec, min, max);
    return QGC_QUANT_OK;
}
