#!/usr/bin/env python3
"""Random float graphs, compared as random_graphs.py compares integer ones.

usage: random_floats.py WORK_FILE FAMILY SEED COUNT"""
import math
import random
import sys

from random_graphs import RANGE, Graph, choice, compare, literal, randint, window, zero_point

SPECIAL = ["0.0", "-0.0", "inf", "-inf", "nan", "1.0", "-1.0", "0.5", "-2.5", "1e-40", "-3e-45", "3.4e38", "1.17549435e-38",
           "88.72284", "-87.33655", "-103.98", "0.875", "0.75", "104.5", "-120.5", "3.92", "8388609.0",
           "1.5707964", "-0.7853982", "0.7853982", "6.2831855", "1e30", "-16777218.0"]
UNARY = ["neg", "abs", "sign", "relu", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "round", "exp", "expm1", "log", "log1p", "erf",
         "tanh", "sigmoid", "silu", "softplus", "mish", "softsign", "gelu", "hardsigmoid", "hardswish", "sin",
         "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "selu"]
BINARY = ["add", "sub", "mul", "div", "min", "max", "prelu", "pow"]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]


def number(style):
    if style == "special" or random.random() < 0.05:
        return choice(SPECIAL)
    if style == "wide":
        return f"{choice([-1, 1]) * 10 ** random.uniform(-42, 38):.9g}"
    if style == "halves":
        return str(randint(-300, 300) / 2)
    return f"{random.uniform(-6, 6):.9g}"


def numbers(shape, style):
    if not shape:
        return number(style)
    return "[" + ", ".join(numbers(shape[1:], style) for _ in range(shape[0])) + "]"


def float_const(g, shape, style=None):
    return g.add(f"const {numbers(shape, style or choice(['near', 'near', 'wide', 'special', 'halves']))}", "f32", shape)


def broadcast(shape):
    """A shape that broadcasts to |shape|."""
    if random.random() < 0.5:
        return shape
    if random.random() < 0.3:
        return []
    lead = randint(0, len(shape))
    return [choice([d, d, 1]) for d in shape[lead:]]


def parameters(g, shape, dtype):
    """Operands and attributes of a step of quantization."""
    scale = choice([0.01, 0.1, 0.5, 1.0, 3.7e-5, 2.5e10])
    if not shape or random.random() < 0.6:
        return "", f"scale = {scale}, zero_point = {zero_point(dtype)}"
    axis = randint(0, len(shape) - 1)
    channels = shape[axis]
    scales = g.add("const [" + ", ".join(f"{scale * random.uniform(0.5, 2):.9g}" for _ in range(channels)) + "]", "f32", [channels])
    if random.random() < 0.5:
        return f", {scales}", f"axis = {axis}, zero_point = {zero_point(dtype)}"
    zeros = g.add("const [" + ", ".join(str(zero_point(dtype)) for _ in range(channels)) + "]", "i32", [channels])
    return f", {scales}, {zeros}", f"axis = {axis}"


def dequantized(g, shape, x=None, dtype=None):
    dtype = dtype or choice(["i8", "u8", "i16", "u16", "i32"])
    x = x or g.add(f"const {literal(shape, *RANGE[dtype])}", dtype, shape)
    operands, attrs = parameters(g, shape, dtype)
    return g.add(f"dequantize {x}{operands} {{{attrs}}}", "f32", shape)


def quantized(g, shape, x):
    dtype = choice(["i8", "u8", "i16", "u16"])
    operands, attrs = parameters(g, shape, dtype)
    lo, hi = sorted(random.sample(range(RANGE[dtype][0], RANGE[dtype][1] + 1), 2))
    if "zero_point =" in attrs and random.random() < 0.3:
        z = int(attrs.split("zero_point = ")[1])
        attrs += f", range = [{min(lo, z)}, {max(hi, z)}]"
    attrs += choice(["", ", mode = divide"])
    return g.add(f"quantize {x}{operands} {{{attrs}}}", dtype, shape), dtype


