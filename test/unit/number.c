/* Numbers as text and the half types, against slow exact references. */
#include "base/number.h"
#include "base/str.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NUM_RANDOM = 30000 };

typedef struct half_type {
    int mantissa_bits, exponent_bits;
    uint16_t infinity, quiet;
    bool (*parse)(qgc_str text, uint16_t *out);
    size_t (*print)(char *out, uint16_t bits);
    float (*to_f32)(uint16_t bits);
    uint16_t (*from_f32)(float value);
} half_type;

static const half_type halves[] = {
    {10, 5, 0x7c00, 0x0200, qgc_parse_f16, qgc_print_f16, qgc_f16_to_f32, qgc_f16_from_f32},
    {7, 8, 0x7f80, 0x0040, qgc_parse_bf16, qgc_print_bf16, qgc_bf16_to_f32, qgc_bf16_from_f32},
};
enum { NUM_HALVES = sizeof halves / sizeof halves[0] };

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static float f32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double f64_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static qgc_str str(const char *text)
{
    return qgc_str_from(text);
}

static uint32_t must_parse_f32(const char *text)
{
    float value;
    if (!qgc_parse_f32(str(text), &value))
        fail_msg("'%s' is refused", text);
    return f32_bits(value);
}

static uint64_t must_parse_f64(const char *text)
{
    double value;
    if (!qgc_parse_f64(str(text), &value))
        fail_msg("'%s' is refused", text);
    return f64_bits(value);
}

static uint16_t must_parse_half(const half_type *type, const char *text)
{
    uint16_t bits;
    if (!type->parse(str(text), &bits))
        fail_msg("'%s' is refused", text);
    return bits;
}

/* The number that the magnitude |bits| of a half type means by its definition; the value after the
 * largest one where it is the infinity. */
static double half_value(const half_type *type, uint32_t bits)
{
    int bias = (1 << (type->exponent_bits - 1)) - 1;
    int exponent = (int)(bits >> type->mantissa_bits);
    int mantissa = (int)(bits & ((1u << type->mantissa_bits) - 1));
    if (exponent == 0)
        return ldexp(mantissa, 1 - bias - type->mantissa_bits);
    return ldexp(mantissa + (1 << type->mantissa_bits), exponent - bias - type->mantissa_bits);
}

