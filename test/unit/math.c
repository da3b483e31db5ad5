/* The elementary functions against libm in double precision: a stride over all bit patterns, the
 * stated bounds, and the special values exactly. */
#include "runtime/math.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Spacing of f32 at |x|. */
static double spacing(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

/* Error of |got| in ulp of |want|; an infinity counts as 2^128. */
static double error_in_ulp(float got, double want, double unit)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0.0 : INFINITY;
    if (isinf(want))
        return got == want ? 0.0 : INFINITY;
    if (fabs(want) >= 0x1.ffffffp127) /* rounds to infinity */
        want = copysign(0x1p128, want);
    double value = isinf(got) ? copysign(0x1p128, got) : got;
    if (value == 0.0 && want != 0.0 && !signbit(got) != !signbit(want))
        return INFINITY;
    return fabs(value - want) / unit;
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}
static double silu(double x)
{
    return x * sigmoid(x);
}
static double softplus(double x)
{
    return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x)));
}
static double gelu(double x)
{
    return 0.5 * x * erfc(-x * 0.70710678118654752440);
}
static double gelu_tanh(double x)
{
    return x / (1.0 + exp(-2.0 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

typedef struct function_row {
    const char *name;
    float (*function)(float);
    double (*reference)(double);
    double bound; /* ulp of the result, or of the argument */
    bool of_argument;
    bool no_negative_inf; /* the reference is NaN at -inf; ours is -0 */
    uint32_t stride;
} function_row;

static const function_row functions[] = {
    {"exp", qgc_f32_exp, exp, 1.0, false, false, 997},
    {"expm1", qgc_f32_expm1, expm1, 1.5, false, false, 997},
    {"log", qgc_f32_log, log, 1.0, false, false, 997},
    {"log1p", qgc_f32_log1p, log1p, 1.5, false, false, 997},
    {"tanh", qgc_f32_tanh, tanh, 1.5, false, false, 997},
    {"sigmoid", qgc_f32_sigmoid, sigmoid, 1.5, false, false, 997},
    {"softplus", qgc_f32_softplus, softplus, 2.0, false, false, 997},
    {"silu", qgc_f32_silu, silu, 2.0, false, true, 997},
    {"erf", qgc_f32_erf, erf, 1.5, false, false, 997},
    {"gelu", qgc_f32_gelu, gelu, 1.5, true, true, 997},
    {"gelu_tanh", qgc_f32_gelu_tanh, gelu_tanh, 1.5, true, true, 997},
    {"sin", qgc_f32_sin, sin, 1.5, false, false, 4999},
    {"cos", qgc_f32_cos, cos, 1.5, false, false, 4999},
    {"tan", qgc_f32_tan, tan, 2.5, false, false, 4999},
    {"asin", qgc_f32_asin, asin, 1.5, false, false, 4999},
    {"acos", qgc_f32_acos, acos, 1.5, false, false, 4999},
    {"atan", qgc_f32_atan, atan, 2.0, false, false, 4999},
    {"sinh", qgc_f32_sinh, sinh, 2.0, false, false, 4999},
    {"cosh", qgc_f32_cosh, cosh, 2.0, false, false, 4999},
    {"asinh", qgc_f32_asinh, asinh, 3.0, false, false, 4999},
    {"acosh", qgc_f32_acosh, acosh, 3.0, false, false, 4999},
    {"atanh", qgc_f32_atanh, atanh, 3.0, false, false, 4999},
};
enum { NUM_FUNCTIONS = sizeof functions / sizeof functions[0] };

static double row_error(const function_row *row, float x)
{
    if (row->no_negative_inf && x == -INFINITY)
        return 0.0;
    double want = row->reference((double)x);
    return error_in_ulp(row->function(x), want, spacing(row->of_argument ? (double)x : want));
}

static void test_bounds(void **state)
{
    (void)state;
    int num_failed = 0;
    for (size_t i = 0; i < NUM_FUNCTIONS; ++i) {
        const function_row *row = &functions[i];
        double worst = 0.0;
        float worst_at = 0.0f;
        for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += row->stride) {
            double error = row_error(row, from_bits((uint32_t)bits));
            if (error > worst) {
                worst = error;
                worst_at = from_bits((uint32_t)bits);
            }
        }
        print_message("%-10s %.3f ulp at %a (bound %.1f)\n", row->name, worst, (double)worst_at,
                      row->bound);
        num_failed += worst > row->bound;
    }
    assert_int_equal(num_failed, 0);
}

/* The stride visits few floats per binade; near the seams of each function look at every one. */
static void test_seams(void **state)
{
    (void)state;
    static const float seams[] = {
        0.0f,        0x1p-149f,  0x1p-126f,   0.34657359f, 0.4142135f,  0.5f,
        0.70710678f, 0.75f,      0.875f,      1.0f,        1.4142135f,  2.0f,
        2.4142135f,  4.0f,       20.0f,       30.0f,       88.0f,       88.722839f,
        87.336544f,  103.97208f, 120.0f,      104.0f,      0.78539816f, 1.5707963f,
        3.14159265f, 22.0f,      16777216.0f, 1e10f,       0x1p127f,    0x1.fffffep127f,
    };
    for (size_t i = 0; i < NUM_FUNCTIONS; ++i) {
        for (size_t k = 0; k < sizeof seams / sizeof seams[0]; ++k) {
            uint32_t center = bits_of(seams[k]);
            uint32_t low = center < 2000 ? 0 : center - 2000;
            for (uint32_t bits = low; bits <= center + 2000 && bits <= 0x7f800000; ++bits) {
                double error = row_error(&functions[i], from_bits(bits));
                double mirror = row_error(&functions[i], from_bits(bits | 0x80000000));
                if (error > functions[i].bound || mirror > functions[i].bound)
                    fail_msg("%s(+-%a): %f, %f ulp", functions[i].name, (double)from_bits(bits),
                             error, mirror);
            }
        }
    }
}

static void test_special_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_FUNCTIONS; ++i)
        assert_true(isnan(functions[i].function(NAN)));
    static float (*const odd[])(float) = {
        qgc_f32_expm1, qgc_f32_log1p, qgc_f32_tanh, qgc_f32_erf,       qgc_f32_sin,
        qgc_f32_tan,   qgc_f32_asin,  qgc_f32_atan, qgc_f32_sinh,      qgc_f32_asinh,
        qgc_f32_atanh, qgc_f32_silu,  qgc_f32_gelu, qgc_f32_gelu_tanh, qgc_f32_rne};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; ++i) {
        assert_int_equal(bits_of(odd[i](-0.0f)), 0x80000000);
        assert_int_equal(bits_of(odd[i](0.0f)), 0);
    }
    assert_int_equal(bits_of(qgc_f32_silu(-INFINITY)), 0x80000000);
    assert_int_equal(bits_of(qgc_f32_gelu(-INFINITY)), 0x80000000);
    assert_int_equal(bits_of(qgc_f32_gelu_tanh(-INFINITY)), 0x80000000);
    assert_true(qgc_f32_gelu(INFINITY) == INFINITY && qgc_f32_gelu_tanh(INFINITY) == INFINITY);
    assert_true(qgc_f32_log(0.0f) == -INFINITY && qgc_f32_log(-0.0f) == -INFINITY);
    assert_true(qgc_f32_exp(-INFINITY) == 0.0f && qgc_f32_exp(0.0f) == 1.0f);
    assert_true(qgc_f32_sigmoid(0.0f) == 0.5f && qgc_f32_sigmoid(INFINITY) == 1.0f);
}

