/* Elementary functions on f32, the same bits on every machine.
 *
 * Built from f32 + - * / sqrt, comparisons, selects and 32-bit integer operations on the bits; no
 * fma, no libm, no rounding mode but half to even, subnormals kept. Straight-line code (selects, no
 * data-dependent loops or tables), so that the same sequence can be emitted for vectors: the steps
 * in math_exp.c and math_log.c are the definition, the coefficients stand in math_coefficients.h.
 * The one exception is the argument reduction of sin, cos and tan beyond pi/4, which multiplies
 * integers of 32 and 64 bits by a window of a table of 2/pi; it is exact for every finite f32.
 *
 * The number behind each function is its largest error in units in the last place (ulp) of the
 * correctly rounded result, over the stride of all bit patterns in test/unit/math.c, which
 * fails beyond it. Common rules: a NaN gives a NaN (exceptions: pow); f(-0) = -0 where f is odd;
 * subnormal arguments and results are exact to the same bound; overflow gives an infinity,
 * underflow a (signed) zero. Pure functions; any thread. */
#ifndef QGC_RUNTIME_MATH_H
#define QGC_RUNTIME_MATH_H

#include "qgc/base.h"

/* Nearest integer, ties to even, sign of zero kept; |x| >= 2^23, infinities and NaN come back. */
float qgc_f32_rne(float x);

/* 1 ulp. exp(-inf) = 0. */
float qgc_f32_exp(float x);
/* exp(x) - 1 without cancellation. 1.5 ulp. expm1(-inf) = -1. */
float qgc_f32_expm1(float x);
/* Natural logarithm. 1 ulp. log(+-0) = -inf, log(x < 0) = NaN. */
float qgc_f32_log(float x);
/* ln(1 + x). 1.5 ulp. log1p(-1) = -inf, log1p(x < -1) = NaN. */
float qgc_f32_log1p(float x);
/* |x|^y times the sign. 1.5 ulp. IEEE 754 pow: pow(1, y) = pow(x, 0) = 1 even for NaN; x < 0 needs
 * an integer y (odd ones keep the sign); pow(+-0, y < 0) = inf, of the sign of x where y is odd;
 * pow(-1, +-inf) = 1. */
float qgc_f32_pow(float x, float y);

/* 1.5 ulp. */
float qgc_f32_tanh(float x);
/* 1 / (1 + exp(-x)). 1.5 ulp. */
float qgc_f32_sigmoid(float x);
/* ln(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)). 2 ulp. */
float qgc_f32_softplus(float x);
/* x * sigmoid(x). 2 ulp. silu(-inf) = -0. */
float qgc_f32_silu(float x);
/* 1.5 ulp. */
float qgc_f32_erf(float x);
/* (x / 2) * (1 + erf(x / sqrt 2)), in these steps. The error is at most 1.5 ulp of x: as in every
 * implementation of this form, 1 + erf cancels for negative x. gelu(-inf) = -0. */
float qgc_f32_gelu(float x);
/* (x / 2) * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))). At most 1.5 ulp of x.
 * gelu_tanh(-inf) = -0. */
float qgc_f32_gelu_tanh(float x);

/* 1.5 ulp each; NaN for infinities. */
float qgc_f32_sin(float x);
float qgc_f32_cos(float x);
/* 2.5 ulp; NaN for infinities. */
float qgc_f32_tan(float x);
/* 1.5 ulp; NaN where |x| > 1. */
float qgc_f32_asin(float x);
float qgc_f32_acos(float x);
/* 2 ulp. */
float qgc_f32_atan(float x);
/* 2 ulp each. */
float qgc_f32_sinh(float x);
float qgc_f32_cosh(float x);
/* 3 ulp each. acosh(x < 1) = NaN; atanh(+-1) = +-inf, atanh(|x| > 1) = NaN. */
float qgc_f32_asinh(float x);
float qgc_f32_acosh(float x);
float qgc_f32_atanh(float x);

#endif
