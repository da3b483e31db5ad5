/* Numbers as text. Decimals pass to and from the C library as digits and an exponent, never with a
 * decimal point, so that no locale can change them. */
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A halfway point between two f64 has at most 768 significant digits: of digits further on it only
 * matters whether one is not 0. */
enum { MAX_DIGITS = 800, EXPONENT_CHARS = 16, EXACT_POWERS = 23 };

/* d.ddd * 10^exponent without trailing zeros; size 0 is the number 0. */
typedef struct decimal {
    char digits[MAX_DIGITS + EXPONENT_CHARS];
    size_t size;
    int64_t exponent;
} decimal;

/* A binary format; a magnitude is its bits without the sign. */
typedef struct format {
    int mantissa_bits, exponent_bits;
    int safe_digits; /* a decimal of so many digits survives decimal -> normal value -> decimal */
    int max_digits;  /* enough for every value */
} format;

static const format f16_format = {10, 5, 3, 5};
static const format bf16_format = {7, 8, 2, 4};
static const format f32_format = {23, 8, 6, 9};
static const format f64_format = {52, 11, 15, 17};

static uint64_t infinity(const format *f)
{
    return ((UINT64_C(1) << f->exponent_bits) - 1) << f->mantissa_bits;
}

static uint64_t quiet_bit(const format *f)
{
    return UINT64_C(1) << (f->mantissa_bits - 1);
}

static uint64_t sign_bit(const format *f)
{
    return UINT64_C(1) << (f->mantissa_bits + f->exponent_bits);
}

static uint64_t bits_of_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double f64_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds |value| >= 0, half to even, to the magnitude in |f|. |beyond| says where the number meant
 * lies from |value| (-1 below, 0 at it, 1 above): it decides halfway cases. f64 subnormals count as
 * the smallest normals, which is the same to the narrower formats: 0. */
static inline uint64_t narrow(double value, const format *f, int beyond)
{
    uint64_t bits = bits_of_f64(value);
    int exponent = (int)(bits >> 52) - 1023;
    int above_min = exponent - 2 + (1 << (f->exponent_bits - 1)); /* 0 at the smallest normal */
    uint64_t significand = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int drop = 52 - f->mantissa_bits + (above_min < 0 ? -above_min : 0);
    if (drop > 63)
        return 0;
    const uint64_t half = UINT64_C(1) << 63;
    uint64_t kept = significand >> drop;
    uint64_t rest = drop ? significand << (64 - drop) : 0;
    bool tie_up = beyond ? beyond > 0 : (kept & 1) != 0;
    kept += rest > half || (rest == half && tie_up);
    /* |kept| has the leading 1 of a normal: it and any carry step the exponent. */
    uint64_t result = kept + ((uint64_t)(above_min > 0 ? above_min : 0) << f->mantissa_bits);
    return result < infinity(f) ? result : infinity(f);
}

static inline uint16_t half_from_f32(float value, const format *f)
{
    uint32_t bits = bits_of_f32(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (isnan(value)) {
        uint64_t payload = (bits & 0x7fffff) >> (23 - f->mantissa_bits);
        return (uint16_t)(sign | infinity(f) | quiet_bit(f) | payload);
    }
    return (uint16_t)(sign | narrow(fabs((double)value), f, 0));
}

uint16_t qgc_f16_from_f32(float value)
{
    return half_from_f32(value, &f16_format);
}

uint16_t qgc_bf16_from_f32(float value)
{
    return half_from_f32(value, &bf16_format);
}

float qgc_f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00)
        magnitude = 0x7f800000 | (magnitude & 0x3ff) << 13 | (magnitude > 0x7c00 ? 0x400000 : 0);
    else if (magnitude >= 0x400)
        magnitude = (magnitude << 13) + ((127 - 15) << 23);
    else
        magnitude = bits_of_f32((float)magnitude * 0x1p-24f);
    return f32_of_bits(sign | magnitude);
}