static void test_rne(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 4999) {
        float x = from_bits((uint32_t)bits), got = qgc_f32_rne(x);
        assert_true(isnan(x) ? isnan(got) : bits_of(got) == bits_of(nearbyintf(x)));
    }
    for (int i = -41; i <= 41; ++i)
        assert_int_equal(bits_of(qgc_f32_rne((float)i * 0.5f)),
                         bits_of(nearbyintf((float)i * 0.5f)));
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    uint32_t x = *state;
    return (x ^ x >> 15) * 2654435761u;
}

static double pow_error(float x, float y)
{
    double want = pow((double)x, (double)y);
    return error_in_ulp(qgc_f32_pow(x, y), want, spacing(want));
}

static void test_pow_special_values(void **state)
{
    (void)state;
    static const float values[] = {
        0.0f,    -0.0f,   1.0f,    -1.0f,          2.0f,          -2.0f,          0.5f,
        -0.5f,   3.0f,    -3.0f,   1e-45f,         -1e-45f,       INFINITY,       -INFINITY,
        NAN,     1e38f,   -1e38f,  16777215.f,     16777216.f,    8388607.5f,     -8388609.f,
        0x1p31f, 0x1p32f, 0x1p33f, 0x1.fffffep-1f, 0x1.000002p0f, -0x1.fffffep-1f};
    enum { NUM_VALUES = sizeof values / sizeof values[0] };
    for (size_t i = 0; i < NUM_VALUES; ++i)
        for (size_t k = 0; k < NUM_VALUES; ++k)
            if (pow_error(values[i], values[k]) > 1.0)
                fail_msg("pow(%a, %a) = %a", (double)values[i], (double)values[k],
                         (double)qgc_f32_pow(values[i], values[k]));
}

