#!/usr/bin/env python3
"""Random convolutions, linear and matmul of 16 bits, long enough for sums to leave i32, compared as
random_graphs.py compares those of bytes. Nothing may run on the general kernel (taps).

usage: random_words.py WORK_FILE SEED COUNT"""
import random
import sys

from random_graphs import RANGE, Graph, choice, compare, randint, window, zero_point

INTS = ["u8", "i8", "u16", "i16"]
MULTIPLIERS = [1e-10, 1e-8, 1e-6, 3e-4]


def types():
    while True:
        x, w = choice(INTS), choice(INTS)
        if x[1:] == "16" or w[1:] == "16":
            return x, w


def weight_zero(w):
    """Such that what remains has 16 bits."""
    return 0 if w == "i16" else choice([0, 128, 77]) if w == "u8" else choice([0, -128, 5]) if w == "i8" else 32768


def activation(g, dtype, shape):
    """Computed, so that it lies where kernels may read behind it."""
    x = g.const("u8", shape)
    return g.add(f"lookup {x}, {g.const(dtype, [256])}", dtype, shape)


def requantized(g, y, channels, shape, axis):
    q = choice(INTS)
    bounds = ""
    if random.random() < 0.3:
        lo, hi = sorted(random.sample(range(RANGE[q][0], RANGE[q][1] + 1), 2))
        bounds = f", lo = {lo}, hi = {hi}"
    if random.random() < 0.5:
        by, attrs = "", f"multipliers = [{choice(MULTIPLIERS)}]"
    else:
        lists = "[[" + ", ".join(f"{choice(MULTIPLIERS) * random.uniform(0.5, 2):.9g}" for _ in range(channels)) + "]]"
        by, attrs = ", " + g.float_const(lists, [1, channels]), f"axis = {axis}"
        if random.random() < 0.5:
            by += ", " + g.float_const("[" + ", ".join(f"{random.uniform(-9, 9):.9g}" for _ in range(channels)) + "]", [channels])
    return g.add(f"requantize [{y}]{by} {{{attrs}, zero_point = {zero_point(q)}{bounds}}}", q, shape), q


def product(g, op, x, w_shape, x_type, w_type, attrs, channels, shape, axis):
    w = g.const(w_type, w_shape)
    bias = ", " + g.add("const [" + ", ".join(str(randint(-(2**40), 2**40) >> randint(0, 40)) for _ in range(channels)) + "]", "i64", [channels]) if random.random() < 0.5 else ""
    attrs += f"x_zero_point = {choice([0, zero_point(x_type)])}, w_zero_point = {weight_zero(w_type)}"
    return g.add(f"{op} {x}, {w}{bias} {{{attrs}}}", "i64", shape)


def finish(g, y, channels, shape, axis):
    """The sums, a cast of them, or a requantize; behind that a sum with something, a gate, a convolution."""
    kind = choice(["raw", "cast", "requantize", "requantize", "requantize"])
    if kind == "raw":
        g.result(y, "i64", shape)
    elif kind == "cast":
        g.result(g.add(f"relu {g.add(f'cast {y} {{to = f32}}', 'f32', shape)}", "f32", shape), "f32", shape)
    else:
        r, q = requantized(g, y, channels, shape, axis)
        if len(shape) == 4 and random.random() < 0.4:
            gate = choice([shape, [shape[0], shape[1], 1, 1]])
            p = choice(INTS)
            other = activation(g, p, gate)
            if q[1:] != "16" and p[1:] != "16":
                p, other = "i16", g.const("i16", gate)
            if random.random() < 0.5:
                m = g.add(f"int_mul {r}, {other} {{a_zero_point = {zero_point(q)}}}", "i64", shape)
                s = g.add(f"requantize [{m}] {{multipliers = [1e-4], zero_point = {zero_point(q)}}}", q, shape)
            else:
                s = g.add(f"requantize [{r}, {other}] {{multipliers = [0.5, 0.25], term_zero_points = [{zero_point(q)}, {zero_point(p)}], zero_point = {zero_point(q)}}}", q, shape)
            g.result(s, q, shape)
            r = s
        if len(shape) == 4 and random.random() < 0.4:
            o = choice([1, 9])
            z = product(g, "int_conv2d", r, [o, channels, 3, 3], q, "i16", "padding = [1, 1, 1, 1], ", o, [shape[0], o, *shape[2:]], 1)
            g.result(z, "i64", [shape[0], o, *shape[2:]])
        g.result(r, q, shape)
    return g


def conv():
    g = Graph()
    rank, n, groups = choice([1, 2, 2, 2]), choice([1, 1, 2]), choice([1, 1, 1, 2, 3])
    x_type, w_type = types()
    c, o = choice([1, 2, 3, 8, 17, 64]), choice([1, 3, 16, 17, 40, 70])
    if random.random() < 0.35:
        groups, c, o = choice([2, 8, 17, 40]), 1, 1
    kernel = [choice([1, 2, 3, 5]), choice([1, 3, 4])][2 - rank :]
    size, out, attrs = window(rank, kernel, (1, 2, 3))
    x = activation(g, x_type, [n, c * groups, *size])
    shape = [n, o * groups, *out]
    y = product(g, f"int_conv{rank}d", x, [o * groups, c, *kernel], x_type, w_type, attrs + f"groups = {groups}, ", o * groups, shape, 1)
    return finish(g, y, o * groups, shape, 1)


def matrix():
    g = Graph()
    lead, k, o = choice([[1], [5], [13], [2, 3]]), choice([1, 3, 6, 64, 301, 1100]), choice([1, 7, 16, 33, 70])
    x_type, w_type = types()
    x = activation(g, x_type, [*lead, k])
    shape = [*lead, o]
    op, w_shape = choice([("int_linear", [o, k]), ("int_matmul", [k, o])])
    if op == "int_linear":
        y = product(g, op, x, w_shape, x_type, w_type, "", o, shape, len(shape) - 1)
    else:
        y = matmul(g, x, w_shape, x_type, w_type, shape)
    return finish(g, y, o, shape, len(shape) - 1)


def matmul(g, x, w_shape, x_type, w_type, shape):
    w = g.const(w_type, w_shape)
    return g.add(f"int_matmul {x}, {w} {{x_zero_point = {zero_point(x_type)}, w_zero_point = {weight_zero(w_type)}}}", "i64", shape)


def main():
    seed, count = map(int, sys.argv[2:])
    random.seed(seed)
    compare([choice([conv, conv, matrix])() for _ in range(count)])


main()