def step(g, shape, pool, bools):
    """One more value of |shape| from those that are there."""
    operand = lambda: choice(pool) if random.random() < 0.7 else float_const(g, broadcast(shape))
    kind = choice(["unary", "unary", "binary", "binary", "clip", "where", "compare", "seam", "fake", "scaled"])
    x = choice(pool)
    if kind == "unary":
        pool.append(g.add(f"{choice(UNARY)} {x}", "f32", shape))
    elif kind == "binary":
        op = choice(BINARY)
        a, b = (x, operand()) if op == "prelu" or random.random() < 0.5 else (operand(), x)
        pool.append(g.add(f"{op} {a}, {b}", "f32", shape))
    elif kind == "clip":
        low, high = (g.add(f"const {number('near')}", "f32", []) for _ in range(2))
        pool.append(g.add(f"clip {x}, {choice([low, '_'])}, {high}", "f32", shape))
    elif kind == "where" and bools:
        pool.append(g.add(f"where {choice(bools)}, {x}, {operand()}", "f32", shape))
    elif kind == "compare":
        bools.append(g.add(f"{choice(COMPARISONS)} {x}, {choice(pool)}", "bool", shape))
        if random.random() < 0.3:
            bools.append(g.add(f"is_nan {choice(pool)}", "bool", shape))
        if random.random() < 0.5:
            bools.append(g.add(f"{choice(['and', 'or', 'xor'])} {bools[-1]}, {choice(bools)}", "bool", shape))
            bools.append(g.add(f"not {bools[-1]}", "bool", shape))
            pool.append(g.add(f"cast {choice(bools)} {{to = f32}}", "f32", shape))
    elif kind == "seam":
        q, dtype = quantized(g, shape, x)
        pool.append(dequantized(g, shape, q, dtype))
    elif kind == "fake":
        pool.append(g.add(f"fake_quant {x} {{to = i8, scale = 0.25, zero_point = {randint(-128, 127)}}}", "f32", shape))
    elif kind == "scaled":
        pool.append(g.add(choice([f"leaky_relu {x} {{alpha = 0.3}}", f"elu {x} {{alpha = 1.7}}", f"celu {x} {{alpha = 0.7}}",
                             f"thresholded_relu {x} {{alpha = 0.5}}", f"shrink {x} {{lambd = 0.5, bias = 0.25}}", f"gelu {x} {{approximate = tanh}}"]), "f32", shape))


def elementwise():
    g = Graph()
    shape = [choice([1, 2, 3, 5, 8, 17, 33]) for _ in range(choice([0, 1, 2, 2, 3, 3, 4]))]
    while len(shape) > 1 and eval("*".join(map(str, shape))) > 3000:
        shape.pop()
    pool, bools = [float_const(g, shape)], []
    if random.random() < 0.6:
        pool.append(dequantized(g, shape))
    if len(shape) >= 2 and random.random() < 0.3:
        lists = [float_const(g, [shape[1]], "near") for _ in range(3)]
        variance = g.add(f"const [{', '.join(f'{random.uniform(0, 3):.9g}' for _ in range(shape[1]))}]", "f32", [shape[1]])
        pool.append(g.add(f"batch_norm {pool[0]}, {lists[0]}, {choice([lists[1], '_'])}, {lists[2]}, {variance}", "f32", shape))
    for _ in range(choice([1, 3, 6, 12, 25])):
        step(g, shape, pool, bools)
    for name in sorted({pool[-1], choice(pool)}):
        g.result(name, "f32", shape)
    if bools:
        g.result(bools[-1], "bool", shape)
    if random.random() < 0.7:
        q, dtype = quantized(g, shape, pool[-1])
        g.result(q, dtype, shape)
    return g


def conv_of(g, dtype, shape):
    """Integers of the shape that lie with their channels last."""
    c = shape[1]
    x, w = g.const(dtype, shape), g.const("i8", [c, c, 1, 1])
    acc = g.add(f"int_conv2d {x}, {w}", "i32", shape)
    return g.add(f"requantize [{acc}] {{multipliers = [0.01], zero_point = {zero_point(dtype)}}}", dtype, shape)


