/* Quantization arithmetic against references in double precision and 128-bit integers, every edge
 * the header names, and scales computed by numpy (golden_qparams.inc). */
#include "runtime/quant.h"

#include <float.h>
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

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    uint32_t x = *state;
    return (x ^ x >> 15) * 2654435761u;
}

/* ---- references: a double holds every f32 product, sum and quotient well enough to round once
 * ---- */

static int32_t finish_reference(double value, double zero_point, qgc_int_range range)
{
    double q = isnan(value) ? zero_point : rint(value) + zero_point;
    return (int32_t)fmin(fmax(q, range.lo), range.hi);
}

static int32_t quantize_reference(float x, qgc_qparams p, qgc_int_range range, bool divide)
{
    float inverse = (float)(1.0 / (double)p.scale);
    float value =
        divide ? (float)((double)x / (double)p.scale) : (float)((double)x * (double)inverse);
    return finish_reference((double)value, p.zero_point, range);
}

static float add_reference(float a, float b)
{
    return (float)((double)a + (double)b);
}

static int32_t requantize_reference(const qgc_requantize_params *p, const int64_t *terms)
{
    bool first = p->mode == QGC_REQUANTIZE_ZP_FIRST;
    float zeros = 0.0f;
    for (size_t i = 0; first && i < p->num_terms; ++i)
        zeros =
            add_reference(zeros, (float)((double)p->zero_points[i] * (double)p->multipliers[i]));
    float sum = first ? add_reference(add_reference((float)p->zero_point, -zeros), p->bias) : 0.0f;
    for (size_t i = 0; i < p->num_terms; ++i)
        sum = add_reference(sum, (float)((double)(float)terms[i] * (double)p->multipliers[i]));
    if (!first)
        return finish_reference((double)add_reference(sum, p->bias), p->zero_point, p->range);
    return isnan(sum) ? finish_reference(NAN, p->zero_point, p->range)
                      : finish_reference((double)sum, 0, p->range);
}

/* ---- quantize ---- */

static const qgc_dtype dtypes[] = {QGC_DTYPE_I8, QGC_DTYPE_U8, QGC_DTYPE_I16, QGC_DTYPE_U16,
                                   QGC_DTYPE_I32};
enum { NUM_DTYPES = sizeof dtypes / sizeof dtypes[0] };

static void test_dtype_ranges(void **state)
{
    (void)state;
    static const int64_t wanted[][2] = {
        {-128, 127}, {0, 255}, {-32768, 32767}, {0, 65535}, {INT32_MIN, INT32_MAX}};
    qgc_int_range range;
    for (size_t i = 0; i < NUM_DTYPES; ++i) {
        assert_true(qgc_quant_dtype_range(dtypes[i], &range));
        assert_true(range.lo == wanted[i][0] && range.hi == wanted[i][1]);
    }
    assert_false(qgc_quant_dtype_range(QGC_DTYPE_F32, &range));
    assert_false(qgc_quant_dtype_range(QGC_DTYPE_U32, &range));
    assert_false(qgc_quant_dtype_range(QGC_DTYPE_BOOL, &range));
}

static void test_quantize_against_reference(void **state)
{
    (void)state;
    uint32_t random = 7;
    for (int i = 0; i < 2000000; ++i) {
        qgc_int_range range;
        qgc_quant_dtype_range(dtypes[i % NUM_DTYPES], &range);
        uint32_t exponent =
            i % 3 ? 100 + next_random(&random) % 50 : 1 + next_random(&random) % 254;
        uint32_t mantissa =
            i % 2 ? next_random(&random) & 0x7fffff : (next_random(&random) & 3) << 21;
        uint64_t width = (uint64_t)((int64_t)range.hi - range.lo) + 1;
        qgc_qparams p = {from_bits(exponent << 23 | mantissa),
                         (int32_t)(range.lo + (int64_t)(next_random(&random) % width))};
        float x = from_bits(next_random(&random));
        if (i % 4) /* near half steps */
            x = ((float)(next_random(&random) % 600) - 300.0f) * 0.5f * p.scale;
        for (int divide = 0; divide < 2; ++divide)
            assert_int_equal(
                qgc_quantize(x, p, range, divide ? QGC_QUANTIZE_DIVIDE : QGC_QUANTIZE_MULTIPLY),
                quantize_reference(x, p, range, divide));
    }
}

