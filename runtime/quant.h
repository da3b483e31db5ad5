/* Quantization arithmetic of single values (docs/quantization.md, sections 1 and 2). Every function
 * is defined for every input and gives the same bits on every machine: IEEE f32, round half to even
 * (rne), no fused multiply-add. Pure; any thread. "clamp" is over the unbounded integers: a value
 * of 1e30 gives the upper bound, never a wrapped integer. Kernels and emitted code may use any
 * sequence that gives these bits (a float clamp before the conversion, for instance). */
#ifndef QGC_RUNTIME_QUANT_H
#define QGC_RUNTIME_QUANT_H

#include "qgc/base.h"

/* Why parameters or a range are refused: id, text for messages. */
#define QGC_QUANT_FAULTS(X)                                                                        \
    X(SCALE_ZERO, "scale is zero")                                                                 \
    X(SCALE_NEGATIVE, "scale is negative")                                                         \
    X(SCALE_SUBNORMAL, "scale is subnormal")                                                       \
    X(SCALE_NAN, "scale is NaN")                                                                   \
    X(SCALE_INFINITE, "scale is infinite")                                                         \
    X(ZERO_POINT, "zero point lies outside the type's range")                                      \
    X(BOUNDS, "lower bound is not below the upper bound, or lies outside the type's range")        \
    X(DTYPE, "type is not i8, u8, i16, u16 or i32")                                                \
    X(RANGE_EMPTY, "no data seen: minimum lies above maximum")                                     \
    X(RANGE_NAN, "minimum or maximum is NaN")                                                      \
    X(RANGE_INFINITE, "minimum or maximum is infinite")

typedef enum qgc_quant_fault {
    QGC_QUANT_OK,
#define QGC_QUANT_FAULT_ID(id, text) QGC_QUANT_##id,
    QGC_QUANT_FAULTS(QGC_QUANT_FAULT_ID)
#undef QGC_QUANT_FAULT_ID
} qgc_quant_fault;

/* Static text, no full stop; "" for QGC_QUANT_OK. */
const char *qgc_quant_fault_text(qgc_quant_fault fault);

/* ---- types and parameters ---- */

/* Integer bounds, both included. */
typedef struct qgc_int_range {
    int32_t lo, hi;
} qgc_int_range;

/* All values of i8, u8, i16, u16 or i32; false for other types. */
bool qgc_quant_dtype_range(qgc_dtype dtype, qgc_int_range *out_range);

/* real = (q - zero_point) * scale */
typedef struct qgc_qparams {
    float scale;
    int32_t zero_point;
} qgc_qparams;

/* A scale (or a product of scales, or a requantize multiplier) has to be positive, finite and not
 * subnormal. Signs are looked at after NaN, infinity (either sign) and zero (either sign). */
qgc_quant_fault qgc_quant_check_scale(float scale);
/* The scale, and the zero point against |range|. */
qgc_quant_fault qgc_quant_check(qgc_qparams params, qgc_int_range range);

/* ---- quantize, dequantize ---- */

/* The two forms differ in one value in eight on exact ties, so the mode is part of an op. */
typedef enum qgc_quantize_mode {
    QGC_QUANTIZE_MULTIPLY, /* x * (1 / scale), the reciprocal in f32 */
    QGC_QUANTIZE_DIVIDE,   /* x / scale (ONNX) */
} qgc_quantize_mode;

/* clamp(rne(x * (1 / scale)) + zero_point, range), or with x / scale. The zero point is added after
 * rounding. NaN gives the zero point (clamped), infinities and overflow the bounds. |params| passes
 * qgc_quant_check; other scales give some value within |range|. */
int32_t qgc_quantize(float x, qgc_qparams params, qgc_int_range range, qgc_quantize_mode mode);

/* f32(q - zero_point) * scale. The subtraction is i32 modulo 2^32; it can wrap for i32 values only.
 */
float qgc_dequantize(int32_t q, qgc_qparams params);

/* dequantize(quantize(x)). */
float qgc_fake_quant(float x, qgc_qparams params, qgc_int_range range, qgc_quantize_mode mode);

/* To f16 (rne) and back, with the range of f16: |x| >= 65520 gives an infinity of the sign of x, as
 * the conversion does; subnormal f16 are kept, below 2^-25 (and at it) a signed zero; NaN stays. */
float qgc_fake_cast_f16(float x);

/* ---- requantize ---- */

