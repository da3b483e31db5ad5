#!/usr/bin/env python3
"""Random convolutions in groups and transposed ones, of floats, and transposed ones of bytes, compared as
random_graphs.py compares the others.

usage: random_transposed.py WORK_FILE FAMILY SEED COUNT"""
import random
import sys

from random_floats import finish, float_const, kept, maybe_bias
from random_graphs import Graph, choice, compare, randint, window, zero_point


def is_met(size, out, stride, dilation, pad, kernel):
    """Each output of a transposed convolution meets some input: else those of bytes are sums of taps."""
    for o in range(out):
        reads = [o + pad - k * dilation for k in range(kernel)]
        if not any(r >= 0 and r % stride == 0 and r // stride < size for r in reads):
            return False
    return True


def transposed(is_float=True):
    g = Graph()
    rank, groups, n = choice([1, 2, 2, 3] if is_float else [1, 2, 2]), choice([1, 1, 2, 5]), choice([1, 2])
    c, o = choice([1, 2, 4, 17]), choice([1, 3, 16, 33])
    if random.random() < 0.2:
        groups, c, o = 17, 1, 1
    kernel, stride, dilation, size, pad, more = ([f() for _ in range(rank)] for f in (
        lambda: choice([1, 2, 3, 4]), lambda: choice([1, 2, 2, 3]), lambda: choice([1, 1, 2]), lambda: randint(1, 9 if rank < 3 else 4), lambda: randint(0, 1), lambda: randint(0, 1)))
    out = [(s - 1) * t + d * (k - 1) + 1 - 2 * p + m for s, t, d, k, p, m in zip(size, stride, dilation, kernel, pad, more)]
    if min(out) < 1 or not (is_float or all(map(is_met, size, out, stride, dilation, pad, kernel))):
        return transposed(is_float)
    attrs = f"stride = {stride}, dilation = {dilation}, padding = {pad + pad}, output_padding = {more}, groups = {groups}"
    if not is_float:
        return of_bytes(g, [n, c * groups, *size], [c * groups, o, *kernel], [n, o * groups, *out], attrs)
    x, w = float_const(g, [n, c * groups, *size]), float_const(g, [c * groups, o, *kernel])
    y = g.add(f"conv_transpose{rank}d {x}, {w}{maybe_bias(g, o * groups)} {{{attrs}}}", "f32", [n, o * groups, *out])
    finish(g, y, [n, o * groups, *out])
    return g


def of_bytes(g, x_shape, w_shape, shape, attrs):
    """With or without bias, requantize, a term to add, a convolution behind it that wants a border."""
    x_type, w_type = choice(["u8", "i8"]), choice(["u8", "i8"])
    rank, channels = len(shape) - 2, shape[1]
    x = g.const(x_type, x_shape)
    if random.random() < 0.5:
        x_type = choice(["u8", "i8"])
        x = g.add(f"lookup {x}, {g.const(x_type, [256])}", x_type, x_shape)
    w = g.const(w_type, w_shape)
    attrs += f", x_zero_point = {zero_point(x_type)}, w_zero_point = {128 if w_type == 'u8' else 0}"
    bias = ", " + g.const("i32", [channels]) if random.random() < 0.5 else ""
    y = g.add(f"int_conv_transpose{rank}d {x}, {w}{bias} {{{attrs}}}", "i32", shape)
    if random.random() < 0.2:
        g.result(y, "i32", shape)
        return g
    q = choice(["u8", "i8"])
    terms, by = (f"[{y}]", "[1e-4]") if random.random() < 0.6 else (f"[{y}, {g.const(q, shape)}]", "[1e-4, 0.3]")
    r = g.add(f"requantize {terms} {{multipliers = {by}, zero_point = {zero_point(q)}}}", q, shape)
    g.result(r, q, shape)
    if random.random() < 0.4:
        v = g.const("i8", [3, channels, *[3] * rank])
        z = g.add(f"int_conv{rank}d {r}, {v} {{padding = {[1] * 2 * rank}, x_zero_point = {zero_point(q)}}}", "i32", [shape[0], 3, *shape[2:]])
        g.result(g.add(f"requantize [{z}] {{multipliers = [1e-4]}}", "u8", [shape[0], 3, *shape[2:]]), "u8", [shape[0], 3, *shape[2:]])
    return g


def grouped():
    g = Graph()
    rank, groups, n = choice([1, 2, 2, 3]), choice([2, 3, 8]), choice([1, 2])
    c, o, kernel = choice([1, 2, 4, 17]), choice([2, 3, 16, 33]), [choice([1, 2, 3]) for _ in range(rank)]
    size, out, attrs = window(rank, kernel, (1, 2))
    x, w = float_const(g, [n, c * groups, *size]), float_const(g, [o * groups, c, *kernel])
    y = g.add(f"conv{rank}d {x}, {w}{maybe_bias(g, o * groups)} {{{attrs}groups = {groups}}}", "f32", [n, o * groups, *out])
    finish(g, y, [n, o * groups, *out])
    return g


FAMILIES = {"floats": [transposed, transposed, grouped], "bytes": [lambda: transposed(False)]}


def main():
    family, seed, count = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    random.seed(seed)
    compare([choice(FAMILIES[family])() for _ in range(count)], kept)


main()
