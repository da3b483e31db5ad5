#!/usr/bin/env python3
"""Random products of two activations of 8 bits, compared as random_graphs.py compares the others: batches
that broadcast, any zero points, tails of rows, columns and depth, everything that a requantize may have.

usage: random_matmul.py WORK_FILE SEED COUNT"""
import random
import sys

from random_graphs import Graph, bounds, choice, compare, finish, literal, maybe_addend, zero_point

BATCHES = [([], [], []), ([], [], []), ([3], [3], [3]), ([2, 3], [2, 3], [2, 3]), ([2, 3], [2, 1], [3]), ([2, 2], [], [2, 2]), ([3], [3], []), ([2, 1], [2, 1], [1, 1])]


def activation(g, shape):
    """A constant, what a lookup made of one, or the channels of a convolution, which lie together."""
    dtype, kind = choice(["u8", "i8"]), choice(["const", "lookup", "lookup", "conv"])
    if kind == "conv" and len(shape) == 4:
        other, shift = g.const("u8", [shape[0], 2, *shape[2:]]), choice([1, 3])
        acc = g.add(f"int_conv2d {other}, {g.const('i8', [shape[1], 2, 1, 1])}", "i32", shape)
        return g.add(f"requantize [{acc}] {{multipliers = [0.00{shift}], zero_point = {zero_point(dtype)}}}", dtype, shape), dtype
    x = g.const(dtype, shape)
    if kind == "const":
        return x, dtype
    dtype = choice(["u8", "i8"])
    return g.add(f"lookup {x}, {g.const(dtype, [256])}", dtype, shape), dtype


def matmul():
    g = Graph()
    rows, depth, columns = choice([1, 2, 3, 5, 7, 13, 25]), choice([1, 2, 3, 4, 5, 8, 17, 64, 130]), choice([1, 4, 7, 16, 17, 31, 40, 64, 70, 130])
    batch, a_batch, b_batch = choice(BATCHES)
    a, x = activation(g, [*a_batch, rows, depth])
    b, w = activation(g, [*b_batch, depth, columns])
    shape, bias = [*batch, rows, columns], "_"
    if random.random() < 0.3:
        bias = g.add(f"const {literal([columns], -100000, 100000)}", "i32", [columns])
    # The zero point that makes weights signed, too: sums of rows are not wanted then.
    w_zero = choice([128 if w == "u8" else 0, zero_point(w)])
    acc = g.add(f"int_matmul {a}, {b}, {bias} {{x_zero_point = {zero_point(x)}, w_zero_point = {w_zero}}}", "i32", shape)
    if random.random() < 0.2:
        g.result(acc, "i32", shape)
        return g
    if random.random() < 0.4:  # where is_shifted is proved
        y = choice(["u8", "i8"])
        lo = 0 if y == "u8" else -128
        g.result(g.add(f"requantize [{acc}] {{multipliers = [{choice([0.001, 0.02])}], zero_point = {lo}{bounds(y)}}}", y, shape), y, shape)
        return g
    y, y_type = finish(g, acc, shape, len(shape) - 1, depth, maybe_addend(g, shape))
    g.result(y, y_type, shape)
    return g


FAMILIES = {"matmul": [matmul]}


def main():
    random.seed(int(sys.argv[2]))
    compare([matmul() for _ in range(int(sys.argv[3]))])


if __name__ == "__main__":
    main()
