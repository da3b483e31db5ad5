/* Numbers as text, independent of the locale. */
#ifndef QGC_BASE_NUMBER_H
#define QGC_BASE_NUMBER_H

#include "qgc/base.h"

enum { QGC_NUMBER_CHARS = 40 }; /* enough for any number printed here, with its NUL */

/* Decimal ("1", "-0.5", "1e-3"), "inf", "-inf", "nan" (the default quiet NaN), or "0x" + hex
 * digits: the bits of the value (how NaN payloads print). Rounded once, correctly, to the type: a
 * decimal is never read through f64 on its way to f32. Overflowing decimals are refused (false);
 * subnormals and underflow to 0 are not. The whole of |text| must be a number. */
bool qgc_parse_f32(qgc_str text, float *out);
bool qgc_parse_f64(qgc_str text, double *out);
/* Half types: rounded once from the decimal to f16 / bf16 bits. */
bool qgc_parse_f16(qgc_str text, uint16_t *out_bits);
bool qgc_parse_bf16(qgc_str text, uint16_t *out_bits);
/* Decimal or 0x hex, optional '-'. False on overflow. */
bool qgc_parse_i64(qgc_str text, int64_t *out);
bool qgc_parse_u64(qgc_str text, uint64_t *out);

/* Shortest decimal that reads back to the same bits; always with '.' or 'e' ("1.0", "1e-30",
 * "-0.0"); "inf", "-inf", "nan"; other NaNs as "0x7fc00001". Returns the length. */
size_t qgc_print_f32(char out[QGC_NUMBER_CHARS], float value);
size_t qgc_print_f64(char out[QGC_NUMBER_CHARS], double value);
size_t qgc_print_f16(char out[QGC_NUMBER_CHARS], uint16_t bits);
size_t qgc_print_bf16(char out[QGC_NUMBER_CHARS], uint16_t bits);

/* IEEE binary16 and bfloat16 conversions, round half to even; NaNs stay NaNs (quieted). */
float qgc_f16_to_f32(uint16_t bits);
uint16_t qgc_f16_from_f32(float value);
float qgc_bf16_to_f32(uint16_t bits);
uint16_t qgc_bf16_from_f32(float value);

#endif
