#!/usr/bin/env python3
"""Random convolutions in groups and transposed ones, of floats, compared as random_graphs.py compares integer
ones.

usage: random_transposed.py WORK_FILE SEED COUNT"""
import random
import sys

from random_floats import finish, float_const, kept, maybe_bias
from random_graphs import Graph, choice, compare, randint, window


def is_met(size, out, stride, dilation, pad, kernel):
    """Each output of a transposed convolution meets some input."""
    for o in range(out):
        reads = [o + pad - k * dilation for k in range(kernel)]
        if not any(r >= 0 and r % stride == 0 and r // stride < size for r in reads):
            return False
    return True


def transposed():
    g = Graph()
    rank, groups, n = choice([1, 2, 2]), choice([1, 1, 2, 5]), choice([1, 2])
    c, o = choice([1, 2, 4, 17]), choice([1, 3, 16, 33])
    if random.random() < 0.2:
        groups, c, o = 17, 1, 1
    kernel, stride, dilation, size, pad, more = ([f() for _ in range(rank)] for f in (
        lambda: choice([1, 2, 3, 4]), lambda: choice([1, 2, 2, 3]), lambda: choice([1, 1, 2]), lambda: randint(1, 9), lambda: randint(0, 1), lambda: randint(0, 1)))
    out = [(s - 1) * t + d * (k - 1) + 1 - 2 * p + m for s, t, d, k, p, m in zip(size, stride, dilation, kernel, pad, more)]
    if min(out) < 1 or not all(map(is_met, size, out, stride, dilation, pad, kernel)):
        return transposed()
    x, w = float_const(g, [n, c * groups, *size]), float_const(g, [c * groups, o, *kernel])
    attrs = f"stride = {stride}, dilation = {dilation}, padding = {pad + pad}, output_padding = {more}, groups = {groups}"
    y = g.add(f"conv_transpose{rank}d {x}, {w}{maybe_bias(g, o * groups)} {{{attrs}}}", "f32", [n, o * groups, *out])
    finish(g, y, [n, o * groups, *out])
    return g


def grouped():
    g = Graph()
    rank, groups, n = choice([1, 2, 2]), choice([2, 3, 8]), choice([1, 2])
    c, o, kernel = choice([1, 2, 4, 17]), choice([2, 3, 16, 33]), [choice([1, 2, 3]) for _ in range(rank)]
    size, out, attrs = window(rank, kernel, (1, 2))
    pads = [int(v) for v in attrs.split("padding = [")[1].split("]")[0].split(",")]
    if any(p >= k or p >= s for p, k, s in zip(pads, kernel * 2, size * 2)):
        return grouped()
    x, w = float_const(g, [n, c * groups, *size]), float_const(g, [o * groups, c, *kernel])
    y = g.add(f"conv{rank}d {x}, {w}{maybe_bias(g, o * groups)} {{{attrs}groups = {groups}}}", "f32", [n, o * groups, *out])
    finish(g, y, [n, o * groups, *out])
    return g


def main():
    seed, count = map(int, sys.argv[2:])
    random.seed(seed)
    compare([choice([transposed, transposed, grouped])() for _ in range(count)], kept)


main()