float qgc_bf16_to_f32(uint16_t bits)
{
    bool nan = (bits & 0x7fff) > 0x7f80;
    return f32_of_bits((uint32_t)(bits | (nan ? 0x40 : 0)) << 16);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void strip_zeros(decimal *d)
{
    while (d->size && d->digits[d->size - 1] == '0')
        d->size--;
}

static void take_digit(decimal *d, char digit, bool after_point)
{
    if (after_point && !d->size)
        d->exponent--;
    if (!after_point && d->size)
        d->exponent++;
    if (!d->size && digit == '0')
        return;
    if (d->size < MAX_DIGITS)
        d->digits[d->size++] = digit;
    else if (digit != '0' && d->digits[MAX_DIGITS - 1] == '0')
        d->digits[MAX_DIGITS - 1] = '1';
}

/* Digits from |*at| on; false where there are none. */
static bool take_digits(qgc_str text, size_t *at, decimal *d, bool after_point)
{
    size_t start = *at;
    for (; *at < text.size && is_digit(text.data[*at]); ++*at)
        take_digit(d, text.data[*at], after_point);
    return *at > start;
}

static bool take_exponent(qgc_str text, size_t *at, decimal *d)
{
    const int64_t limit = INT64_MAX / 1000; /* above the number of digits in any text */
    bool negative = *at < text.size && text.data[*at] == '-';
    if (negative || (*at < text.size && text.data[*at] == '+'))
        ++*at;
    size_t start = *at;
    int64_t exponent = 0;
    for (; *at < text.size && is_digit(text.data[*at]); ++*at)
        if (exponent < limit)
            exponent = exponent * 10 + (text.data[*at] - '0');
    d->exponent += negative ? -exponent : exponent;
    return *at > start;
}

/* digits ["." digits] [("e" | "E") ["+" | "-"] digits], all of |text|. */
static bool parse_decimal(qgc_str text, decimal *out)
{
    out->size = 0;
    out->exponent = 0;
    size_t at = 0;
    if (!take_digits(text, &at, out, false))
        return false;
    if (at < text.size && text.data[at] == '.') {
        at++;
        if (!take_digits(text, &at, out, true))
            return false;
    }
    if (at < text.size && (text.data[at] | 0x20) == 'e') {
        at++;
        if (!take_exponent(text, &at, out))
            return false;
    }
    strip_zeros(out);
    return at == text.size;
}

/* What printf says of |value| > 0 with |num_digits| digits: correctly rounded, exact if enough. */
static void decimal_from_f64(double value, int num_digits, decimal *out)
{
    char text[256];
    snprintf(text, sizeof text, "%.*e", num_digits - 1, value);
    out->size = 0;
    const char *c = text;
    for (; *c != 'e'; c++) /* the locale's decimal point may have several bytes */
        if (is_digit(*c))
            out->digits[out->size++] = *c;
    out->exponent = strtol(c + 1, NULL, 10);
    strip_zeros(out);
}

/* Sign of d - value. */
static int compare_decimal(const decimal *d, double value)
{
    enum { EXACT_DIGITS = 200 }; /* halfway points of the 16-bit formats have at most 102 */
    decimal exact;
    decimal_from_f64(value, EXACT_DIGITS, &exact);
    if (d->exponent != exact.exponent)
        return d->exponent < exact.exponent ? -1 : 1;
    size_t common = d->size < exact.size ? d->size : exact.size;
    int order = memcmp(d->digits, exact.digits, common);
    return order ? order : (d->size > exact.size) - (d->size < exact.size);
}

/* The magnitude nearest to |d|; infinity on overflow. */
static uint64_t round_decimal(decimal *d, const format *f)
{
    if (!d->size)
        return 0;
    int64_t last = d->exponent - (int64_t)d->size + 1;
    last = last < -9999 ? -9999 : last > 9999 ? 9999 : last;
    snprintf(d->digits + d->size, EXPONENT_CHARS, "e%d", (int)last);
    if (f == &f32_format)
        return bits_of_f32(strtof(d->digits, NULL));
    double value = strtod(d->digits, NULL);
    if (f == &f64_format)
        return bits_of_f64(value);
    uint64_t low = narrow(value, f, -1), high = narrow(value, f, 1);
    return low == high ? low : narrow(value, f, compare_decimal(d, value));
}

/* One or more digits of base 10 or 16. */
static bool parse_digits(qgc_str text, uint64_t base, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i], lower = (char)(c | 0x20);
        uint64_t digit = base;
        if (is_digit(c))
            digit = (uint64_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            digit = (uint64_t)(lower - 'a' + 10);
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *out = value;
    return text.size > 0;
}

static qgc_str skip(qgc_str text, size_t bytes)
{
    return bytes ? (qgc_str){text.data + bytes, text.size - bytes} : text;
}

static bool starts_with_hex(qgc_str text)
{
    return text.size > 2 && text.data[0] == '0' && text.data[1] == 'x';
}

static bool is_word(qgc_str text, const char *word)
{
    return text.size == 3 && memcmp(text.data, word, 3) == 0;
}

static bool parse_float(qgc_str text, const format *f, uint64_t *out_bits)
{
    if (starts_with_hex(text))
        return parse_digits(skip(text, 2), 16, out_bits) &&
               (*out_bits & ~(sign_bit(f) | (sign_bit(f) - 1))) == 0;
    *out_bits = infinity(f) | quiet_bit(f);
    if (is_word(text, "nan"))
        return true;
    bool negative = text.size && text.data[0] == '-';
    uint64_t sign = negative ? sign_bit(f) : 0;
    text = skip(text, negative);
    *out_bits = sign | infinity(f);
    if (is_word(text, "inf"))
        return true;
    decimal d;
    if (!parse_decimal(text, &d))
        return false;
    uint64_t magnitude = round_decimal(&d, f);
    *out_bits = sign | magnitude;
    return magnitude < infinity(f);
}

bool qgc_parse_f32(qgc_str text, float *out)
{
    uint64_t bits;
    if (!parse_float(text, &f32_format, &bits))
        return false;
    *out = f32_of_bits((uint32_t)bits);
    return true;
}

bool qgc_parse_f64(qgc_str text, double *out)
{
    uint64_t bits;
    if (!parse_float(text, &f64_format, &bits))
        return false;
    *out = f64_of_bits(bits);
    return true;
}

bool qgc_parse_f16(qgc_str text, uint16_t *out_bits)
{
    uint64_t bits;
    if (!parse_float(text, &f16_format, &bits))
        return false;
    *out_bits = (uint16_t)bits;
    return true;
}

bool qgc_parse_bf16(qgc_str text, uint16_t *out_bits)
{
    uint64_t bits;
    if (!parse_float(text, &bf16_format, &bits))
        return false;
    *out_bits = (uint16_t)bits;
    return true;
}

static bool parse_integer(qgc_str text, bool *out_negative, uint64_t *out)
{
    *out_negative = text.size && text.data[0] == '-';
    text = skip(text, *out_negative);
    if (starts_with_hex(text))
        return parse_digits(skip(text, 2), 16, out);
    return parse_digits(text, 10, out);
}

bool qgc_parse_i64(qgc_str text, int64_t *out)
{
    bool negative;
    uint64_t magnitude;
    if (!parse_integer(text, &negative, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? -magnitude : magnitude);
    return true;
}

bool qgc_parse_u64(qgc_str text, uint64_t *out)
{
    bool negative;
    uint64_t magnitude;
    if (!parse_integer(text, &negative, &magnitude) || (negative && magnitude))
        return false;
    *out = magnitude;
    return true;
}

static void decimal_from_u64(uint64_t integer, int64_t exponent, decimal *out)
{
    char reversed[20];
    size_t num = 0;
    for (; integer; integer /= 10)
        reversed[num++] = (char)('0' + integer % 10);
    for (size_t i = 0; i < num; i++)
        out->digits[i] = reversed[num - 1 - i];
    out->size = num;
    out->exponent = exponent + (int64_t)num - 1;
    strip_zeros(out);
}

/* The common case in f64 arithmetic: an integer below 2^53 times or over an exact power of ten is
 * rounded once. False where that does not decide whether |value| has a decimal of |num_digits|;
 * otherwise |*out_found| says, and |out| is the one nearest to |value|. */
static bool try_quick(double value, int num_digits, const format *f, bool *out_found, decimal *out)
{
    static const double powers[EXACT_POWERS] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (num_digits > 15 || value < 1e-22 || value > 1e22)
        return false;
    int shift = num_digits - 1 - (int)floor(log10(value));
    if (shift >= EXACT_POWERS || shift <= -EXACT_POWERS)
        return false;
    double scaled = shift < 0 ? value / powers[-shift] : value * powers[shift];
    double integer = floor(scaled), rest = scaled - integer;
    /* |scaled| is off by at most 1/16: near 1/2 the nearest integer is not certain. */
    if (fabs(rest - 0.5) < 0.125 || scaled < powers[num_digits - 1] || scaled >= powers[num_digits])
        return false;
    integer += rest > 0.5;
    double back = shift < 0 ? integer * powers[-shift] : integer / powers[shift];
    uint64_t low = narrow(back, f, -1);
    if (low != narrow(back, f, 1))
        return false;
    *out_found = low == narrow(value, f, 0);
    if (*out_found)
        decimal_from_u64((uint64_t)integer, -shift, out);
    return true;
}

/* The decimal of |num_digits| digits nearest to |value|; whether it reads back. */
static bool try_digits(double value, uint64_t magnitude, int num_digits, const format *f,
                       decimal *out)
{
    bool found;
    if (try_quick(value, num_digits, f, &found, out))
        return found;
    decimal_from_f64(value, num_digits, out);
    return round_decimal(out, f) == magnitude;
}

static size_t put(char *out, size_t at, const char *bytes, size_t size)
{
    memcpy(out + at, bytes, size);
    return at + size;
}

static size_t put_zeros(char *out, size_t at, size_t num)
{
    memset(out + at, '0', num);
    return at + num;
}

/* Positional from 1e-4 up to 1e7, or as long as the point stays within the digits. */
static size_t put_decimal(char *out, size_t at, const decimal *d)
{
    enum { POSITIONAL_MIN = -4, POSITIONAL_MAX = 7 };
    int64_t exponent = d->exponent;
    size_t whole = (size_t)(exponent < 0 ? 0 : exponent + 1); /* digits before the point */
    bool fits = exponent < POSITIONAL_MAX || whole <= d->size;
    if (exponent < POSITIONAL_MIN || !fits) {
        at = put(out, at, d->digits, 1);
        if (d->size > 1) {
            out[at++] = '.';
            at = put(out, at, d->digits + 1, d->size - 1);
        }
        return at + (size_t)snprintf(out + at, QGC_NUMBER_CHARS - at, "e%d", (int)exponent);
    }
    if (exponent < 0) {
        at = put(out, at, "0.", 2);
        at = put_zeros(out, at, (size_t)(-exponent - 1));
        return put(out, at, d->digits, d->size);
    }
    size_t given = whole < d->size ? whole : d->size;
    at = put(out, at, d->digits, given);
    at = put_zeros(out, at, whole - given);
    out[at++] = '.';
    if (given == d->size)
        return put_zeros(out, at, 1);
    return put(out, at, d->digits + given, d->size - given);
}

/* |value| is the number that |bits| mean, 0 or more; unused for NaNs. */
static size_t print_bits(char *out, uint64_t bits, double value, const format *f)
{
    uint64_t magnitude = bits & (sign_bit(f) - 1);
    if (magnitude > infinity(f) && bits != (infinity(f) | quiet_bit(f))) {
        int num_hex = (1 + f->exponent_bits + f->mantissa_bits) / 4;
        return (size_t)snprintf(out, QGC_NUMBER_CHARS, "0x%0*llx", num_hex,
                                (unsigned long long)bits);
    }
    size_t at = 0;
    if (bits != magnitude)
        out[at++] = '-';
    if (magnitude == 0)
        return put(out, at, "0.0", 4) - 1;
    if (magnitude >= infinity(f))
        return put(out, at, magnitude > infinity(f) ? "nan" : "inf", 4) - 1;
    bool subnormal = magnitude >> f->mantissa_bits == 0;
    int num_digits = subnormal ? 1 : f->safe_digits;
    decimal d;
    while (!try_digits(value, magnitude, num_digits, f, &d) && num_digits < f->max_digits)
        num_digits++;
    at = put_decimal(out, at, &d);
    out[at] = 0;
    return at;
}

size_t qgc_print_f32(char out[QGC_NUMBER_CHARS], float value)
{
    return print_bits(out, bits_of_f32(value), fabs((double)value), &f32_format);
}

size_t qgc_print_f64(char out[QGC_NUMBER_CHARS], double value)
{
    return print_bits(out, bits_of_f64(value), fabs(value), &f64_format);
}

size_t qgc_print_f16(char out[QGC_NUMBER_CHARS], uint16_t bits)
{
    return print_bits(out, bits, fabs((double)qgc_f16_to_f32(bits)), &f16_format);
}

size_t qgc_print_bf16(char out[QGC_NUMBER_CHARS], uint16_t bits)
{
    return print_bits(out, bits, fabs((double)qgc_bf16_to_f32(bits)), &bf16_format);
}
