#!/usr/bin/env python3
"""Random softmaxes, normalizations and reductions, compared as random_graphs.py compares integer graphs.

usage: random_rows.py WORK_FILE FAMILY SEED COUNT"""
import random
import sys

from random_graphs import RANGE, Graph, choice, compare, randint, zero_point

SPECIAL = ["0.0", "-0.0", "inf", "-inf", "nan", "1e-40", "3.4e38", "-3.4e38", "88.7", "-104.5"]
REDUCTIONS = ["sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum", "log_sum_exp"]


def numbers(shape, special):
    if not shape:
        return choice(SPECIAL) if random.random() < special else f"{random.uniform(-9, 9):.9g}"
    return "[" + ", ".join(numbers(shape[1:], special) for _ in range(shape[0])) + "]"


def shape_of(rank):
    shape = [choice([1, 2, 3, 5, 8, 16, 17, 33, 50]) for _ in range(rank)]
    while eval("*".join(map(str, shape))) > 3000:
        shape[shape.index(max(shape))] = choice([1, 2, 3])
    return shape


def source(g, shape):
    x = g.add(f"const {numbers(shape, choice([0, 0, 0.02, 0.3]))}", "f32", shape)
    return g.add(f"neg {x}", "f32", shape) if random.random() < 0.5 else x


def softmax():
    g = Graph()
    shape = shape_of(randint(1, 4))
    y = g.add(f"{choice(['softmax', 'log_softmax'])} {source(g, shape)} {{axis = {randint(-len(shape), len(shape) - 1)}}}", "f32", shape)
    g.result(y, "f32", shape)
    return g


def parameters(g, shape):
    scale, bias = (choice(["_", g.add(f"const {numbers(shape, 0)}", "f32", shape)]) for _ in range(2))
    return f", {scale}, {bias}"


def norm():
    g = Graph()
    shape, op = shape_of(randint(3, 4)), choice(["layer_norm", "layer_norm", "instance_norm", "group_norm"])
    x = source(g, shape)
    if op == "layer_norm":
        axis = randint(0, len(shape) - 1)
        y = g.add(f"layer_norm {x}{parameters(g, shape[axis:])} {{axis = {axis}}}", "f32", shape)
    elif op == "instance_norm":
        y = g.add(f"instance_norm {x}{parameters(g, [shape[1]])} {{epsilon = 0.01}}", "f32", shape)
    else:
        groups = choice([n for n in range(1, shape[1] + 1) if shape[1] % n == 0])
        y = g.add(f"group_norm {x}{parameters(g, [shape[1]])} {{num_groups = {groups}}}", "f32", shape)
    g.result(y, "f32", shape)
    return g


def kept(shape):
    axes = sorted(random.sample(range(len(shape)), randint(1, len(shape))))
    keep = random.random() < 0.5
    out = [1 if i in axes else s for i, s in enumerate(shape) if keep or i not in axes]
    return axes, keep, out


def reduce():
    g = Graph()
    shape = shape_of(randint(1, 4))
    axes, keep, out = kept(shape)
    y = g.add(f"reduce_{choice(REDUCTIONS)} {source(g, shape)} {{axes = {axes}, keepdims = {str(keep).lower()}}}", "f32", out)
    g.result(y, "f32", out)
    return g


def reduce_integers():
    g = Graph()
    shape, dtype = shape_of(randint(1, 4)), choice(["u8", "i8", "u16", "i16"])
    axes, keep, out = kept(shape)
    x = g.const(dtype, shape)
    attrs = f"axes = {axes}, keepdims = {str(keep).lower()}"
    if len(shape) >= 3 and random.random() < 0.3:
        out = [*shape[:2], *([1] * (len(shape) - 2))]
        g.result(g.add(f"global_max_pool {x}", dtype, out), dtype, out)
        return g
    if random.random() < 0.5:
        g.result(g.add(f"reduce_{choice(['max', 'min'])} {x} {{{attrs}}}", dtype, out), dtype, out)
        return g
    wide = "i32" if dtype in ("u8", "i8") else "i64"
    acc = g.add(f"int_sum {x} {{{attrs}, x_zero_point = {zero_point(dtype)}}}", wide, out)
    if random.random() < 0.3:
        g.result(acc, wide, out)
        return g
    y = choice(["u8", "i8", "i16", "u16"])
    g.result(g.add(f"requantize [{acc}] {{multipliers = [0.03], zero_point = {zero_point(y)}}}", y, out), y, out)
    return g


def qparams():
    g = Graph()
    shape, dtype = shape_of(randint(1, 4)), choice(["u8", "i8", "u16", "i16", "i32"])
    lo, hi = RANGE[dtype]
    bounds = f"[{lo // 2},{hi // 3 + 1}]" if random.random() < 0.3 else ""
    spec = f"{dtype}.{choice(['sym', 'affine'])}{bounds}"
    x = source(g, shape)
    if random.random() < 0.2:  # all of one sign, or nothing finite
        x = g.add(f"{choice(['abs', 'log'])} {x}", "f32", shape)
    scale, zero = f"%s{g.count}", f"%z{g.count}"
    g.lines.append(f"  {scale}, {zero} = choose_qparams {x} {{spec = {spec}}} : f32[], i32[]")
    g.result(scale, "f32", [])
    g.result(zero, "i32", [])
    return g


def dynamic():
    """Products whose zero point is computed: raw sums of the fast kernels."""
    g = Graph()
    x, w, o, c = choice(["u8", "i8"]), choice(["i8", "u8"]), choice([1, 7, 16, 33, 70]), choice([1, 3, 4, 17, 64, 200])
    rows, groups = choice([1, 2, 5, 13]), choice([1, 1, 2])
    zero = g.add(f"const {zero_point(x)}", "i32", [])
    zero = g.add(f"identity {zero}", "i32", [])
    bias = g.const("i32", [o * groups]) if random.random() < 0.4 else "_"
    attrs = f"w_zero_point = {128 if w == 'u8' else 0}"
    if random.random() < 0.5:
        c = min(c, 17)
        kernel, size = [randint(1, 3), randint(1, 3)], [randint(3, 7), randint(3, 26)]
        shape = [rows % 3 + 1, o * groups, *[s - k + 1 for s, k in zip(size, kernel)]]
        op, x_shape, w_shape = "int_conv2d", [shape[0], c * groups, *size], [o * groups, c, *kernel]
        attrs += f", groups = {groups}"
    else:
        bias = g.const("i32", [o]) if bias != "_" else "_"
        op, w_shape = choice([("int_linear", [o, c]), ("int_matmul", [c, o])])
        x_shape, shape = [rows, c], [rows, o]
    y = g.add(f"{op} {g.const(x, x_shape)}, {g.const(w, w_shape)}, {bias}, {zero} {{{attrs}}}", "i32", shape)
    if random.random() < 0.3:
        g.result(y, "i32", shape)
    scale = g.add("const 0.01", "f32", [])
    g.result(g.add(f"dequantize {y}, {scale}", "f32", shape), "f32", shape)
    return g


FAMILIES = {"rows": [softmax, norm, reduce, reduce_integers], "dynamic": [qparams, dynamic]}


def main():
    family, seed, count = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    random.seed(seed)
    compare([choice(FAMILIES[family])() for _ in range(count)])


main()
