/* Functions of one number. */
#include "runtime/math.h"
#include "runtime/ref/elementwise.h"

#include <math.h>

/* ---- f64 forms that the C library has no function for ---- */

static double sigmoid_f64(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus_f64(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* x * f(x), where f falls to 0 faster than x does to -inf. */
static double weighted(double x, double factor)
{
    return x == -INFINITY ? -0.0 : x * factor;
}

static double gelu_f64(double x)
{
    return weighted(x / 2, 1 + erf(x / sqrt(2)));
}

static double gelu_tanh_f64(double x)
{
    const double sqrt_2_over_pi = 0.79788456080286535588;
    return weighted(x / 2, 1 + tanh(sqrt_2_over_pi * (x + 0.044715 * (x * x * x))));
}

/* ---- rows: op, f32, f64 ---- */

#define FLOATS_ONLY(op, f32_, f64_)                                                                \
    static float op##_op_f32(float x)                                                              \
    {                                                                                              \
        return f32_;                                                                               \
    }                                                                                              \
    static double op##_op_f64(double x)                                                            \
    {                                                                                              \
        return f64_;                                                                               \
    }                                                                                              \
    static const qgc_unary_row op##_row = {.f32 = op##_op_f32, .f64 = op##_op_f64};
#define INTEGERS(op, i64_, u64_)                                                                   \
    static int64_t op##_op_i64(int64_t x)                                                          \
    {                                                                                              \
        return (int64_t)(i64_);                                                                    \
    }                                                                                              \
    static uint64_t op##_op_u64(uint64_t x)                                                        \
    {                                                                                              \
        return u64_;                                                                               \
    }
#define NUMBERS(op, f32_, f64_, i64_, u64_)                                                        \
    static float op##_op_f32(float x)                                                              \
    {                                                                                              \
        return f32_;                                                                               \
    }                                                                                              \
    static double op##_op_f64(double x)                                                            \
    {                                                                                              \
        return f64_;                                                                               \
    }                                                                                              \
    INTEGERS(op, i64_, u64_)                                                                       \
    static const qgc_unary_row op##_row = {op##_op_f32, op##_op_f64, op##_op_i64, op##_op_u64};
#define INTEGERS_ONLY(op, i64_, u64_)                                                              \
    INTEGERS(op, i64_, u64_)                                                                       \
    static const qgc_unary_row op##_row = {.i64 = op##_op_i64, .u64 = op##_op_u64};

#define SIGN (x > 0 ? 1 : x < 0 ? -1 : x)

// clang-format off
NUMBERS(neg, -x, -x, 0 - (uint64_t)x, 0 - x)
NUMBERS(abs, fabsf(x), fabs(x), x < 0 ? 0 - (uint64_t)x : (uint64_t)x, x)
NUMBERS(sign, SIGN, SIGN, SIGN, x > 0)
NUMBERS(relu, x < 0 ? 0 : x, x < 0 ? 0 : x, x < 0 ? 0 : x, x)
INTEGERS_ONLY(bitwise_not, ~x, ~x)
INTEGERS_ONLY(not, !x, !x)
FLOATS_ONLY(reciprocal, 1 / x, 1 / x)
FLOATS_ONLY(sqrt, sqrtf(x), sqrt(x))
FLOATS_ONLY(rsqrt, 1 / sqrtf(x), 1 / sqrt(x))
FLOATS_ONLY(floor, floorf(x), floor(x))
FLOATS_ONLY(ceil, ceilf(x), ceil(x))
FLOATS_ONLY(round, qgc_f32_rne(x), rint(x))
FLOATS_ONLY(exp, qgc_f32_exp(x), exp(x))
FLOATS_ONLY(expm1, qgc_f32_expm1(x), expm1(x))
FLOATS_ONLY(log, qgc_f32_log(x), log(x))
FLOATS_ONLY(log1p, qgc_f32_log1p(x), log1p(x))
FLOATS_ONLY(erf, qgc_f32_erf(x), erf(x))
FLOATS_ONLY(sin, qgc_f32_sin(x), sin(x))
FLOATS_ONLY(cos, qgc_f32_cos(x), cos(x))
FLOATS_ONLY(tan, qgc_f32_tan(x), tan(x))
FLOATS_ONLY(asin, qgc_f32_asin(x), asin(x))
FLOATS_ONLY(acos, qgc_f32_acos(x), acos(x))
FLOATS_ONLY(atan, qgc_f32_atan(x), atan(x))
FLOATS_ONLY(sinh, qgc_f32_sinh(x), sinh(x))
FLOATS_ONLY(cosh, qgc_f32_cosh(x), cosh(x))
FLOATS_ONLY(asinh, qgc_f32_asinh(x), asinh(x))
FLOATS_ONLY(acosh, qgc_f32_acosh(x), acosh(x))
FLOATS_ONLY(atanh, qgc_f32_atanh(x), atanh(x))
FLOATS_ONLY(sigmoid, qgc_f32_sigmoid(x), sigmoid_f64(x))
FLOATS_ONLY(tanh, qgc_f32_tanh(x), tanh(x))
FLOATS_ONLY(softplus, qgc_f32_softplus(x), softplus_f64(x))
FLOATS_ONLY(softsign, x / (1 + fabsf(x)), x / (1 + fabs(x)))
FLOATS_ONLY(silu, qgc_f32_silu(x), weighted(x, sigmoid_f64(x)))
FLOATS_ONLY(mish, x * qgc_f32_tanh(qgc_f32_softplus(x)), x * tanh(softplus_f64(x)))
FLOATS_ONLY(gelu_erf, qgc_f32_gelu(x), gelu_f64(x))
FLOATS_ONLY(gelu_tanh, qgc_f32_gelu_tanh(x), gelu_tanh_f64(x))
// clang-format on

/* ---- rows with attributes: op, first, second attribute, f32, f64 ---- */

#define SCALED(op, p_, q_, f32_, f64_)                                                             \
    static float op##_op_f32(float x, float p, float q)                                            \
    {                                                                                              \
        (void)p, (void)q;                                                                          \
        return f32_;                                                                               \
    }                                                                                              \
    static double op##_op_f64(double x, double p, double q)                                        \
    {                                                                                              \
        (void)p, (void)q;                                                                          \
        return f64_;                                                                               \
    }                                                                                              \
    static const qgc_scaled_row op##_row = {op##_op_f32, op##_op_f64, p_, q_};

static float unit_f32(float t)
{
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

static double unit_f64(double t)
{
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

/* The same expression in both types. */
#define LEAKY_RELU       (x < 0 ? p * x : x)
#define THRESHOLDED_RELU (x <= p ? 0 : x)
#define SHRINK           (x < -p ? x + q : x > p ? x - q : x != x ? x : 0)

// clang-format off
SCALED(leaky_relu, "alpha", NULL, LEAKY_RELU, LEAKY_RELU)
SCALED(elu, "alpha", NULL, x < 0 ? p * qgc_f32_expm1(x) : x, x < 0 ? p * expm1(x) : x)
SCALED(selu, "alpha", "gamma", q * (x < 0 ? p * qgc_f32_expm1(x) : x),
       q * (x < 0 ? p * expm1(x) : x))
SCALED(celu, "alpha", NULL, x < 0 ? p * qgc_f32_expm1(x / p) : x, x < 0 ? p * expm1(x / p) : x)
SCALED(thresholded_relu, "alpha", NULL, THRESHOLDED_RELU, THRESHOLDED_RELU)
SCALED(shrink, "lambd", "bias", SHRINK, SHRINK)
SCALED(hardsigmoid, "alpha", "beta", unit_f32(p * x + q), unit_f64(p * x + q))
SCALED(hardswish, NULL, NULL, x * unit_f32(x * (1.0f / 6) + 0.5f), x * unit_f64(x * (1.0 / 6) + 0.5))
// clang-format on

/* ---- kernels ---- */

#define UNARY(op)                                                                                  \
    qgc_result ref_##op(qgc_ref_call *call)                                                        \
    {                                                                                              \
        qgc_ref_unary(&op##_row, &call->results[0], call->operands[0]);                            \
        return QGC_OK;                                                                             \
    }
#define UNARY_SCALED(op)                                                                           \
    qgc_result ref_##op(qgc_ref_call *call)                                                        \
    {                                                                                              \
        qgc_ref_scaled(&op##_row, call->node, &call->results[0], call->operands[0]);               \
        return QGC_OK;                                                                             \
    }

// clang-format off
UNARY(neg) UNARY(abs) UNARY(sign) UNARY(relu) UNARY(bitwise_not) UNARY(not) UNARY(reciprocal)
UNARY(sqrt) UNARY(rsqrt) UNARY(floor) UNARY(ceil) UNARY(round) UNARY(exp) UNARY(expm1)
UNARY(log) UNARY(log1p) UNARY(erf) UNARY(sin) UNARY(cos) UNARY(tan) UNARY(asin) UNARY(acos)
UNARY(atan) UNARY(sinh) UNARY(cosh) UNARY(asinh) UNARY(acosh) UNARY(atanh) UNARY(sigmoid)
UNARY(tanh) UNARY(softplus) UNARY(softsign) UNARY(silu) UNARY(mish) UNARY_SCALED(leaky_relu)
UNARY_SCALED(elu) UNARY_SCALED(selu) UNARY_SCALED(celu) UNARY_SCALED(thresholded_relu)
UNARY_SCALED(shrink) UNARY_SCALED(hardsigmoid) UNARY_SCALED(hardswish)
    // clang-format on

    qgc_result ref_gelu(qgc_ref_call *call)
{
    enum { ERF, TANH };
    bool is_tanh = qgc_node_word(call->node, "approximate") == TANH;
    qgc_ref_unary(is_tanh ? &gelu_tanh_row : &gelu_erf_row, &call->results[0], call->operands[0]);
    return QGC_OK;
}

/* Widening to f64 keeps NaN and infinities. */
qgc_result ref_is_nan(qgc_ref_call *call)
{
    size_t num = qgc_tensor_count(&call->results[0]);
    for (size_t i = 0; i < num; i++)
        qgc_set_int(&call->results[0], i, isnan(qgc_get_f64(call->operands[0], i)));
    return QGC_OK;
}

qgc_result ref_is_inf(qgc_ref_call *call)
{
    bool negative = qgc_node_flag(call->node, "detect_negative");
    bool positive = qgc_node_flag(call->node, "detect_positive");
    size_t num = qgc_tensor_count(&call->results[0]);
    for (size_t i = 0; i < num; i++) {
        double x = qgc_get_f64(call->operands[0], i);
        bool hit = (negative && x == -INFINITY) || (positive && x == INFINITY);
        qgc_set_int(&call->results[0], i, hit);
    }
    return QGC_OK;
}
