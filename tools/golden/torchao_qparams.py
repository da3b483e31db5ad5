#!/usr/bin/env python3
"""Scales and zero points as torchao's observers give them, for test/unit/torchao.c.

usage: tools/peers-python tools/golden/torchao_qparams.py -o test/unit        (torch 2.13.0, torchao 0.18.0)

Writes torchao_qparams.inc, one row per observer, type, scheme, bounds and range:
  kind, observer, dtype, scheme, qmin, qmax, eps, min, max, scale, zero point
and torchao_averages.inc, the state of a moving average after each batch:
  batch minimum, batch maximum, averaged minimum, averaged maximum

The observers see data with the given minimum and maximum, like in a calibration; only the histogram
observer gets the two numbers directly, because it cuts ranges. |kind| says what the unit test expects:
SAME bits, or one of the differences that docs/conformance.md explains. It is told from the arguments
alone, never from torchao's answer or ours.
"""
import argparse
import math
import pathlib
import warnings

import torch
from torch.ao.quantization.fx import _decomposed  # registers choose_qparams
from torchao.quantization.granularity import PerAxis, PerTensor
from torchao.quantization.pt2e import _affine_quantization, observer
from torchao.quantization.quant_primitives import MappingType

EPS = {"PRESET": 2.0**-12, "DEFAULT": 2.0**-23}
TYPES = {"I8": torch.int8, "U8": torch.uint8, "I16": torch.int16, "U16": torch.uint16, "I32": torch.int32}
FULL = {"I8": (-128, 127), "U8": (0, 255), "I16": (-32768, 32767), "U16": (0, 65535), "I32": (-2**31, 2**31 - 1)}
# dtype, explicit bounds or None
CONFIGURATIONS = [("I8", None), ("I8", (-128, 127)), ("I8", (-127, 127)), ("I8", (-8, 7)), ("I8", (0, 15)),
                  ("I8", (-64, 63)), ("U8", None), ("U8", (0, 255)), ("U8", (0, 127)), ("I16", None),
                  ("I16", (-32767, 32767)), ("U16", None), ("I32", None), ("I32", (-2**31 + 1, 2**31 - 1))]
SHORT_CONFIGURATIONS = [("I8", None), ("I8", (-127, 127)), ("U8", None), ("U8", (0, 255)), ("I16", None)]

DEGENERATE = [(0, 0), (-0.0, 0.0), (3.0, 3.0), (-3.0, -3.0), (1e-45, 1e-44), (-1e-30, 1e-30), (0, 2.0**-12),
              (0, 3.4e38), (-3e38, 0), (-1.5e38, 1.5e38), (-3e38, 3e38), (-1e-30, 1e30)]
ORDINARY = [(0, 1), (-1, 1), (0.5, 2), (-6.02, 1.75), (-2.5, 252.5), (-1.5, 253.5), (-0.1, 6), (-127, 128),
            (0, 6), (-1e-3, 1e-3)]
UNUSABLE = [(math.inf, -math.inf), (-1.0, math.inf), (-math.inf, 1.0), (math.nan, math.nan)]


def random_ranges(count):
    generator = torch.Generator().manual_seed(20240229)
    for _ in range(count):
        values = torch.randn(2, generator=generator) * 10.0 ** (8 * torch.rand(1, generator=generator) - 4)
        yield tuple(values.sort().values.tolist())


def f32(value):
    return torch.tensor(value, dtype=torch.float32).item()


def kind_of(dtype, bounds, scheme, eps, low, high):
    """What the unit test expects of a row (docs/conformance.md, section 1)."""
    low, high = f32(low), f32(high)
    if not (math.isfinite(low) and math.isfinite(high)):
        return "UNUSABLE"
    span = f32(max(high, 0.0)) - f32(min(low, 0.0))
    if scheme == "AFFINE":
        if math.isinf(f32(span)):
            return "TOO_WIDE"
        steps = -min(low, 0.0) / max(span / 2.0**32, eps)
        return "WRAPS" if dtype == "I32" and steps > 2.0**31 * (1 + 1e-6) else "SAME"
    if dtype == "U8" and bounds is not None:
        return "MIDPOINT"
    if dtype[0] == "I" and bounds is not None and (bounds[0] + bounds[1] + 1) // 2 != 0:
        return "LOPSIDED"
    return "SAME"


