#!/usr/bin/env python3
"""Random integer sums of products that the fast kernels do not take, compared as random_graphs.py compares
the others: any rank, transposed, 16 bits, zero points of weights, products of two activations, sums of windows.

usage: random_taps.py WORK_FILE FAMILY SEED COUNT"""
import random
import sys

from random_graphs import Graph, choice, compare, randint, window, zero_point

DTYPES = ["u8", "i8", "u8", "i8", "u16", "i16"]


def wide(*dtypes):
    return "i64" if any(d in ("u16", "i16") for d in dtypes) else "i32"


def activation(g, dtype, shape):
    x = g.const(dtype, shape)
    if dtype in ("u8", "i8") and random.random() < 0.5:
        dtype = choice(["u8", "i8"])
        x = g.add(f"lookup {x}, {g.const(dtype, [256])}", dtype, shape)
    return x, dtype


def finish(g, op, operands, attrs, x, w, channels, shape):
    """|operands|: x, w. Zero points as attributes or operands, a bias or none, a requantize or none."""
    acc = wide(x, w)
    bias = g.const("i32", [channels]) if acc == "i32" and random.random() < 0.5 else "_"
    x_zero, w_zero = "_", "_"
    if random.random() < 0.3:
        x_zero = g.add(f"const {zero_point(x)}", "i32", [])
        if random.random() < 0.5:
            x_zero = g.add(f"identity {x_zero}", "i32", [])
    else:
        attrs += f"x_zero_point = {zero_point(x)}, "
    if random.random() < 0.4:
        w_zero = g.add("const [" + ", ".join(str(zero_point(w)) for _ in range(channels)) + "]", "i32", [channels])
    else:
        attrs += f"w_zero_point = {zero_point(w)}, "
    y = g.add(f"{op} {operands}, {bias}, {x_zero}, {w_zero} {{{attrs.rstrip(', ')}}}", acc, shape)
    if random.random() < 0.5:
        g.result(y, acc, shape)
        return
    q = choice(DTYPES)
    g.result(g.add(f"requantize [{y}] {{multipliers = [{choice([1e-7, 1e-5, 0.001, 0.3])}], zero_point = {zero_point(q)}}}", q, shape), q, shape)


def conv():
    g = Graph()
    rank, groups, n = choice([1, 2, 3]), choice([1, 1, 2, 3]), choice([1, 2])
    c, o, x, w = choice([1, 2, 3, 9]), choice([1, 3, 8, 17]), choice(DTYPES), choice(DTYPES)
    kernel = [choice([1, 2, 3]) for _ in range(rank)]
    size, out, attrs = window(rank, kernel, (1, 2, 3))
    a, x = activation(g, x, [n, c * groups, *size])
    b = g.const(w, [o * groups, c, *kernel])
    finish(g, f"int_conv{rank}d", f"{a}, {b}", attrs + f"groups = {groups}, ", x, w, o * groups, [n, o * groups, *out])
    return g


def transposed():
    g = Graph()
    rank, groups, n = choice([1, 2, 2, 3]), choice([1, 1, 2]), choice([1, 2])
    c, o, x, w = choice([1, 2, 5]), choice([1, 3, 17]), choice(DTYPES), choice(DTYPES)
    kernel, stride, dilation, size, pad, more = ([f() for _ in range(rank)] for f in (
        lambda: choice([1, 2, 3, 4]), lambda: choice([1, 2, 2, 3]), lambda: choice([1, 1, 2]), lambda: randint(1, 6), lambda: randint(0, 1), lambda: randint(0, 1)))
    out = [(s - 1) * t + d * (k - 1) + 1 - 2 * p + m for s, t, d, k, p, m in zip(size, stride, dilation, kernel, pad, more)]
    if min(out) < 1:
        return transposed()
    a, x = activation(g, x, [n, c * groups, *size])
    b = g.const(w, [c * groups, o, *kernel])
    attrs = f"stride = {stride}, dilation = {dilation}, padding = {pad + pad}, output_padding = {more}, groups = {groups}, "
    finish(g, f"int_conv_transpose{rank}d", f"{a}, {b}", attrs, x, w, o * groups, [n, o * groups, *out])
    return g


def pool():
    g = Graph()
    rank, n, c, x = choice([1, 2, 2, 3]), choice([1, 2]), choice([1, 3, 8]), choice(DTYPES)
    kernel = [choice([1, 2, 3]) for _ in range(rank)]
    size, out, attrs = window(rank, kernel, (1, 2, 3))  # some windows lie in the border alone
    a, x = activation(g, x, [n, c, *size])
    acc, zero, shape = wide(x), "", [n, c, *out]
    if random.random() < 0.5:
        zero = g.add(f"const {zero_point(x)}", "i32", [])
        zero = ", " + (g.add(f"identity {zero}", "i32", []) if random.random() < 0.5 else zero)
    else:
        attrs += f"x_zero_point = {zero_point(x)}"
    y = g.add(f"int_sum_pool {a}{zero} {{kernel = {kernel}, {attrs.rstrip(', ')}}}", acc, shape)
    if random.random() < 0.3:
        g.result(y, acc, shape)
        return g
    q = choice(DTYPES)
    g.result(g.add(f"requantize [{y}] {{multipliers = [{choice([1e-4, 0.02, 0.3])}], zero_point = {zero_point(q)}}}", q, shape), q, shape)
    return g


def linear():
    g = Graph()
    rows, k, o, x, w = choice([1, 3, 4, 9]), choice([1, 5, 33]), choice([1, 16, 21]), choice(DTYPES), choice(DTYPES)
    a, x = activation(g, x, [rows, k])
    finish(g, "int_linear", f"{a}, {g.const(w, [o, k])}", "", x, w, o, [rows, o])
    return g


def matmul():
    g = Graph()
    rows, k, o, x, w = choice([1, 3, 4, 9]), choice([1, 5, 33]), choice([1, 16, 21, 40]), choice(DTYPES), choice(DTYPES)
    batch, a_batch, b_batch = choice([([], [], []), ([3], [3], [3]), ([2, 3], [2, 3], [2, 3]), ([2, 3], [2, 1], [3]), ([2, 2], [], [2, 2]), ([3], [3], [])])
    a, x = activation(g, x, [*a_batch, rows, k])
    b, w = activation(g, w, [*b_batch, k, o])
    finish(g, "int_matmul", f"{a}, {b}", "", x, w, o, [*batch, rows, o])
    return g


def mul():
    g = Graph()
    shape, a, b = [choice([1, 3, 17]) for _ in range(choice([1, 2, 4]))], choice(DTYPES), choice(DTYPES)
    other = [choice([s, 1]) for s in shape][randint(0, len(shape)) :] if random.random() < 0.6 else shape
    x, a = activation(g, a, shape)
    y, b = activation(g, b, other)
    x, y, a, b = choice([(x, y, a, b), (y, x, b, a)])
    acc = wide(a, b)
    p = g.add(f"int_mul {x}, {y} {{a_zero_point = {zero_point(a)}, b_zero_point = {zero_point(b)}}}", acc, shape)
    if random.random() < 0.3:
        g.result(p, acc, shape)
        return g
    q = choice(DTYPES)
    g.result(g.add(f"requantize [{p}] {{multipliers = [{choice([1e-6, 0.001, 0.1])}], zero_point = {zero_point(q)}}}", q, shape), q, shape)
    return g


FAMILIES = {"windows": [pool], "products": [conv, transposed, transposed, linear, matmul, matmul], "mul": [mul]}


def main():
    family, seed, count = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    random.seed(seed)
    compare([choice(FAMILIES[family])() for _ in range(count)])


main()