/* Half to even by comparing with the two neighbours; exact, as all are f64 of few bits. */
static uint16_t half_reference(const half_type *type, double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    uint32_t low = 0, high = type->infinity;
    if (magnitude >= half_value(type, high))
        return (uint16_t)(sign | high);
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (half_value(type, middle) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    double below = magnitude - half_value(type, low), above = half_value(type, high) - magnitude;
    bool up = below > above || (below == above && (low & 1));
    return (uint16_t)(sign | (up ? high : low));
}

static void test_half_to_f32(void **state)
{
    (void)state;
    for (const half_type *type = halves; type < halves + NUM_HALVES; type++) {
        for (uint32_t bits = 0; bits <= 0xffff; bits++) {
            uint32_t magnitude = bits & 0x7fff, sign = (bits & 0x8000) << 16;
            uint32_t got = f32_bits(type->to_f32((uint16_t)bits));
            uint32_t payload = (magnitude - type->infinity) << (23 - type->mantissa_bits);
            if (magnitude < type->infinity)
                assert_int_equal(got, sign | f32_bits((float)half_value(type, magnitude)));
            else if (magnitude == type->infinity)
                assert_int_equal(got, sign | 0x7f800000);
            else
                assert_int_equal(got, sign | 0x7fc00000 | payload);
        }
    }
}

static void check_from_f32(const half_type *type, float value)
{
    uint16_t got = type->from_f32(value), want = half_reference(type, value);
    if (got != want)
        fail_msg("%a: %#x instead of %#x", (double)value, got, want);
    got = type->from_f32(-value);
    assert_int_equal(got, want ^ 0x8000);
}

/* Every half value, every halfway point, and the f32 on both sides of each. */
static void test_half_from_f32_at_boundaries(void **state)
{
    (void)state;
    for (const half_type *type = halves; type < halves + NUM_HALVES; type++) {
        for (uint32_t bits = 0; bits < type->infinity; bits++) {
            double low = half_value(type, bits), high = half_value(type, bits + 1);
            double points[] = {low, (low + high) / 2};
            for (int i = 0; i < 2; i++) {
                float point = (float)points[i];
                check_from_f32(type, point);
                check_from_f32(type, nextafterf(point, INFINITY));
                if (point > 0)
                    check_from_f32(type, nextafterf(point, 0));
            }
        }
    }
}

static void test_half_from_f32_everywhere(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (const half_type *type = halves; type < halves + NUM_HALVES; type++) {
        for (uint32_t high = 0; high < 0x7f80; high++) {
            check_from_f32(type, f32_of(high << 16));
            check_from_f32(type, f32_of(high << 16 | (next_random(&random) & 0xffff)));
        }
        check_from_f32(type, FLT_MAX);
        check_from_f32(type, INFINITY);
    }
}

static void test_half_from_nan(void **state)
{
    (void)state;
    assert_int_equal(qgc_f16_from_f32(f32_of(0x7f800001)), 0x7e00);
    assert_int_equal(qgc_f16_from_f32(f32_of(0xffc02000)), 0xfe01);
    assert_int_equal(qgc_bf16_from_f32(f32_of(0x7f800001)), 0x7fc0);
    assert_int_equal(qgc_bf16_from_f32(f32_of(0xffc10000)), 0xffc1);
}

/* No decimal of fewer digits reads back: the printed text is the shortest. */
static void check_shortest(const half_type *type, uint32_t bits, const char *text)
{
    int digits = 0, zeros = 0; /* significant ones; zeros that may end an integer */
    for (const char *c = text; *c && *c != 'e'; c++) {
        if (*c == '0')
            zeros += digits > 0;
        else if (*c >= '1' && *c <= '9') {
            digits += zeros + 1;
            zeros = 0;
        }
    }
    if (digits < 2)
        return;
    char shorter[64];
    snprintf(shorter, sizeof shorter, "%.*e", digits - 2, (double)type->to_f32((uint16_t)bits));
    uint16_t back;
    if (type->parse(str(shorter), &back) && back == bits)
        fail_msg("%#x: %s though %s reads back", bits, text, shorter);
}

static void test_all_halves_round_trip(void **state)
{
    (void)state;
    char text[QGC_NUMBER_CHARS];
    for (const half_type *type = halves; type < halves + NUM_HALVES; type++) {
        for (uint32_t bits = 0; bits <= 0xffff; bits++) {
            size_t size = type->print(text, (uint16_t)bits);
            assert_int_equal(size, strlen(text));
            assert_non_null(strpbrk(text, ".enx"));
            assert_int_equal(must_parse_half(type, text), bits);
            if ((bits & 0x7fff) < type->infinity)
                check_shortest(type, bits, text);
        }
    }
}

/* Exactly halfway between neighbours, and a digit far behind away from it: an f64 in between would
 * lose the digit and round to even. */
static void test_half_midpoint_decimals(void **state)
{
    (void)state;
    for (const half_type *type = halves; type < halves + NUM_HALVES; type++) {
        for (uint32_t bits = 0; bits + 1 < type->infinity; bits += bits < 64 ? 1 : 37) {
            double middle = (half_value(type, bits) + half_value(type, bits + 1)) / 2;
            char text[400];
            snprintf(text, sizeof text, "%.250f", middle);
            uint32_t even = bits + (bits & 1);
            assert_int_equal(must_parse_half(type, text), even);
            strcat(text, "0000000001");
            assert_int_equal(must_parse_half(type, text), bits + 1);
            snprintf(text, sizeof text, "-%.250f", middle);
            char *last = text + strlen(text);
            while (last[-1] == '0' || last[-1] == '.')
                last--;
            if (strchr(text, '.') < last) { /* ...d1 -> ...d0999 */
                last[-1]--;
                strcpy(last, "99999999999999999999");
                assert_int_equal(must_parse_half(type, text), 0x8000 | bits);
            }
        }
    }
}

static void test_half_limits(void **state)
{
    (void)state;
    uint16_t bits;
    assert_int_equal(must_parse_half(&halves[0], "65519.99999999999999999999"), 0x7bff);
    assert_false(qgc_parse_f16(str("65520"), &bits));
    assert_false(qgc_parse_f16(str("-1e5"), &bits));
    assert_false(qgc_parse_f16(str("1e999"), &bits));
    assert_int_equal(must_parse_half(&halves[0], "-inf"), 0xfc00);
    /* 2^-25 is halfway to the smallest subnormal */
    assert_int_equal(must_parse_half(&halves[0], "2.98023223876953125e-8"), 0);
    assert_int_equal(must_parse_half(&halves[0], "2.980232238769531250000000000001e-8"), 1);
    assert_int_equal(must_parse_half(&halves[0], "-1e-999"), 0x8000);
    assert_int_equal(must_parse_half(&halves[1], "3.3895e38"), 0x7f7f);
    assert_false(qgc_parse_bf16(str("3.4e38"), &bits));
    assert_int_equal(must_parse_half(&halves[0], "nan"), 0x7e00);
    assert_int_equal(must_parse_half(&halves[1], "0xffff"), 0xffff);
    assert_false(qgc_parse_bf16(str("0x10000"), &bits));
}

/* 1 + 2^-24 is halfway from 1 to the next f32; f64 cannot tell these decimals from it. */
static void test_f32_midpoint_decimals(void **state)
{
    (void)state;
    assert_int_equal(must_parse_f32("1.000000059604644775390625"), 0x3f800000);
    assert_int_equal(must_parse_f32("1.00000005960464477539062500000000001"), 0x3f800001);
    assert_int_equal(must_parse_f32("1.00000005960464477539062499999999999"), 0x3f800000);
    assert_int_equal(must_parse_f32("1.000000178813934326171875"), 0x3f800002);
    assert_int_equal(must_parse_f32("1.00000017881393432617187499999999999"), 0x3f800001);
}

/* Digits that no buffer holds still decide: 1 + 2^-53 padded with 100000 zeros, and a 1. */
static void test_long_decimals(void **state)
{
    (void)state;
    enum { NUM_ZEROS = 100000 };
    static const char middle[] = "1.00000000000000011102230246251565404236316680908203125";
    static char text[sizeof middle + NUM_ZEROS + 8];
    strcpy(text, middle);
    memset(text + strlen(text), '0', NUM_ZEROS);
    assert_int_equal(must_parse_f64(text), 0x3ff0000000000000);
    strcat(text, "1");
    assert_int_equal(must_parse_f64(text), 0x3ff0000000000001);
    memset(text, '0', NUM_ZEROS);
    strcpy(text + NUM_ZEROS, "12.5");
    assert_int_equal(must_parse_f64(text), 0x4029000000000000);
    memcpy(text, "0.", 2);
    strcpy(text + NUM_ZEROS, "1e99999");
    assert_int_equal(must_parse_f64(text), f64_bits(1.0));
    strcpy(text + NUM_ZEROS, "1e99999999999999999999999999999999");
    double value;
    assert_false(qgc_parse_f64(str(text), &value));
    assert_int_equal(must_parse_f64("0e99999999999999999999999999999999"), 0);
    assert_int_equal(must_parse_f64("1e-99999999999999999999999999999999"), 0);
}

static void test_refused_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",     "-",        "+1",    ".5",  "1.",    "1e",          "1e+",  "1 ",          " 1",
        "1,5",  "1.5.2",    "--1",   "0x",  "-0x1",  "0xg",         "Inf",  "-nan",        "nan0",
        "1e5x", "infinity", "0x1p3", "1_0", "1e1.5", "0x1ffffffff", "1e39", "3.4028236e38"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        float value;
        if (qgc_parse_f32(str(texts[i]), &value))
            fail_msg("'%s' is accepted", texts[i]);
    }
    double value;
    assert_false(qgc_parse_f64((qgc_str){"1\0", 2}, &value));
    assert_false(qgc_parse_f64((qgc_str){NULL, 0}, &value));
    assert_false(qgc_parse_f64(str("1.8e308"), &value));
    assert_true(qgc_parse_f64((qgc_str){"1.57", 3}, &value));
    assert_true(value == 1.5);
}