# ---- the ways to torchao's formulas: [(min, max)] -> [(scale, zero point)] ----

def per_tensor(make, ranges):
    for low, high in ranges:
        one = make()
        if not math.isinf(low) or low < high:  # (inf, -inf) is what an observer has that saw nothing
            one(torch.tensor([low, high], dtype=torch.float32))
        scale, zero_point = one.calculate_qparams()
        yield scale.item(), zero_point.item()


def with_scheme(cls, scheme, bounds, **arguments):
    scheme = getattr(torch, f"{'per_channel' if 'PerChannel' in cls.__name__ else 'per_tensor'}_{scheme.lower()}")
    limits = {} if bounds is None else {"quant_min": bounds[0], "quant_max": bounds[1]}
    return lambda: cls(qscheme=scheme, **limits, **arguments)


def from_minmax(dtype, bounds, scheme, eps, ranges):
    yield from per_tensor(with_scheme(observer.MinMaxObserver, scheme, bounds, dtype=dtype, eps=eps), ranges)


def from_moving_average(dtype, bounds, scheme, eps, ranges):
    cls = observer.MovingAverageMinMaxObserver
    yield from per_tensor(with_scheme(cls, scheme, bounds, dtype=dtype, eps=eps), ranges)


def from_histogram(dtype, bounds, scheme, eps, ranges):
    one = with_scheme(observer.HistogramObserver, scheme, bounds, dtype=dtype, eps=eps)()
    for low, high in ranges:
        scale, zero_point = one._calculate_qparams(torch.tensor(low), torch.tensor(high))
        yield scale.item(), zero_point.item()


def per_channel(cls, dtype, bounds, scheme, eps, ranges):
    one = with_scheme(cls, scheme, bounds, dtype=dtype, eps=eps, ch_axis=1)()
    one(torch.tensor(ranges, dtype=torch.float32).T)  # [2, channels]
    scales, zero_points = one.calculate_qparams()
    zero_points = zero_points.expand(len(ranges))
    yield from zip(scales.tolist(), zero_points.tolist())


def from_per_channel(*arguments):
    yield from per_channel(observer.PerChannelMinMaxObserver, *arguments)


def from_moving_average_per_channel(*arguments):
    yield from per_channel(observer.MovingAveragePerChannelMinMaxObserver, *arguments)


def from_choose_qparams(dtype, bounds, scheme, eps, ranges):
    name = "choose_qparams" if scheme == "AFFINE" else "choose_qparams_symmetric"
    choose = getattr(torch.ops.quantized_decomposed, name).tensor
    for low, high in ranges:
        scale, zero_point = choose(torch.tensor([low, high], dtype=torch.float32), *bounds, eps, dtype)
        yield scale.item(), zero_point.item()


def from_affine(granularity, dtype, bounds, scheme, eps, ranges):
    mapping = MappingType.SYMMETRIC if scheme == "SYMMETRIC" else MappingType.ASYMMETRIC
    one = _affine_quantization.AffineQuantizedMinMaxObserver(
        mapping, dtype, granularity, *bounds, eps, torch.float32, torch.int32)
    one(torch.tensor(ranges, dtype=torch.float32))  # [channels, 2]
    scales, zero_points = one.calculate_qparams()
    yield from zip(scales.flatten().tolist(), zero_points.flatten().tolist())


def from_affine_per_tensor(*arguments):
    *arguments, ranges = arguments
    for one in ranges:
        yield from from_affine(PerTensor(), *arguments, [one])


