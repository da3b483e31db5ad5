#!/usr/bin/env python3
"""Random resizes, linear and cubic, of any axes in every coordinate mode, and nearest where it extrapolates, compared as
random_graphs.py compares the others.

usage: random_resize.py WORK_FILE FAMILY SEED COUNT"""
import random
import struct
import sys

from random_floats import float_const, kept
from random_graphs import RANGE, Graph, choice, compare, randint

COORDINATES = ["half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"]


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def some_shape():
    rank = choice([1, 2, 3, 3, 4, 4, 4, 5])
    shape = [choice([1, 2, 3, 5, 8, 17, 33, 40]) for _ in range(rank)]
    while count(shape) > 1500:
        shape[shape.index(max(shape))] = choice([1, 2, 3, 4])
    return shape


def axes_of(rank):
    kind = choice(["spatial", "spatial", "last", "some", "all"])
    if kind == "spatial" and rank > 2:
        return list(range(2, rank))
    if kind == "last":
        return [rank - 1]
    if kind == "some":
        return random.sample(range(rank), randint(1, rank))
    return list(range(rank))


def in_nhwc(g, shape):
    """A value that lies with its channels last: behind a convolution of one tap."""
    c, rank = choice([1, 2, 9]), len(shape) - 2
    return g.add(f"conv{rank}d {float_const(g, [shape[0], c, *shape[2:]])}, {float_const(g, [shape[1], c, *[1] * rank])}", "f32", shape)


def sizes_of(shape, axes):
    """As attributes, or the scales; and what comes out."""
    out = list(shape)
    if random.random() < 0.4:
        scales = [choice([0.5, 1.0, 2.0, 3.0, 1.5, 0.37, 4.0, 1.23, 0.25]) for _ in axes]
        for a, s in zip(axes, scales):
            out[a] = int(f32(shape[a] * f32(s)))
        return out, f"scales = {scales}"
    for a in axes:
        out[a] = choice([1, shape[a], 2 * shape[a], 2 * shape[a], 3 * shape[a], shape[a] + 3, (shape[a] + 1) // 2, randint(1, 40)])
    return out, f"sizes = {[out[a] for a in axes]}"


def resized(mode=None):
    g = Graph()
    shape = some_shape()
    axes = axes_of(len(shape))
    mode, how = mode or choice(["linear", "linear", "cubic"]), choice(COORDINATES)
    out, sizes = sizes_of(shape, axes)
    if count(out) > 12000 or min(out) < 1:
        return resized(mode)
    attrs = f"{sizes}, axes = {[a - choice([0, len(shape)]) for a in axes]}, mode = {mode}, coordinates = {how}"
    if how == "tf_crop_and_resize":
        ends = [choice([0.0, 0.25, -0.5, 0.8]) for _ in axes] + [choice([1.0, 0.5, 1.5, -0.25]) for _ in axes]
        attrs += f", roi = {ends}, extrapolation_value = {choice([0.0, -0.0, 2.5, 77.9])}"
    if mode == "cubic":
        attrs += f", cubic_coeff_a = {choice([-0.75, -0.5, 0.0])}, exclude_outside = {choice(['true', 'false'])}"
    if mode == "nearest":
        attrs += f", nearest = {choice(['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'])}"
    dtype = choice(["f32", *RANGE]) if mode == "nearest" else "f32"
    x = float_const(g, shape) if dtype == "f32" else g.const(dtype, shape)
    if dtype == "f32" and 3 <= len(shape) <= 5 and random.random() < 0.4:
        x = in_nhwc(g, shape)
    y = g.add(f"resize {x} {{{attrs}}}", dtype, out)
    if dtype == "f32" and random.random() < 0.3:
        y = g.add(f"relu {y}", "f32", out)
    g.result(y, dtype, out)
    return g


FAMILIES = {"sums": [resized], "nearest": [lambda: resized("nearest")]}


def main():
    family, seed, num = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    random.seed(seed)
    compare([choice(FAMILIES[family])() for _ in range(num)], kept)


main()