static void test_pow_bound(void **state)
{
    (void)state;
    uint32_t random = 1;
    double worst = 0.0;
    float worst_x = 0.0f, worst_y = 0.0f;
    for (int i = 0; i < 4000000; ++i) {
        float x = from_bits(next_random(&random)), y = from_bits(next_random(&random));
        if (i % 4 != 0) /* a result inside the range: x^y = 2^[-150, 130] */
            y = (float)((next_random(&random) / 4294967296.0 * 280 - 150) / log2(fabs((double)x)));
        if (i % 4 == 2) /* x near 1 is where the logarithm needs its bits */
            x = 1.0f + (float)((int32_t)next_random(&random) >> 8) * 0x1p-26f;
        if (i % 4 == 3)
            y = rintf(y);
        double error = pow_error(x, y);
        if (error > worst) {
            worst = error;
            worst_x = x;
            worst_y = y;
        }
    }
    print_message("pow        %.3f ulp at (%a, %a)\n", worst, (double)worst_x, (double)worst_y);
    assert_true(worst <= 1.5);
}

/* The bits themselves: other compilers, options and machines have to give the same. A change of
 * these numbers is a change of every model's results and needs a reason. */
static uint64_t digest(uint64_t hash, float result)
{
    uint32_t bits = isnan(result) ? 0x7fc00000 : bits_of(result);
    return (hash ^ bits) * UINT64_C(0x100000001b3);
}

static void test_same_bits_everywhere(void **state)
{
    (void)state;
    uint64_t unary = UINT64_C(0xcbf29ce484222325), binary = unary;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 65521)
        for (size_t i = 0; i < NUM_FUNCTIONS; ++i)
            unary = digest(unary, functions[i].function(from_bits((uint32_t)bits)));
    uint32_t random = 9;
    for (int i = 0; i < 200000; ++i) {
        float x = from_bits(next_random(&random) >> (i & 1)), y = from_bits(next_random(&random));
        binary = digest(binary, qgc_f32_pow(x, i & 2 ? y : rintf(y)));
        y = (float)((int32_t)next_random(&random) >> 16) * 0x1p-10f;
        binary = digest(binary, qgc_f32_pow(x, y));
    }
    assert_int_equal(unary, UINT64_C(0x85aac061d13e5caa));
    assert_int_equal(binary, UINT64_C(0x205458b25fe76fc2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_seams),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_rne),
        cmocka_unit_test(test_pow_special_values),
        cmocka_unit_test(test_pow_bound),
        cmocka_unit_test(test_same_bits_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