def from_affine_per_axis(*arguments):
    yield from from_affine(PerAxis(0), *arguments)


# observer's name in the rows: function, whether bounds are always given as numbers
WAYS = {
    "MIN_MAX": (from_minmax, False),
    "MOVING_AVERAGE": (from_moving_average, False),
    "HISTOGRAM": (from_histogram, False),
    "PER_CHANNEL": (from_per_channel, False),
    "MOVING_AVERAGE_PER_CHANNEL": (from_moving_average_per_channel, False),
    "CHOOSE_QPARAMS": (from_choose_qparams, True),
    "AFFINE_PER_TENSOR": (from_affine_per_tensor, True),
    "AFFINE_PER_AXIS": (from_affine_per_axis, True),
}


def cases():
    """way, configuration, scheme, eps, ranges"""
    for scheme in ("SYMMETRIC", "AFFINE"):
        for configuration in CONFIGURATIONS:
            ranges = DEGENERATE + ORDINARY + list(random_ranges(4))
            yield "MIN_MAX", configuration, scheme, EPS["PRESET"], ranges
            yield "MIN_MAX", configuration, scheme, EPS["DEFAULT"], DEGENERATE[:8]
        yield "MIN_MAX", ("I8", None), scheme, EPS["PRESET"], UNUSABLE[:3]
        for way, (_, given) in WAYS.items():
            for configuration in SHORT_CONFIGURATIONS:
                if way == "MIN_MAX" or given and configuration[1] is None:
                    continue
                if way == "AFFINE_PER_TENSOR" and configuration[0] == "I16":
                    continue
                yield way, configuration, scheme, EPS["PRESET"], ORDINARY + DEGENERATE[:4]
        for way in ("CHOOSE_QPARAMS", "AFFINE_PER_TENSOR", "AFFINE_PER_AXIS"):
            yield way, ("I8", (-128, 127)), scheme, EPS["DEFAULT"], ORDINARY + DEGENERATE[:7]


def number(value):
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = float(f32(value)).hex()
    mantissa, exponent = text.split("p")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + f"p{exponent}f"


def row(way, configuration, scheme, eps, bounds_of_range, answer):
    (dtype, bounds), (low, high), (scale, zero_point) = configuration, bounds_of_range, answer
    kind = kind_of(dtype, bounds, scheme, eps, low, high)
    if kind == "MIDPOINT" and way in ("CHOOSE_QPARAMS", "AFFINE_PER_TENSOR", "AFFINE_PER_AXIS"):
        kind = "SAME"  # these take the upper middle as we do
    qmin, qmax = bounds or FULL[dtype]
    lowest = "INT32_MIN" if qmin == -2**31 else str(qmin)
    floats = ", ".join(number(value) for value in (eps, low, high, scale))
    zero = "INT32_MIN" if zero_point == -2**31 else str(zero_point)
    return f"ROW({kind}, {way}, {dtype}, {scheme}, {lowest}, {qmax}, {floats}, {zero})"


def qparams_rows():
    for way, configuration, scheme, eps, ranges in cases():
        dtype, bounds = configuration
        answers = WAYS[way][0](TYPES[dtype], bounds, scheme, eps, ranges)
        for one, answer in zip(ranges, answers, strict=True):
            yield row(way, configuration, scheme, eps, one, answer)


def average_rows():
    one = observer.MovingAverageMinMaxObserver(dtype=torch.int8, averaging_constant=0.01)
    for low, high in [*ORDINARY, *random_ranges(30)]:
        one(torch.tensor([low, high], dtype=torch.float32))
        values = (low, high, one.min_val.item(), one.max_val.item())
        yield "ROW(" + ", ".join(number(value) for value in values) + ")"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    args.output.mkdir(parents=True, exist_ok=True)
    for name, rows in (("qparams", qparams_rows()), ("averages", average_rows())):
        text = "".join(line + "\n" for line in rows)
        (args.output / f"torchao_{name}.inc").write_text(text)


main()
