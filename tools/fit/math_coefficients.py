#!/usr/bin/env python3
"""Fits the polynomials of runtime/math_coefficients.h and prints that header.

usage: tools/fit/math_coefficients.py | clang-format-19 > runtime/math_coefficients.h   (needs mpmath)

Each fit minimises the maximum of the relative error of the whole function, in 60-digit arithmetic.
Coefficients are rounded to f32 one after the other, lowest order first, and the rest is fitted
again each time, so that rounding the large ones costs nothing. The error printed beside a table is
that of the rounded polynomial in exact arithmetic; evaluation errors come on top (test/unit/math.c).
"""
import struct
import sys
from mpmath import (mp, mpf, asin, atan, cos, erfc, exp, fdot, linspace, log, lu_solve, matrix,
                    pi, sin, sqrt, tanh, sinh)

mp.dps = 60


def f32(value):
    return mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def lawson(target, weight, low, high, first, degree):
    """Coefficients c[first..degree] minimising max |weight * (target - sum c[i] t^i)|: least squares
    on Chebyshev nodes, each point reweighted by its error until the errors level out."""
    grid = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / 160) for i in range(80)]
    columns = [[t**i * weight(t) for t in grid] for i in range(first, degree + 1)]
    values = [target(t) * weight(t) for t in grid]
    emphasis = [mpf(1)] * len(grid)
    best, best_error = None, None
    for _ in range(25):
        normal = matrix([[fdot(zip([e * x for e, x in zip(emphasis, a)], b)) for b in columns] for a in columns])
        right = matrix([fdot(zip([e * x for e, x in zip(emphasis, a)], values)) for a in columns])
        fit = list(lu_solve(normal, right))
        errors = [abs(v - fdot(zip(fit, row))) for v, row in zip(values, zip(*columns))]
        if best is None or max(errors) < best_error:
            best, best_error = fit, max(errors)
        mean = sum(e * x for e, x in zip(emphasis, errors)) / sum(emphasis)
        emphasis = [e * (x / mean) if mean else e for e, x in zip(emphasis, errors)]
    return best


def fit_f32(target, weight, low, high, degree):
    low, high = mpf(low), mpf(high)
    fixed = []
    for i in range(degree + 1):
        rest = lawson(lambda t: target(t) - sum(c * t**k for k, c in enumerate(fixed)), weight, low, high, i, degree)
        fixed.append(f32(rest[0]))
    error = max(abs(weight(t) * (target(t) - sum(c * t**k for k, c in enumerate(fixed))))
                for t in linspace(low, high, 501))
    return fixed, error


def near(function, at=mpf("1e-18")):
    """Keeps quotients away from 0/0: evaluates |function| no nearer to 0 than |at|."""
    return lambda t: function(t if abs(t) > at else at)


def root(function):
    return lambda t: function(sqrt(t))


HALF_LN2 = log(mpf(2)) / 2 * mpf("1.0005")
S_MAX = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2 * mpf("1.001")
QUARTER = (pi / 4) ** 2 * mpf("1.001")
TABLES = [
    # name, formula, target, weight (relative error of the result), low, high, degree
    ("exp", "(exp(r) - 1 - r) / r^2, |r| <= ln2/2, weighted for expm1",
     near(lambda r: (exp(r) - 1 - r) / r**2), near(lambda r: r**2 / (exp(r) - 1)), -HALF_LN2, HALF_LN2, 5),
    ("exp2", "(2^r - 1 - r ln2) / r^2, |r| <= 1/2",
     near(lambda r: (exp(r * log(mpf(2))) - 1 - r * log(mpf(2))) / r**2), near(lambda r: r**2), -0.5005, 0.5005, 5),
    ("log", "(2 atanh(s) - 2 s) / s^3 in z = s^2, s = (m - 1) / (m + 1)",
     near(root(lambda s: (log((1 + s) / (1 - s)) - 2 * s) / s**3)), near(lambda z: z), 0, S_MAX, 3),
    ("log2_tail", "(2 atanh(s) / ln2 / s - a - b z) / z^2 in z = s^2; a, b the first two series terms",
     near(root(lambda s: (log((1 + s) / (1 - s)) / s - 2 - 2 * s**2 / 3) / s**4 / log(mpf(2)))),
     near(lambda z: z**2), 0, S_MAX, 3),
    ("tanh", "(tanh(x) / x - 1) / z in z = x^2, |x| <= 0.75",
     near(root(lambda x: (tanh(x) / x - 1) / x**2)), near(lambda z: z), 0, 0.5626, 5),
    ("sinh", "(sinh(x) / x - 1) / z in z = x^2, |x| <= 1",
     near(root(lambda x: (sinh(x) / x - 1) / x**2)), near(lambda z: z), 0, 1.001, 3),
    ("erf", "erf(x) / x - 1 in z = x^2, |x| <= 0.875",
     near(root(lambda x: (1 - erfc(x)) / x - 1)), lambda z: mpf(1), 0, 0.766, 6),
    ("erfc_log", "ln(erfc(x)) / x, 0.875 <= x <= 4",
     lambda x: log(erfc(x)) / x, lambda x: x * erfc(x), 0.874, 4.0, 8),
    ("sin", "(sin(r) / r - 1) / z in z = r^2, |r| <= pi/4",
     near(root(lambda r: (sin(r) / r - 1) / r**2)), near(lambda z: z), 0, QUARTER, 3),
    ("cos", "(cos(r) - 1 + z / 2) / z^2 in z = r^2, |r| <= pi/4",
     near(root(lambda r: (cos(r) - 1 + r**2 / 2) / r**4)), near(lambda z: z**2), 0, QUARTER, 2),
    ("asin", "(asin(x) / x - 1) / z in z = x^2, |x| <= 1/2",
     near(root(lambda x: (asin(x) / x - 1) / x**2)), near(lambda z: z), 0, 0.2501, 5),
    ("atan", "(atan(x) / x - 1) / z in z = x^2, |x| <= tan(pi/8)",
     near(root(lambda x: (atan(x) / x - 1) / x**2)), near(lambda z: z), 0, 0.17174, 4),
]

INTRO = """/* Coefficients of the elementary functions, lowest order first: generated by
 * tools/fit/math_coefficients.py. One source for runtime/math*.c and for code that emits the same
 * sequences. Horner form: p = c[n]; p = p * t + c[n-1]; ...; two roundings per step. */
#ifndef QGC_RUNTIME_MATH_COEFFICIENTS_H
#define QGC_RUNTIME_MATH_COEFFICIENTS_H
"""


def main():
    print(INTRO)
    for name, formula, target, weight, low, high, degree in TABLES:
        table, error = fit_f32(target, weight, low, high, degree)
        print(f"/* {formula}. Relative error of the result 2^{float(log(error, 2)):.1f}. */")
        digits = ", ".join(float(c).hex().replace("0000000p", "p") + "f" for c in table)
        print(f"#define QGC_MATH_{name.upper()} \\\n    {{{digits}}}")
        print(name, float(log(error, 2)), file=sys.stderr)
    print("\n#endif")


main()
