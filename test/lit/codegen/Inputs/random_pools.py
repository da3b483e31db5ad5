#!/usr/bin/env python3
"""Random pools of floats and of 16 bits, global and adaptive ones, and casts of wide integers, compared as
random_graphs.py compares integer pools.

usage: random_pools.py WORK_FILE FAMILY SEED COUNT"""
import random
import sys

from random_floats import float_const
from random_graphs import Graph, choice, compare, randint

INTS = ["u8", "i8", "u16", "i16"]


def finish(g, y, dtype, shape):
    """Now and then a function behind it, which reads it as it lies."""
    if dtype == "f32" and random.random() < 0.5:
        y = g.add(f"{choice(['hardswish', 'relu'])} {y}", "f32", shape)
    g.result(y, dtype, shape)
    return g


def source(g, dtype, shape):
    return float_const(g, shape, choice(["near", "wide", "special", "halves"])) if dtype == "f32" else g.const(dtype, shape)


def windows():
    g = Graph()
    rank, n, c = choice([1, 2, 2]), choice([1, 2]), choice([1, 3, 16, 21, 40])
    op, dtype = choice([("avg_pool", "f32"), ("max_pool", "f32"), ("max_pool", choice(INTS))])
    kernel = [randint(1, 4) for _ in range(rank)]
    pad = [randint(0, max(0, (k - 1) // 2)) for k in kernel] + [randint(0, max(0, (k - 1) // 2)) for k in kernel]
    stride = [randint(1, 3) for _ in kernel]
    dilation = [choice([1, 1, 2]) for _ in kernel]
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    size = [e + randint(0, 8) for e in extent]
    room = [size[i] + pad[i] + pad[rank + i] - extent[i] for i in range(rank)]
    attrs = f"kernel = {kernel}, stride = {stride}, padding = {pad}, dilation = {dilation}"
    if random.random() < 0.3 and all((r + s - 1) // s * s < z + pad[i] for i, (r, s, z) in enumerate(zip(room, stride, size))):
        out, attrs = [(r + s - 1) // s + 1 for r, s in zip(room, stride)], attrs + ", ceil_mode = true"
    else:
        out = [r // s + 1 for r, s in zip(room, stride)]
    if op == "avg_pool" and random.random() < 0.5:
        attrs += ", count_include_pad = true"
    shape = [n, c, *out]
    return finish(g, g.add(f"{op} {source(g, dtype, [n, c, *size])} {{{attrs}}}", dtype, shape), dtype, shape)


def whole():
    g = Graph()
    rank, n, c = choice([1, 2, 2]), choice([1, 2]), choice([1, 3, 16, 21, 40])
    kind = choice(["global", "adaptive"])
    op, dtype = choice([("avg", "f32"), ("max", "f32"), ("max", choice(INTS))])
    size = [randint(1, 9) for _ in range(rank)]
    out = [1] * rank if kind == "global" else [randint(1, 6) for _ in range(rank)]
    attrs = "" if kind == "global" else f" {{output_size = {out}}}"
    shape = [n, c, *out]
    return finish(g, g.add(f"{kind}_{op}_pool {source(g, dtype, [n, c, *size])}{attrs}", dtype, shape), dtype, shape)


def cast():
    g = Graph()
    shape, dtype = [choice([1, 3, 8, 17]) for _ in range(choice([1, 2, 3]))], choice(["i32", "i64"])
    span = 2**31 - 1 if dtype == "i32" else 2**63 - 1
    literal = lambda s: "[" + ", ".join(literal(s[1:]) if s[1:] else str(randint(-span, span) >> randint(0, 62 if span > 2**31 else 30)) for _ in range(s[0])) + "]"
    x = g.add(f"const {literal(shape)}", dtype, shape)
    return finish(g, g.add(f"cast {x} {{to = f32}}", "f32", shape), "f32", shape)


FAMILIES = {"pools": [windows, windows, whole], "casts": [cast]}


def main():
    family, seed, count = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    random.seed(seed)
    compare([choice(FAMILIES[family])() for _ in range(count)])


main()
