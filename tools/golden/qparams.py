#!/usr/bin/env python3
"""Scales and zero points from ranges, computed with numpy's float32: PyTorch's formulas
(observer qparams from min and max), written independently of runtime/quant.c.

usage: tools/golden/qparams.py > test/unit/golden_qparams.inc   (needs numpy)

Each row: dtype, scheme, qmin, qmax, eps, min, max, expected scale, expected zero point.
"""
import re

import numpy as np

F = np.float32
EPS = F(2.0**-12)
TYPES = {"I8": (-128, 127), "U8": (0, 255), "I16": (-32768, 32767), "U16": (0, 65535)}


def symmetric(low, high, qmin, qmax, eps):
    largest = np.maximum(-np.minimum(low, F(0)), np.maximum(high, F(0)))
    scale = np.maximum(largest / F(float(qmax - qmin) / 2), eps)
    return scale, (qmin + qmax + 1) // 2


def affine(low, high, qmin, qmax, eps):
    low, high = np.minimum(low, F(0)), np.maximum(high, F(0))
    scale = np.maximum((high - low) / F(float(qmax - qmin)), eps)
    zero_point = qmin - int(np.round(low / scale))
    return scale, min(max(zero_point, qmin), qmax)


def ranges(generator):
    fixed = [(0, 0), (0, 1), (-1, 0), (-1, 1), (0.5, 2), (-3, -1), (1e-6, 2e-6), (-127, 127), (-128, 127),
             (0, 255), (-0.5, 254.5), (-1e-30, 1e30), (-3e38, 0), (0, 3e38), (-1.5e38, 1.5e38), (-0.0, 0.0),
             (1e-45, 1e-44), (-6.02, 1.75), (-2.5, 252.5), (-1.5, 253.5)]
    for low, high in fixed:
        yield F(low), F(high)
    for _ in range(20):
        ends = np.sort((generator.standard_normal(2) * 10.0 ** generator.uniform(-4, 4)).astype(F))
        yield ends[0], ends[1]


def literal(value):
    return re.sub(r"\.?0*p", "p", float(value).hex()) + "f"


def rows():
    generator = np.random.default_rng(20240229)
    for low, high in ranges(generator):
        for dtype, (qmin, qmax) in TYPES.items():
            yield dtype, qmin, qmax, EPS, low, high
        yield "I8", -127, 127, EPS, low, high
        yield "U8", 0, 127, EPS, low, high
        yield "I8", -8, 7, F(np.finfo(F).eps), low, high


def main():
    for dtype, qmin, qmax, eps, low, high in rows():
        for scheme, formula in (("SYMMETRIC", symmetric), ("AFFINE", affine)):
            scale, zero_point = formula(low, high, qmin, qmax, eps)
            numbers = ", ".join(literal(v) for v in (eps, low, high, scale))
            print(f"{{QGC_DTYPE_{dtype}, QGC_QUANT_{scheme}, {qmin}, {qmax}, {numbers}, {zero_point}}},")


main()