static void test_quantize_edges(void **state)
{
    (void)state;
    const qgc_int_range i8 = {-128, 127}, i32 = {INT32_MIN, INT32_MAX}, relu = {3, 127};
    const qgc_qparams p = {0.5f, 3};
    for (int m = 0; m < 2; ++m) {
        qgc_quantize_mode mode = m ? QGC_QUANTIZE_DIVIDE : QGC_QUANTIZE_MULTIPLY;
        assert_int_equal(qgc_quantize(NAN, p, i8, mode), 3);
        assert_int_equal(qgc_quantize(NAN, (qgc_qparams){0.5f, -9}, relu, mode), 3);
        assert_int_equal(qgc_quantize(INFINITY, p, i8, mode), 127);
        assert_int_equal(qgc_quantize(-INFINITY, p, i8, mode), -128);
        assert_int_equal(qgc_quantize(FLT_MAX, p, i8, mode), 127);
        assert_int_equal(qgc_quantize(-FLT_MAX, (qgc_qparams){FLT_MIN, 3}, i8, mode), -128);
        assert_int_equal(qgc_quantize(1e30f, (qgc_qparams){1.0f, INT32_MIN}, i32, mode), INT32_MAX);
        assert_int_equal(qgc_quantize(-1e30f, (qgc_qparams){1.0f, INT32_MAX}, i32, mode),
                         INT32_MIN);
        assert_int_equal(qgc_quantize(0x1p31f, (qgc_qparams){1.0f, -1}, i32, mode), INT32_MAX);
        assert_int_equal(qgc_quantize(0x1p31f, (qgc_qparams){1.0f, -2}, i32, mode), INT32_MAX - 1);
        assert_int_equal(qgc_quantize(-0.0f, p, i8, mode), 3);
        assert_int_equal(qgc_quantize(0x1p-149f, (qgc_qparams){FLT_MIN, 3}, i8, mode), 3);
        assert_int_equal(qgc_quantize(0.25f, p, i8, mode), 3); /* 0.5 -> 0 */
        assert_int_equal(qgc_quantize(0.75f, p, i8, mode), 5); /* 1.5 -> 2 */
        assert_int_equal(qgc_quantize(1.25f, p, i8, mode), 5); /* 2.5 -> 2: before the zero point */
        assert_int_equal(qgc_quantize(FLT_MAX, (qgc_qparams){FLT_MAX, 0}, i8, mode), 1);
    }
    /* On ties of the quotient the rounded reciprocal decides otherwise. */
    int num_different = 0;
    for (int i = 1; i < 200; i += 2) {
        const qgc_qparams third = {0.3f, 0};
        float x = (float)i * 0.5f * third.scale;
        num_different += qgc_quantize(x, third, i8, QGC_QUANTIZE_DIVIDE) !=
                         qgc_quantize(x, third, i8, QGC_QUANTIZE_MULTIPLY);
    }
    assert_true(num_different > 0);
}

static void test_dequantize(void **state)
{
    (void)state;
    assert_true(qgc_dequantize(127, (qgc_qparams){0.1f, -128}) == 255.0f * 0.1f);
    assert_true(qgc_dequantize(INT32_MAX, (qgc_qparams){1.0f, -1}) == -0x1p31f); /* i32 wraps */
    const qgc_int_range u8 = {0, 255};
    for (int q = 0; q < 256; ++q) {
        qgc_qparams p = {0.037f, 101};
        float x = qgc_dequantize(q, p);
        assert_int_equal(qgc_quantize(x, p, u8, QGC_QUANTIZE_MULTIPLY), q);
        assert_true(same_bits(qgc_fake_quant(x, p, u8, QGC_QUANTIZE_MULTIPLY), x));
    }
}

static void test_fake_cast(void **state)
{
    (void)state;
    static const float pairs[][2] = {
        {1.0f, 1.0f},
        {65504.0f, 65504.0f},
        {65519.996f, 65504.0f},
        {65520.0f, INFINITY},
        {-65520.0f, -INFINITY},
        {1e30f, INFINITY},
        {-INFINITY, -INFINITY},
        {0x1p-25f, 0.0f},
        {-0x1p-25f, -0.0f},
        {0x1.8p-25f, 0x1p-24f},
        {0x1p-24f, 0x1p-24f},
        {-0.0f, -0.0f},
        {1.0f + 0x1p-11f, 1.0f},
        {1.0f + 0x1.8p-10f, 1.0f + 0x1p-9f},
        {NAN, NAN},
        {0.1f, 0x1.998p-4f},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i)
        assert_true(same_bits(qgc_fake_cast_f16(pairs[i][0]), pairs[i][1]));
}

/* ---- requantize ---- */