def integers():
    """Comparisons, selection and arithmetic of integers, with floats behind."""
    g = Graph()
    dtype = choice(["i8", "u8", "i16", "u16", "i32", "i64"])
    shape = [choice([1, 2, 3, 5, 8, 17, 33]) for _ in range(choice([0, 1, 2, 3, 4, 4]))]
    while len(shape) > 1 and eval("*".join(map(str, shape))) > 2000:
        shape[shape.index(max(shape))] = choice([1, 2, 3])
    lo, hi = RANGE.get(dtype, (-(2**63), 2**63 - 1))
    values = lambda s: choice([g.const, lambda d, s: g.add(f"const {literal(s, max(lo, -3), 3)}", d, s)])(dtype, s) if dtype != "i64" else g.add(f"const {literal(s, *choice([(lo, hi), (-3, 3)]))}", dtype, s)
    pool, bools = [values(shape), values(shape)], []
    if len(shape) == 4 and dtype in ("i8", "u8") and random.random() < 0.6:
        pool.append(conv_of(g, dtype, shape))
    for _ in range(choice([1, 3, 6])):
        operand = choice(pool) if random.random() < 0.5 else values(broadcast(shape))
        if dtype in ("i32", "i64") and random.random() < 0.5:
            ops = ["add", "sub", "mul", "min", "max", "bitwise_and", "bitwise_or", "bitwise_xor"]
            pool.append(g.add(f"{choice(ops)} {choice(pool)}, {operand}", dtype, shape))
            if random.random() < 0.3:
                pool.append(g.add(f"bitwise_not {pool[-1]}", dtype, shape))
        bools.append(g.add(f"{choice(COMPARISONS)} {choice(pool)}, {operand}", "bool", shape))
        if random.random() < 0.3:
            bools.append(g.add(f"{choice(['equal', 'not_equal'])} {choice(bools)}, {bools[-1]}", "bool", shape))
        pool.append(g.add(f"where {choice(bools)}, {choice(pool)}, {operand}", dtype, shape))
    g.result(pool[-1], dtype, shape)
    g.result(bools[-1], "bool", shape)
    f = g.add(f"cast {choice(pool)} {{to = f32}}", "f32", shape)
    f = g.add(f"where {choice(bools)}, {f}, {float_const(g, broadcast(shape))}", "f32", shape)
    g.result(f, "f32", shape)
    return g


def finish(g, y, shape, is_conv=True):
    """Functions behind it: its epilogue, or what reads it as it lies."""
    channels = [shape[1]] + [1] * (len(shape) - 2) if is_conv else shape[-1:]
    for _ in range(choice([0, 1, 1, 2, 3])):
        kind = choice(["unary", "unary", "clip", "scalar", "residual", "channels", "broadcast"])
        if kind == "unary":
            y = g.add(f"{choice(['hardswish', 'relu', 'relu', 'tanh', 'neg'])} {y}", "f32", shape)
        elif kind == "clip":
            y = g.add(f"clip {y}, {g.add('const 0.0', 'f32', [])}, {g.add('const 6.0', 'f32', [])}", "f32", shape)
        else:
            others = {"scalar": [], "residual": shape, "channels": channels, "broadcast": broadcast(shape)}
            operands = [y, float_const(g, others[kind])]
            random.shuffle(operands)
            y = g.add(f"{choice(['add', 'mul', 'max'])} {operands[0]}, {operands[1]}", "f32", shape)
    dtype = "f32"
    if random.random() < 0.2:
        y, dtype = quantized(g, shape, y)
    g.result(y, dtype, shape)


def maybe_bias(g, channels):
    return ", " + float_const(g, [channels]) if random.random() < 0.6 else ""


def conv():
    g = Graph()
    rank, n = choice([1, 2, 2, 3]), choice([1, 1, 2])
    c, o = choice([1, 2, 3, 4, 5, 8, 17]), choice([1, 3, 8, 16, 17, 40, 65])
    depthwise = random.random() < 0.3
    kernel = [choice([1, 2, 3]), choice([1, 2, 3, 5]), choice([1, 3, 4])][3 - rank :]
    size, out, attrs = window(rank, kernel, (1, 2, 3))
    if depthwise:
        c = o if o > 1 else 2
        o, w_shape, attrs = c, [c, 1, *kernel], attrs + f"groups = {c}"
    else:
        w_shape, attrs = [o, c, *kernel], attrs + "groups = 1"
    shape = [n, o, *out]
    x = float_const(g, [n, c, *size])
    w = float_const(g, w_shape)
    y = g.add(f"conv{rank}d {x}, {w}{maybe_bias(g, o)} {{{attrs}}}", "f32", shape)
    finish(g, y, shape)
    return g