typedef enum qgc_requantize_mode {
    QGC_REQUANTIZE_ZP_LAST, /* clamp(rne(t1*m1 + t2*m2 + ... + bias) + zero_point, range) */
    QGC_REQUANTIZE_ZP_FIRST /* clamp(rne(offset + t1*m1 + t2*m2 + ...), range), offset =
                               (zero_point - (m1*z1 + m2*z2 + ...)) + bias; terms are raw values */
} qgc_requantize_mode;

/* The one integer epilogue. Terms are converted to f32 (rne), each product and each sum is rounded,
 * sums go left to right in the order written above. The lone term t1*m1 begins the sum, and bias is
 * always added. A NaN (from products that overflow to infinities of both signs) gives the zero
 * point, clamped. ZP_FIRST is ONNX Runtime's QLinearAdd in its form without fused multiply-add. */
typedef struct qgc_requantize_params {
    const float *multipliers;   /* num_terms; each passes qgc_quant_check_scale */
    const int32_t *zero_points; /* num_terms; ZP_FIRST only, NULL: all 0 */
    size_t num_terms;           /* 0: the sum is the bias (or offset) alone */
    float bias;                 /* real bias / output scale; 0 where the accumulator holds it */
    int32_t zero_point;         /* of the output */
    qgc_int_range range;        /* the output's, narrowed by a fused clip; lo <= hi */
    qgc_requantize_mode mode;
} qgc_requantize_params;

/* |terms|: num_terms accumulators; i32 ones widen without loss (f32(i64(t)) = f32(t)). */
int32_t qgc_requantize(const qgc_requantize_params *params, const int64_t *terms);
/* One i32 term: conv, linear, pools, concat seams. */
int32_t qgc_requantize_one(const qgc_requantize_params *params, int32_t term);

/* m = f32(f32(scale_x * scale_w) / scale_y); the product and m are checked too. */
qgc_quant_fault qgc_requantize_multiplier(float scale_x, float scale_w, float scale_y,
                                          float *out_multiplier);
/* m = f32(scale_x / f32(f32(count) * scale_y)), count > 0: average pools. */
qgc_quant_fault qgc_pool_multiplier(float scale_x, int64_t count, float scale_y,
                                    float *out_multiplier);

/* Whether num_products * max_x * max_w + max_bias < 2^31: no order of summation can overflow i32.
 * The extremes are those of |x - zx| and |w - zw|. */
bool qgc_accumulates_in_i32(uint64_t num_products, uint32_t max_x, uint32_t max_w,
                            uint64_t max_bias);

/* ---- scale and zero point from a range ---- */

typedef enum qgc_quant_scheme { QGC_QUANT_SYMMETRIC, QGC_QUANT_AFFINE } qgc_quant_scheme;

#define QGC_QUANT_EPS 0x1p-12f /* smallest scale in the shipped presets */

typedef struct qgc_quant_spec {
    qgc_dtype dtype;
    qgc_quant_scheme scheme;
    qgc_int_range range; /* qmin, qmax: within the type's range, qmin < qmax */
    float eps;           /* smallest scale; passes qgc_quant_check_scale */
} qgc_quant_spec;

/* i8.sym is -127..127; every other combination is the type's full range; eps is QGC_QUANT_EPS.
 * |dtype| is a quantized type. */
qgc_quant_spec qgc_quant_spec_default(qgc_dtype dtype, qgc_quant_scheme scheme);
qgc_quant_fault qgc_quant_check_spec(const qgc_quant_spec *spec);

/* With lo = min(min, 0), hi = max(max, 0), all in f32:
 *   symmetric  scale = max(max(-lo, hi) / (f32(qmax - qmin) / 2), eps)
 *              zero_point = floor((qmin + qmax + 1) / 2)
 *   affine     scale = max((hi - lo) / f32(qmax - qmin), eps)
 *              zero_point = clamp(qmin - rne(lo / scale), qmin, qmax)
 * Where hi - lo overflows, its quotient is hi / span - lo / span, so a scale is never infinite.
 * Equal to torchao's to the bit. Faults: RANGE_*, and those of the spec; *out_params is then
 * untouched. */
qgc_quant_fault qgc_qparams_from_range(const qgc_quant_spec *spec, float min, float max,
                                       qgc_qparams *out_params);

/* Dynamic quantization: the formulas above on the least and greatest finite value of x[0..n).
 * NaN and infinities do not count (they saturate when quantized); without any finite value the
 * range is 0..0. Nothing in the data can make it fail: only a bad spec gives a fault. */
qgc_quant_fault qgc_choose_qparams(const qgc_quant_spec *spec, const float *x, size_t n,
                                   qgc_qparams *out_params);

#endif