static void test_requantize_against_reference(void **state)
{
    (void)state;
    uint32_t random = 99;
    for (int i = 0; i < 1000000; ++i) {
        float multipliers[3];
        int32_t zero_points[3];
        int64_t terms[3];
        for (int k = 0; k < 3; ++k) {
            uint32_t exponent =
                i % 5 ? 112 + next_random(&random) % 20 : 1 + next_random(&random) % 254;
            multipliers[k] =
                from_bits(exponent << 23 | (next_random(&random) & (i & 1 ? 0x7fffff : 0x600000)));
            zero_points[k] = (int32_t)(next_random(&random) % 256);
            terms[k] = (int32_t)next_random(&random) >> (next_random(&random) % 30);
            if (i % 7 == 0)
                terms[k] = (int64_t)((uint64_t)next_random(&random) << 32 | next_random(&random));
        }
        qgc_requantize_params p = {multipliers,
                                   zero_points,
                                   1 + (size_t)i % 3,
                                   i % 4 ? 0.0f : (float)(int32_t)next_random(&random) * 0x1p-24f,
                                   (int32_t)(next_random(&random) % 256) - 128,
                                   {-128, 127},
                                   i & 8 ? QGC_REQUANTIZE_ZP_FIRST : QGC_REQUANTIZE_ZP_LAST};
        if (i & 16)
            p.range = (qgc_int_range){p.zero_point, 127};
        assert_int_equal(qgc_requantize(&p, terms), requantize_reference(&p, terms));
    }
}

static void test_requantize_edges(void **state)
{
    (void)state;
    const float big[] = {FLT_MAX, FLT_MAX}, one[] = {1.0f, 1.0f};
    qgc_requantize_params p = {one, NULL, 1, 0.0f, 10, {-128, 127}, QGC_REQUANTIZE_ZP_LAST};
    assert_int_equal(qgc_requantize_one(&p, INT32_MAX), 127);
    assert_int_equal(qgc_requantize_one(&p, INT32_MIN), -128);
    p.bias = 0.5f;
    assert_int_equal(qgc_requantize_one(&p, 2), 12); /* 2.5 -> 2, then the zero point */
    p.mode = QGC_REQUANTIZE_ZP_FIRST;
    p.zero_point = 9;
    assert_int_equal(qgc_requantize_one(&p, 2), 12); /* 9 + 0.5 + 2 = 11.5 -> 12 */
    p.mode = QGC_REQUANTIZE_ZP_LAST;
    assert_int_equal(qgc_requantize_one(&p, 2), 11);
    p = (qgc_requantize_params){big, NULL, 2, 0.0f, 10, {-128, 127}, QGC_REQUANTIZE_ZP_LAST};
    assert_int_equal(qgc_requantize(&p, (int64_t[]){INT64_MAX, INT64_MAX}), 127);
    assert_int_equal(qgc_requantize(&p, (int64_t[]){INT64_MIN, 1}), -128);
    assert_int_equal(qgc_requantize(&p, (int64_t[]){2, -2}), 10); /* inf - inf: the zero point */
    p.mode = QGC_REQUANTIZE_ZP_FIRST;
    assert_int_equal(qgc_requantize(&p, (int64_t[]){2, -2}), 10);
    p = (qgc_requantize_params){
        one, NULL, 1, 0.0f, INT32_MAX, {INT32_MIN, INT32_MAX}, QGC_REQUANTIZE_ZP_LAST};
    assert_int_equal(qgc_requantize_one(&p, INT32_MAX), INT32_MAX);
    assert_int_equal(qgc_requantize_one(&p, INT32_MIN), -1);
}

static void test_multipliers(void **state)
{
    (void)state;
    float m = 0.0f;
    assert_int_equal(qgc_requantize_multiplier(0.1f, 0.2f, 0.3f, &m), QGC_QUANT_OK);
    assert_true(m == (float)((double)(float)((double)0.1f * (double)0.2f) / (double)0.3f));
    assert_int_equal(qgc_requantize_multiplier(1e-30f, 1e-30f, 1.0f, &m), QGC_QUANT_SCALE_ZERO);
    assert_int_equal(qgc_requantize_multiplier(1e-20f, 1e-20f, 1e-10f, &m),
                     QGC_QUANT_SCALE_SUBNORMAL);
    assert_int_equal(qgc_requantize_multiplier(1e30f, 1e30f, 1.0f, &m), QGC_QUANT_SCALE_INFINITE);
    assert_int_equal(qgc_requantize_multiplier(1.0f, -1.0f, 1.0f, &m), QGC_QUANT_SCALE_NEGATIVE);
    assert_int_equal(qgc_requantize_multiplier(1e20f, 1.0f, 1e-20f, &m), QGC_QUANT_SCALE_INFINITE);
    assert_int_equal(qgc_pool_multiplier(0.1f, 49, 0.3f, &m), QGC_QUANT_OK);
    assert_true(m == (float)((double)0.1f / (double)(float)(49.0 * (double)0.3f)));
    assert_int_equal(qgc_pool_multiplier(0.1f, 49, INFINITY, &m), QGC_QUANT_SCALE_INFINITE);
}