def linear():
    g = Graph()
    lead, k, o = choice([[1], [5], [13], [2, 3]]), choice([1, 3, 4, 6, 17, 64, 130]), choice([1, 7, 16, 33, 70])
    x = float_const(g, [*lead, k])
    y = g.add(f"linear {x}, {float_const(g, [o, k])}{maybe_bias(g, o)}", "f32", [*lead, o])
    finish(g, y, [*lead, o], False)
    return g


def matmul():
    g = Graph()
    rows, k, o = choice([1, 2, 5, 13]), choice([1, 3, 4, 6, 17, 64]), choice([1, 7, 16, 33, 70])
    batch = choice([[], [3], [2, 3]])
    a_batch, b_batch = choice([(batch, batch), (batch, []), ([], batch), (batch, [1] * len(batch))])
    a, b = float_const(g, [*a_batch, rows, k]), float_const(g, [*b_batch, k, o])
    if random.random() < 0.5:
        b = g.add(f"tanh {b}", "f32", [*b_batch, k, o])
    finish(g, g.add(f"matmul {a}, {b}", "f32", [*batch, rows, o]), [*batch, rows, o], False)
    return g


def curves():
    """Each function of one number alone: every special value, angles near multiples of pi/2, all magnitudes."""
    g = Graph()
    values = [*SPECIAL, *(f"{random.choice([-1, 1]) * math.pi / 2 * n:.9g}" for n in [1, 2, 3, 4, 1e3, 1e9, 1e20, 1e37])]
    values += [number(style) for style in ("near", "wide", "halves") for _ in range(20)]
    values += [f"{random.uniform(-1, 1):.9g}" for _ in range(20)]
    x = g.add(f"const [{', '.join(values)}]", "f32", [len(values)])
    for op in UNARY:
        g.result(g.add(f"{op} {x}", "f32", [len(values)]), "f32", [len(values)])
    return g


def deep():
    """Few pixels, many channels: weights that do not stay in the first level of the cache."""
    g = Graph()
    c, kernel, o = choice([(96, [3, 3], 40), (320, [1, 1], 65), (160, [2, 3], 33), (480, [1, 3], 17), (100, [3, 3], 48), (288, [3, 1], 33)])
    if random.random() < 0.2:
        rows = choice([7, 17, 40])
        x = float_const(g, [rows, 3 * c])
        y = g.add(f"linear {x}, {float_const(g, [o, 3 * c], 'halves')}{maybe_bias(g, o)}", "f32", [rows, o])
        finish(g, y, [rows, o], False)
        return g
    if random.random() < 0.3:
        c, kernel = choice([(64, [2, 3, 3]), (100, [3, 2, 1]), (80, [3, 3, 2])])
    rank, n, stride, dilation = len(kernel), choice([1, 1, 2]), choice([1, 1, 2]), choice([1, 1, 1, 2])
    size = [randint(3, 7) if rank == 2 else randint(2, 4) for _ in kernel]
    pads = [randint(0, k // 2) * dilation for k in kernel]
    out = [(size[d] + 2 * pads[d] - (kernel[d] - 1) * dilation - 1) // stride + 1 for d in range(rank)]
    if min(out) < 1:
        return deep()
    x, w = float_const(g, [n, c, *size]), float_const(g, [o, c, *kernel], "halves")
    attrs = f"stride = {[stride] * rank}, padding = {pads + pads}, dilation = {[dilation] * rank}"
    y = g.add(f"conv{rank}d {x}, {w}{maybe_bias(g, o)} {{{attrs}}}", "f32", [n, o, *out])
    finish(g, y, [n, o, *out])
    return g


FAMILIES = {"curves": [curves], "deep": [deep], "elementwise": [elementwise], "integers": [integers], "products": [conv, conv, linear, matmul]}


def kept(level, step):
    """Chains need fused multiply-add."""
    return level == "x86-64" and step.endswith("// the CPU level has no fused multiply-add")


def main():
    family, seed, count = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    random.seed(seed)
    compare([choice(FAMILIES[family])() for _ in range(count)], kept)


if __name__ == "__main__":
    main()