static void check_print_f32(uint32_t bits, const char *want)
{
    char text[QGC_NUMBER_CHARS];
    qgc_print_f32(text, f32_of(bits));
    assert_string_equal(text, want);
    assert_int_equal(must_parse_f32(text), bits);
}

static void test_printed_forms(void **state)
{
    (void)state;
    static const struct {
        float value;
        const char *text;
    } rows[] = {{0.0f, "0.0"},
                {-0.0f, "-0.0"},
                {1.0f, "1.0"},
                {-0.5f, "-0.5"},
                {100.0f, "100.0"},
                {0.1f, "0.1"},
                {1e-30f, "1e-30"},
                {1e-4f, "0.0001"},
                {1e-5f, "1e-5"},
                {1.25e-5f, "1.25e-5"},
                {9999999.0f, "9999999.0"},
                {1e7f, "1e7"},
                {16777216.0f, "16777216.0"},
                {123456789.0f, "1.2345679e8"},
                {3.40282347e38f, "3.4028235e38"},
                {1.17549435e-38f, "1.1754944e-38"},
                {1e-45f, "1e-45"},
                {INFINITY, "inf"},
                {-INFINITY, "-inf"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_print_f32(f32_bits(rows[i].value), rows[i].text);
    check_print_f32(0x7fc00000, "nan");
    check_print_f32(0x7fc00001, "0x7fc00001");
    check_print_f32(0xffc00000, "0xffc00000");
    check_print_f32(0x7f800001, "0x7f800001");
    char text[QGC_NUMBER_CHARS];
    qgc_print_f64(text, -2.2250738585072014e-308);
    assert_string_equal(text, "-2.2250738585072014e-308");
    qgc_print_f64(text, f64_of(1));
    assert_string_equal(text, "5e-324");
    qgc_print_f64(text, f64_of(0x7ff8000000000001));
    assert_string_equal(text, "0x7ff8000000000001");
    qgc_print_f64(text, 5e22); /* not exactly a product of f64 powers of ten */
    assert_string_equal(text, "5e22");
    qgc_print_f64(text, 9007199254740993.0);
    assert_string_equal(text, "9007199254740992.0");
}

/* The length that trying every "%.*e" finds. */
static int shortest_f64(double value)
{
    for (int digits = 1;; digits++) {
        char text[64];
        snprintf(text, sizeof text, "%.*e", digits - 1, value);
        if (strtod(text, NULL) == value)
            return digits;
    }
}

static int shortest_f32(float value)
{
    for (int digits = 1;; digits++) {
        char text[64];
        snprintf(text, sizeof text, "%.*e", digits - 1, (double)value);
        if (strtof(text, NULL) == value)
            return digits;
    }
}

/* |text| is |value| rounded to |digits| digits. */
static void check_text(const char *text, double value, int digits)
{
    char want[64];
    snprintf(want, sizeof want, "%.*e", digits - 1, value);
    if (strtod(text, NULL) != strtod(want, NULL))
        fail_msg("%s instead of %s", text, want);
}

static void test_random_f32(void **state)
{
    (void)state;
    uint64_t random = 2;
    char text[QGC_NUMBER_CHARS];
    for (int i = 0; i < NUM_RANDOM; i++) {
        float value = f32_of((uint32_t)next_random(&random));
        if (i % 2) /* the usual magnitudes, often with few digits */
            value = (float)((double)(int32_t)next_random(&random) / ((i & 2) ? 1e3 : 1 << 30));
        size_t size = qgc_print_f32(text, value);
        assert_int_equal(size, strlen(text));
        assert_int_equal(must_parse_f32(text), f32_bits(value));
        if (isfinite(value) && value != 0)
            check_text(text, value, shortest_f32(value));
    }
}

static void test_random_f64(void **state)
{
    (void)state;
    uint64_t random = 3;
    char text[QGC_NUMBER_CHARS];
    for (int i = 0; i < NUM_RANDOM; i++) {
        double value = f64_of(next_random(&random));
        if (i % 2)
            value = (double)(int32_t)next_random(&random) / ((i & 2) ? 1e5 : 1 << 20);
        size_t size = qgc_print_f64(text, value);
        assert_int_equal(size, strlen(text));
        assert_int_equal(must_parse_f64(text), f64_bits(value));
        if (isfinite(value) && value != 0)
            check_text(text, value, shortest_f64(value));
    }
}

static void test_integers(void **state)
{
    (void)state;
    int64_t i;
    assert_true(qgc_parse_i64(str("-9223372036854775808"), &i) && i == INT64_MIN);
    assert_true(qgc_parse_i64(str("9223372036854775807"), &i) && i == INT64_MAX);
    assert_false(qgc_parse_i64(str("9223372036854775808"), &i));
    assert_false(qgc_parse_i64(str("-9223372036854775809"), &i));
    assert_false(qgc_parse_i64(str("99999999999999999999999"), &i));
    assert_true(qgc_parse_i64(str("-0x10"), &i) && i == -16);
    assert_true(qgc_parse_i64(str("0xFf"), &i) && i == 255);
    assert_true(qgc_parse_i64(str("007"), &i) && i == 7);
    static const char *const refused[] = {"", "-", "0x", "1.0", "+1", "a", "1a", "0X1", "--1"};
    for (size_t row = 0; row < sizeof refused / sizeof refused[0]; row++)
        assert_false(qgc_parse_i64(str(refused[row]), &i));
    uint64_t u;
    assert_true(qgc_parse_u64(str("18446744073709551615"), &u) && u == UINT64_MAX);
    assert_false(qgc_parse_u64(str("18446744073709551616"), &u));
    assert_true(qgc_parse_u64(str("0xffffffffffffffff"), &u) && u == UINT64_MAX);
    assert_false(qgc_parse_u64(str("0x10000000000000000"), &u));
    assert_false(qgc_parse_u64(str("-1"), &u));
    assert_true(qgc_parse_u64(str("-0"), &u) && u == 0);
}

static void test_decimal_comma(void **state)
{
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        print_message("no locale de_DE.UTF-8 to test with\n");
        skip();
    }
    char text[QGC_NUMBER_CHARS], native[QGC_NUMBER_CHARS];
    snprintf(native, sizeof native, "%.1f", 1.5);
    qgc_print_f64(text, 0.12345678901234568);
    uint32_t f32 = must_parse_f32("1.5");
    uint64_t f64 = must_parse_f64("0.12345678901234568");
    uint16_t f16 = must_parse_half(&halves[0], "1.00048828125000000000000000000001");
    float value;
    bool accepts_comma = qgc_parse_f32(str("1,5"), &value);
    char tiny[QGC_NUMBER_CHARS];
    qgc_print_f32(tiny, 1.17549435e-38f);
    setlocale(LC_ALL, "C");
    assert_string_equal(native, "1,5");
    assert_string_equal(text, "0.12345678901234568");
    assert_string_equal(tiny, "1.1754944e-38");
    assert_int_equal(f32, 0x3fc00000);
    assert_int_equal(f64, f64_bits(0.12345678901234568));
    assert_int_equal(f16, 0x3c01);
    assert_false(accepts_comma);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_to_f32),
        cmocka_unit_test(test_half_from_f32_at_boundaries),
        cmocka_unit_test(test_half_from_f32_everywhere),
        cmocka_unit_test(test_half_from_nan),
        cmocka_unit_test(test_all_halves_round_trip),
        cmocka_unit_test(test_half_midpoint_decimals),
        cmocka_unit_test(test_half_limits),
        cmocka_unit_test(test_f32_midpoint_decimals),
        cmocka_unit_test(test_long_decimals),
        cmocka_unit_test(test_refused_texts),
        cmocka_unit_test(test_printed_forms),
        cmocka_unit_test(test_random_f32),
        cmocka_unit_test(test_random_f64),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_decimal_comma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