static void test_accumulator_bound(void **state)
{
    (void)state;
    assert_true(qgc_accumulates_in_i32(65793, 255, 128, 0)); /* 2147483520 */
    assert_false(qgc_accumulates_in_i32(65794, 255, 128, 0));
    assert_true(qgc_accumulates_in_i32(65793, 255, 128, 127));
    assert_false(qgc_accumulates_in_i32(65793, 255, 128, 128));
    assert_false(qgc_accumulates_in_i32(UINT64_MAX, UINT32_MAX, UINT32_MAX, 0));
    assert_false(qgc_accumulates_in_i32(1, 1, 1, UINT64_MAX));
    assert_true(qgc_accumulates_in_i32(0, 255, 255, 0));
}

/* ---- parameters ---- */

static void test_checks(void **state)
{
    (void)state;
    static const struct {
        float scale;
        qgc_quant_fault fault;
    } rows[] = {
        {1.0f, QGC_QUANT_OK},
        {FLT_MIN, QGC_QUANT_OK},
        {FLT_MAX, QGC_QUANT_OK},
        {0.0f, QGC_QUANT_SCALE_ZERO},
        {-0.0f, QGC_QUANT_SCALE_ZERO},
        {-1.0f, QGC_QUANT_SCALE_NEGATIVE},
        {-1e-40f, QGC_QUANT_SCALE_NEGATIVE},
        {0x1.fffffcp-127f, QGC_QUANT_SCALE_SUBNORMAL},
        {1e-45f, QGC_QUANT_SCALE_SUBNORMAL},
        {NAN, QGC_QUANT_SCALE_NAN},
        {INFINITY, QGC_QUANT_SCALE_INFINITE},
        {-INFINITY, QGC_QUANT_SCALE_INFINITE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        assert_int_equal(qgc_quant_check_scale(rows[i].scale), rows[i].fault);
    const qgc_int_range u8 = {0, 255};
    assert_int_equal(qgc_quant_check((qgc_qparams){1.0f, 255}, u8), QGC_QUANT_OK);
    assert_int_equal(qgc_quant_check((qgc_qparams){1.0f, 256}, u8), QGC_QUANT_ZERO_POINT);
    assert_int_equal(qgc_quant_check((qgc_qparams){1.0f, -1}, u8), QGC_QUANT_ZERO_POINT);
    assert_string_equal(qgc_quant_fault_text(QGC_QUANT_OK), "");
    assert_string_equal(qgc_quant_fault_text(QGC_QUANT_SCALE_NAN), "scale is NaN");
    assert_string_equal(qgc_quant_fault_text(QGC_QUANT_RANGE_INFINITE),
                        "minimum or maximum is infinite");
}

static void test_spec_checks(void **state)
{
    (void)state;
    qgc_quant_spec spec = qgc_quant_spec_default(QGC_DTYPE_I8, QGC_QUANT_SYMMETRIC);
    assert_true(spec.range.lo == -127 && spec.range.hi == 127 && spec.eps == 0x1p-12f);
    assert_int_equal(qgc_quant_check_spec(&spec), QGC_QUANT_OK);
    spec.range.hi = 128;
    assert_int_equal(qgc_quant_check_spec(&spec), QGC_QUANT_BOUNDS);
    spec.range.hi = -127;
    assert_int_equal(qgc_quant_check_spec(&spec), QGC_QUANT_BOUNDS);
    spec = qgc_quant_spec_default(QGC_DTYPE_U8, QGC_QUANT_AFFINE);
    spec.eps = 0.0f;
    assert_int_equal(qgc_quant_check_spec(&spec), QGC_QUANT_SCALE_ZERO);
    spec.dtype = QGC_DTYPE_F32;
    assert_int_equal(qgc_quant_check_spec(&spec), QGC_QUANT_DTYPE);
    spec = qgc_quant_spec_default(QGC_DTYPE_U8, QGC_QUANT_AFFINE);
    qgc_qparams p = {7.0f, 7};
    assert_int_equal(qgc_qparams_from_range(&spec, INFINITY, -INFINITY, &p), QGC_QUANT_RANGE_EMPTY);
    assert_int_equal(qgc_qparams_from_range(&spec, NAN, 1.0f, &p), QGC_QUANT_RANGE_NAN);
    assert_int_equal(qgc_qparams_from_range(&spec, 0.0f, INFINITY, &p), QGC_QUANT_RANGE_INFINITE);
    assert_int_equal(qgc_qparams_from_range(&spec, -INFINITY, 0.0f, &p), QGC_QUANT_RANGE_INFINITE);
    assert_true(p.scale == 7.0f && p.zero_point == 7);
}

static const struct {
    qgc_dtype dtype;
    qgc_quant_scheme scheme;
    int32_t qmin, qmax;
    float eps, min, max, scale;
    int32_t zero_point;
} golden[] = {
#include "golden_qparams.inc"
};

static void test_golden_qparams(void **state)
{
    (void)state;
    size_t num_golden = sizeof golden / sizeof golden[0];
    assert_true(num_golden > 500);
    for (size_t i = 0; i < num_golden; ++i) {
        qgc_quant_spec spec = {
            golden[i].dtype, golden[i].scheme, {golden[i].qmin, golden[i].qmax}, golden[i].eps};
        qgc_qparams p;
        assert_int_equal(qgc_qparams_from_range(&spec, golden[i].min, golden[i].max, &p),
                         QGC_QUANT_OK);
        if (!same_bits(p.scale, golden[i].scale) || p.zero_point != golden[i].zero_point)
            fail_msg("row %zu: %a, %d instead of %a, %d", i, (double)p.scale, p.zero_point,
                     (double)golden[i].scale, golden[i].zero_point);
        const float data[] = {NAN, golden[i].max, INFINITY, golden[i].min, -INFINITY};
        qgc_qparams chosen;
        assert_int_equal(qgc_choose_qparams(&spec, data, 5, &chosen), QGC_QUANT_OK);
        assert_true(chosen.scale == p.scale && chosen.zero_point == p.zero_point);
    }
}

static void test_range_edges(void **state)
{
    (void)state;
    qgc_quant_spec affine = qgc_quant_spec_default(QGC_DTYPE_U8, QGC_QUANT_AFFINE);
    qgc_qparams p;
    assert_int_equal(qgc_qparams_from_range(&affine, -FLT_MAX, FLT_MAX, &p), QGC_QUANT_OK);
    assert_true(p.scale == FLT_MAX / 255.0f + FLT_MAX / 255.0f && p.zero_point == 128);
    assert_int_equal(qgc_choose_qparams(&affine, NULL, 0, &p), QGC_QUANT_OK);
    assert_true(p.scale == QGC_QUANT_EPS && p.zero_point == 0);
    qgc_quant_spec wide = qgc_quant_spec_default(QGC_DTYPE_I32, QGC_QUANT_SYMMETRIC);
    wide.eps = FLT_MIN;
    assert_int_equal(qgc_qparams_from_range(&wide, -1.0f, 0.5f, &p), QGC_QUANT_OK);
    assert_true(p.scale == 0x1p-31f && p.zero_point == 0);
    wide.scheme = QGC_QUANT_AFFINE;
    assert_int_equal(qgc_qparams_from_range(&wide, -1.0f, 0.0f, &p), QGC_QUANT_OK);
    assert_true(p.scale == 0x1p-32f && p.zero_point == INT32_MAX);
    qgc_quant_spec lopsided = {QGC_DTYPE_I8, QGC_QUANT_SYMMETRIC, {-100, 97}, QGC_QUANT_EPS};
    assert_int_equal(qgc_qparams_from_range(&lopsided, 0.0f, 1.0f, &p), QGC_QUANT_OK);
    assert_int_equal(p.zero_point, -1); /* floor(-2 / 2) */
    lopsided.range.hi = 96;
    assert_int_equal(qgc_qparams_from_range(&lopsided, 0.0f, 1.0f, &p), QGC_QUANT_OK);
    assert_int_equal(p.zero_point, -2); /* floor(-3 / 2) */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_ranges),
        cmocka_unit_test(test_quantize_against_reference),
        cmocka_unit_test(test_quantize_edges),
        cmocka_unit_test(test_dequantize),
        cmocka_unit_test(test_fake_cast),
        cmocka_unit_test(test_requantize_against_reference),
        cmocka_unit_test(test_requantize_edges),
        cmocka_unit_test(test_multipliers),
        cmocka_unit_test(test_accumulator_bound),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_spec_checks),
        cmocka_unit_test(test_golden_qparams),
        cmocka_unit_test(test_range_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
