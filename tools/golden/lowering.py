#!/usr/bin/env python3
"""Writes test/lit/passes/lower-integer/values_*.qir: quantized graphs and what lowering makes of them, by an
integer emulation in NumPy that shares nothing with qgc. Usage: tools/golden/lowering.py"""
import itertools
import pathlib

import numpy as np

F = np.float32
OUT = pathlib.Path(__file__).parents[2] / "test/lit/passes/lower-integer"
RANGES = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767), "u16": (0, 65535), "i32": (-2**31, 2**31 - 1)}
rng = np.random.RandomState(20)


# ---- text ----

def number(v):
    if isinstance(v, (float, np.floating)):
        text = np.format_float_positional(F(v), unique=True, trim="0")
        return text if len(text) < 20 else np.format_float_scientific(F(v), unique=True)
    return str(int(v))


def literal(a):
    a = np.asarray(a)
    if a.ndim == 0:
        return number(a[()])
    return "[" + ", ".join(literal(x) for x in a) + "]"


def shape_of(a):
    return "[" + ",".join(str(n) for n in np.asarray(a).shape) + "]"


class Graph:
    """One function: integer constants in, one result out."""

    def __init__(self, name):
        self.name, self.lines, self.count = name, [], itertools.count()

    def line(self, text, prefix="v"):
        name = f"%{prefix}{next(self.count)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def const(self, a, dtype):
        return self.line(f"const {literal(a)} : {dtype}{shape_of(a)}", "k")

    def dequantize(self, q, scale, zero_point=0, axis=None):
        if axis is None:
            zp = f", zero_point = {zero_point}" if zero_point else ""
            return self.line(f"dequantize {q} {{scale = {number(F(scale))}{zp}}}", "d")
        s = self.const(np.asarray(scale, F), "f32")
        z = "" if np.all(np.asarray(zero_point) == 0) else ", " + self.const(np.asarray(zero_point), "i32")
        return self.line(f"dequantize {q}, {s}{z} {{axis = {axis}}}", "d")

    def quantize(self, x, dtype, shape, scale, zero_point=0):
        zp = f", zero_point = {zero_point}" if zero_point else ""
        return self.line(f"quantize {x} {{scale = {number(F(scale))}{zp}}} : {dtype}{shape_of(np.empty(shape))}", "q")

    def finish(self, value, dtype, expected):
        type_ = dtype + shape_of(expected)
        self.lines[-1] = self.lines[-1].replace(value + " =", "%y =")
        check = f"// CHECK{{LITERAL}}: @{self.name}.%y = {literal(expected)} : {type_}"
        return "\n".join([check, f"func @{self.name}() -> ({type_}) {{", *self.lines, "  return %y", "}"])


def q(dtype, *shape):
    lo, hi = RANGES[dtype]
    return rng.randint(lo, hi + 1, shape)


# ---- emulation ----

def requantize(terms, multipliers, c, zero_point, dtype, lo=None, hi=None):
    total = None
    for t, m in zip(terms, multipliers):
        product = F(np.asarray(t)) * F(m)
        total = product if total is None else total + product
    total = total + F(c)
    low, high = RANGES[dtype]
    value = np.rint(np.clip(total, F(-2**33), F(2**33))).astype(np.int64) + zero_point
    return np.clip(value, low if lo is None else lo, high if hi is None else hi)


def multiplier(sx, sw, sy):
    return (F(sx) * F(sw)) / F(sy)


def step(value, scale, zero_point, dtype):
    return int(np.clip(np.rint(F(value) * (F(1) / F(scale))) + zero_point, *RANGES[dtype]))


def conv(x, w, stride, padding, dilation, groups):
    """x, w: differences from zero points; any number of spatial dimensions. int64."""
    n = w.ndim - 2
    pads = [(0, 0), (0, 0)] + [(padding[i], padding[n + i]) for i in range(n)]
    x = np.pad(x, pads)
    size = [(x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    y = np.zeros((x.shape[0], w.shape[0], *size), np.int64)
    per_group = w.shape[0] // groups
    for o in range(w.shape[0]):
        first = o // per_group * w.shape[1]
        for tap in itertools.product(*(range(k) for k in w.shape[2:])):
            window = tuple(slice(t * d, t * d + (s - 1) * st + 1, st)
                           for t, d, s, st in zip(tap, dilation, size, stride))
            for c in range(w.shape[1]):
                y[:, o] += x[(slice(None), first + c) + window] * w[(o, c) + tap]
    return y


def conv_transpose(x, w, stride, padding, groups):
    n = w.ndim - 2
    full = [(x.shape[2 + i] - 1) * stride[i] + w.shape[2 + i] for i in range(n)]
    y = np.zeros((x.shape[0], w.shape[1] * groups, *full), np.int64)
    per_group = x.shape[1] // groups
    for c in range(x.shape[1]):
        for o in range(w.shape[1]):
            out = c // per_group * w.shape[1] + o
            for tap in itertools.product(*(range(k) for k in w.shape[2:])):
                window = tuple(slice(t, t + (x.shape[2 + i] - 1) * stride[i] + 1, stride[i]) for i, t in enumerate(tap))
                y[(slice(None), out) + window] += x[:, c] * w[(c, o) + tap]
    crop = tuple(slice(padding[i], full[i] - padding[n + i]) for i in range(n))
    return y[(slice(None), slice(None)) + crop]


# ---- products ----

def product(name, op, x, w, sx, zx, sw, zw, sy, zy, acc, attrs="", axis=None, bias=None, xt="u8", wt="i8", yt="u8",
            channel=1, clip=None, add=None, add_first=False, negate=False):
    g = Graph(name)
    xd = g.dequantize(g.const(x, xt), sx, zx)
    wd = g.dequantize(g.const(w, wt), sw, zw, axis)
    operands = f"{xd}, {wd}"
    sw = np.broadcast_to(np.asarray(sw, F), (acc.shape[channel],) if np.ndim(sw) == 0 or len(sw) == acc.shape[channel]
                         else (len(sw),))
    sw = np.tile(sw, acc.shape[channel] // len(sw))
    if bias is not None:
        operands += ", " + g.const(F(bias), "f32")
    v = g.line(f"{op} {operands}{attrs} : f32{shape_of(acc)}", "c")
    spread = [1] * acc.ndim
    spread[channel] = -1
    m = np.array([multiplier(sx, s, sy) for s in sw], F)
    terms, ms, c = [acc], [m.reshape(spread)], F(0)
    if bias is not None:
        if np.all(m <= F(0.125)):
            terms[0] = acc + np.rint(F(bias) / (F(sx) * sw)).astype(np.int64).reshape(spread)
        else:
            c = (F(bias) / F(sy)).reshape(spread)
    if add is not None:
        a, sa, za, at = add
        ad = g.dequantize(g.const(a, at), sa, za)
        v = g.line(f"add {ad}, {v}" if add_first else f"add {v}, {ad}", "s")
        terms.append(a.astype(np.int64) - za)
        ms.append(multiplier(sa, 1, sy))
    lo = hi = None
    if clip == "relu":
        v, lo = g.line(f"relu {v}", "r"), zy
    elif clip:
        low, high = g.const(F(clip[0]), "f32"), g.const(F(clip[1]), "f32")
        v = g.line(f"clip {v}, {low}, {high}", "r")
        lo, hi = step(clip[0], sy, zy, yt), step(clip[1], sy, zy, yt)
    y = requantize(terms, ms, c, zy, yt, lo, hi)
    if negate:
        v = g.line(f"neg {v}", "n")
        floats = F(acc) * (F(sx) * sw).reshape(spread) + F(bias).reshape(spread)
        y = np.clip(np.rint(-floats * (F(1) / F(sy))).astype(np.int64) + zy, *RANGES[yt])
    v = g.quantize(v, yt, acc.shape, sy, zy)
    return g.finish(v, yt, y)


def conv_case(name, xs, ws, sw, zw=0, stride=None, padding=None, dilation=None, groups=1, zx=100, sx=0.02, xt="u8",
              wt="i8", **rest):
    n = len(xs) - 2
    x, w = q(xt, *xs), q(wt, *ws)
    attrs = []
    if stride: attrs.append(f"stride = {list(stride)}")
    if padding: attrs.append(f"padding = {list(padding)}")
    if dilation: attrs.append(f"dilation = {list(dilation)}")
    if groups > 1: attrs.append(f"groups = {groups}")
    zws = np.asarray(zw).reshape([-1] + [1] * (n + 1)) if np.ndim(zw) else zw
    acc = conv(x - zx, w - zws, stride or [1] * n, padding or [0] * 2 * n, dilation or [1] * n, groups)
    if rest.get("add") == "some":
        rest["add"] = (q("i8", *acc.shape), 0.05, -5, "i8")
    return product(name, f"conv{n}d", x, w, sx, zx, sw, zw, acc=acc, attrs=" {" + ", ".join(attrs) + "}" if attrs else "",
                   axis=0 if np.ndim(sw) else None, xt=xt, wt=wt, **rest)


def convolutions():
    yield conv_case("bias_in_accumulator", (1, 2, 4, 4), (3, 2, 3, 3), [0.01, 0.02, 0.003], padding=(1, 1, 1, 1),
                    bias=[0.7, -3.1, 12.0], sy=0.11, zy=121)
    yield conv_case("bias_is_c", (1, 2, 3, 3), (2, 2, 1, 1), [0.9, 0.2], sx=0.5, bias=[0.7, -3.13], sy=0.75, zy=121)
    yield conv_case("relu_zero_point", (1, 2, 4, 3), (2, 2, 2, 2), 0.01, bias=[1.0, 0.5], clip="relu", sy=0.05, zy=37)
    yield conv_case("clip6_i8", (1, 2, 4, 3), (2, 2, 2, 2), [0.01, 0.004], clip=(-1.0, 6.0), sy=0.05, zy=-20, yt="i8")
    yield conv_case("add_relu", (1, 2, 3, 3), (2, 2, 3, 3), [0.01, 0.02], padding=(1, 1, 1, 1), bias=[0.3, 0.4], add="some",
                    clip="relu", sy=0.1, zy=9)
    yield conv_case("add_first", (1, 2, 3, 3), (2, 2, 1, 1), 0.02, add="some", add_first=True, sy=0.1, zy=9)
    yield conv_case("strided", (2, 2, 5, 5), (2, 2, 3, 2), [0.01, 0.02], stride=(2, 1), padding=(0, 1, 1, 0), sy=0.3, zy=130)
    yield conv_case("dilated_zero_points", (1, 1, 6, 6), (2, 1, 2, 2), [0.01, 0.02], zw=[3, -100], dilation=(2, 3), sy=0.3, zy=1)
    yield conv_case("depthwise", (1, 3, 4, 4), (3, 1, 3, 3), [0.01, 0.02, 0.03], groups=3, padding=(1, 1, 1, 1), sy=0.2, zy=128)
    yield conv_case("groups_u8", (1, 4, 3, 3), (2, 2, 2, 2), 0.01, zw=128, wt="u8", groups=2, sy=0.2, zy=128)
    yield conv_case("one_dimension", (1, 2, 7), (2, 2, 3), [0.01, 0.02], padding=(1, 2), sy=0.2, zy=128, xt="i8", zx=-7)
    yield conv_case("three_dimensions", (1, 1, 3, 3, 3), (2, 1, 2, 2, 2), [0.01, 0.02], sy=0.2, zy=128)
    yield conv_case("function", (1, 2, 3, 3), (2, 2, 2, 2), [0.01, 0.02], bias=[0.3, -0.4], negate=True, sy=0.1, zy=90)
    yield conv_case("sixteen_bits", (1, 2, 3, 3), (2, 2, 2, 2), [0.01, 0.02], xt="i16", zx=5, sx=0.001, bias=[0.5, -0.25],
                    sy=0.003, zy=-3, yt="i16")


def transposed():
    x, w = q("u8", 1, 4, 2, 3), q("i8", 4, 2, 2, 2)
    sw = [0.01, 0.02]
    acc = conv_transpose(x - 100, w.astype(int), (2, 2), (0, 1, 1, 0), 2)
    yield product("groups_per_channel", "conv_transpose2d", x, w, 0.02, 100, sw, 0, 0.25, 128, acc,
                  " {stride = [2,2], padding = [0,1,1,0], groups = 2}", axis=1, bias=[0.5, 1.5, -2.0, 0.0])
    x, w = q("i8", 1, 2, 3), q("i8", 2, 3, 2)
    acc = conv_transpose(x + 4, w - 5, (1,), (0, 0), 1)
    yield product("one_dimension", "conv_transpose1d", x, w, 0.02, -4, 0.05, 5, 0.25, 3, acc, xt="i8", yt="i8")


def matrices():
    x, w = q("u8", 2, 5), q("i8", 3, 5)
    acc = (x - 90) @ w.T.astype(np.int64)
    yield product("linear", "linear", x, w, 0.02, 90, [0.01, 0.02, 0.03], 0, 0.21, 128, acc, axis=0, bias=[1.0, 2.0, -1.0],
                  clip="relu")
    x, w = q("i8", 2, 2, 3), q("u8", 2, 3, 2)
    acc = np.matmul(x + 3, w - 77).astype(np.int64)
    yield product("two_activations", "matmul", x, w, 0.02, -3, 0.01, 77, 0.21, 128, acc, xt="i8", wt="u8", channel=2)
    x, w = q("u8", 2, 3), q("i8", 3, 4)
    acc = (x - 7) @ (w - np.array([1, 0, -2, 3]))
    yield product("columns", "matmul", x, w, 0.02, 7, [0.01, 0.02, 0.03, 0.04], [1, 0, -2, 3], 0.21, 128, acc, axis=1)
    x, w = q("i16", 2, 3), q("i16", 3, 2)
    acc = (x - 7) @ (w + 9)
    yield product("sixteen_bits", "matmul", x, w, 0.0002, 7, 0.0001, -9, 0.001, 1, acc, xt="i16", wt="i16", yt="i16")


def bound(x, w, sx, sw, sy):
    """Steps that the float chain may be away: 1 + ceil((K + 4) * 2^-24 * sum(abs(x * w)) / s_y)."""
    most = (np.abs(x.astype(np.float64) * sx) @ np.abs(w.astype(np.float64) * sw).T).max()
    return 1 + int(np.ceil((x.shape[-1] + 4) * 2.0**-24 * most / sy))


def long_sums():
    """Sums of 1000 products that cancel: the literal graph drifts, within its bound."""
    x, w = q("u8", 1, 1000), q("i8", 2, 1000).clip(-127, 127)
    w[:, 500:] = -w[:, 499::-1]
    x[:, 500:] = x[:, 499::-1] + rng.randint(-2, 3, 500).clip(-x[:, 499::-1], 255 - x[:, 499::-1])[0]
    acc = (x - 128) @ w.T.astype(np.int64)
    return bound(x - 128, w, 0.02, 0.01, 0.0004), [
        product("cancels", "linear", x, w, 0.02, 128, 0.01, 0, 0.0004, 0, acc, yt="i16")]


# ---- two operands, means, seams ----

def binary(name, op, a, b, at, bt, pa, pb, py, yt, expected, clip=None):
    g = Graph(name)
    ad, bd = g.dequantize(g.const(a, at), *pa), g.dequantize(g.const(b, bt), *pb)
    v = g.line(f"{op} {ad}, {bd}", "s")
    if clip:
        v = g.line(f"relu {v}", "r")
    return g.finish(g.quantize(v, yt, expected.shape, *py), yt, expected)


def elementwise():
    a, b = q("u8", 2, 6), q("i8", 6)
    y = requantize([a - 128, b + 3], [multiplier(0.02, 1, 0.05), multiplier(0.03, 1, 0.05)], 0, 100, "u8")
    yield binary("add", "add", a, b, "u8", "i8", (0.02, 128), (0.03, -3), (0.05, 100), "u8", y)
    y = requantize([a - 128, b + 3], [multiplier(0.02, 1, 0.05), multiplier(0.03, 1, 0.05)], 0, 100, "u8", lo=100)
    yield binary("add_relu", "add", a, b, "u8", "i8", (0.02, 128), (0.03, -3), (0.05, 100), "u8", y, clip=True)
    y = requantize([a - 128, -(b + 3)], [multiplier(0.02, 1, 0.05), multiplier(0.03, 1, 0.05)], 0, -100, "i8")
    yield binary("sub", "sub", a, b, "u8", "i8", (0.02, 128), (0.03, -3), (0.05, -100), "i8", y)
    y = requantize([b + 3, -(a - 128)], [multiplier(0.03, 1, 0.05), multiplier(0.02, 1, 0.05)], 0, -100, "i8")
    yield binary("sub_reversed", "sub", b, a, "i8", "u8", (0.03, -3), (0.02, 128), (0.05, -100), "i8", y)
    y = requantize([(a - 128) * (b + 3)], [multiplier(0.02, 0.03, 0.05)], 0, 100, "u8")
    yield binary("mul", "mul", a, b, "u8", "i8", (0.02, 128), (0.03, -3), (0.05, 100), "u8", y)
    c, d = q("i16", 5), q("i16", 5)
    y = requantize([c, d], [multiplier(0.0002, 1, 0.0003), multiplier(0.0001, 1, 0.0003)], 0, 0, "i16")
    yield binary("add_16", "add", c, d, "i16", "i16", (0.0002, 0), (0.0001, 0), (0.0003, 0), "i16", y)
    y = requantize([(c - 1) * (d + 1)], [multiplier(0.0002, 0.0001, 0.0003)], 0, 7, "i16")
    yield binary("mul_16", "mul", c, d, "i16", "i16", (0.0002, 1), (0.0001, -1), (0.0003, 7), "i16", y)


def unary(name, op, x, xt, px, py, yt, expected):
    g = Graph(name)
    v = g.line(op.format(g.dequantize(g.const(x, xt), *px)), "c")
    return g.finish(g.quantize(v, yt, expected.shape, *py), yt, expected)


def pool(x, kernel, stride, padding, include_pad=False, ceil=False):
    """Sums and counts of 2-d windows."""
    h, w = x.shape[2:]
    size = []
    for i, n in enumerate((h, w)):
        room = n + padding[i] + padding[2 + i] - kernel[i]
        out = (-(-room // stride[i]) if ceil else room // stride[i]) + 1
        if ceil and (out - 1) * stride[i] >= n + padding[i]:
            out -= 1
        size.append(out)
    sums, counts = np.zeros((*x.shape[:2], *size), np.int64), np.zeros(size, np.int64)
    for p, r in itertools.product(range(size[0]), range(size[1])):
        top, left = p * stride[0] - padding[0], r * stride[1] - padding[1]
        rows = [i for i in range(top, top + kernel[0]) if 0 <= i < h]
        columns = [i for i in range(left, left + kernel[1]) if 0 <= i < w]
        sums[:, :, p, r] = x[:, :, rows][:, :, :, columns].sum((2, 3))
        counts[p, r] = len(rows) * len(columns)
        if include_pad:
            counts[p, r] = (sum(-padding[0] <= i < h + padding[2] for i in range(top, top + kernel[0])) *
                            sum(-padding[1] <= i < w + padding[3] for i in range(left, left + kernel[1])))
    return sums, counts


def mean(sums, counts, sx, sy, zy, yt):
    return requantize([sums], [F(sx) / (F(counts) * F(sy))], 0, zy, yt)


def means():
    x = q("u8", 1, 2, 5, 4)
    d = x - 100
    s, n = pool(d, (3, 3), (2, 2), (1, 1, 1, 1))
    yield unary("border", "avg_pool {} {{kernel = [3,3], stride = [2,2], padding = [1,1,1,1]}}", x, "u8", (0.02, 100),
                (0.01, 128), "u8", mean(s, n, 0.02, 0.01, 128, "u8"))
    s, n = pool(d, (3, 3), (2, 2), (1, 1, 1, 1), include_pad=True)
    yield unary("include_pad", "avg_pool {} {{kernel = [3,3], stride = [2,2], padding = [1,1,1,1], count_include_pad = true}}",
                x, "u8", (0.02, 100), (0.01, 128), "u8", mean(s, n, 0.02, 0.01, 128, "u8"))
    s, n = pool(d, (2, 2), (2, 2), (0, 0, 0, 0))
    yield unary("inside", "avg_pool {} {{kernel = [2,2], stride = [2,2]}}", x, "u8", (0.02, 100), (0.01, -3), "i8",
                mean(s, n, 0.02, 0.01, -3, "i8"))
    s, n = pool(d, (2, 3), (2, 2), (0, 1, 0, 1), ceil=True, include_pad=True)
    yield unary("ceil", "avg_pool {} {{kernel = [2,3], stride = [2,2], padding = [0,1,0,1], ceil_mode = true, "
                "count_include_pad = true}}", x, "u8", (0.02, 100), (0.01, 128), "u8", mean(s, n, 0.02, 0.01, 128, "u8"))
    yield unary("global", "global_avg_pool {}", x, "u8", (0.02, 100), (0.01, 128), "u8",
                mean(d.sum((2, 3), keepdims=True), 20, 0.02, 0.01, 128, "u8"))
    s, n = pool(d, (5, 2), (5, 2), (0, 0, 0, 0))
    yield unary("adaptive", "adaptive_avg_pool {} {{output_size = [1,2]}}", x, "u8", (0.02, 100), (0.01, 128), "u8",
                mean(s, n, 0.02, 0.01, 128, "u8"))
    yield unary("axes", "reduce_mean {} {{axes = [-1, 1], keepdims = false}}", x, "u8", (0.02, 100), (0.01, 128), "u8",
                mean(d.sum((1, 3)), 8, 0.02, 0.01, 128, "u8"))
    yield unary("sums", "reduce_sum {} {{axes = [2], keepdims = false}}", x, "u8", (0.02, 100), (0.05, 128), "u8",
                mean(d.sum(2), 1, 0.02, 0.05, 128, "u8"))
    z = q("i16", 3, 4)
    yield unary("sixteen_bits", "reduce_mean {} {{axes = [1]}}", z, "i16", (0.0002, 5), (0.0001, 1), "i16",
                mean((z.astype(np.int64) - 5).sum(1, keepdims=True), 4, 0.0002, 0.0001, 1, "i16"))


def seams():
    x = q("u8", 2, 6)
    m = multiplier(0.02, 1, 0.05)
    yield unary("relu", "relu {}", x, "u8", (0.02, 100), (0.05, -7), "i8", requantize([x - 100], [m], 0, -7, "i8", lo=-7))
    g = Graph("clip")
    d = g.dequantize(g.const(x, "u8"), 0.02, 100)
    low, high = g.const(F(-0.3), "f32"), g.const(F(0.4), "f32")
    v = g.quantize(g.line(f"clip {d}, {low}, {high}", "c"), "i8", x.shape, 0.05, -7)
    yield g.finish(v, "i8", requantize([x - 100], [m], 0, -7, "i8", step(-0.3, 0.05, -7, "i8"), step(0.4, 0.05, -7, "i8")))
    g = Graph("plain")
    yield g.finish(g.quantize(g.dequantize(g.const(x, "u8"), 0.02, 100), "i16", x.shape, 0.0005, 3), "i16",
                   requantize([x - 100], [multiplier(0.02, 1, 0.0005)], 0, 3, "i16"))
    a, b = q("u8", 1, 2, 3), q("i8", 1, 1, 3)
    g = Graph("concat")
    ad, bd = g.dequantize(g.const(a, "u8"), 0.02, 100), g.dequantize(g.const(b, "i8"), 0.05, 3)
    v = g.quantize(g.line(f"concat [{ad}, {bd}] {{axis = 1}}", "c"), "u8", (1, 3, 3), 0.02, 100)
    yield g.finish(v, "u8", np.concatenate([a, requantize([b - 3], [multiplier(0.05, 1, 0.02)], 0, 100, "u8")], 1))
    g = Graph("pad")
    d, k = g.dequantize(g.const(a, "u8"), 0.02, 100), g.const(F(0.5), "f32")
    v = g.line(f"pad {d}, _, {k} {{pads = [0,0,1,0,1,0]}}", "c")
    yield g.finish(g.quantize(v, "u8", (1, 3, 4), 0.02, 100), "u8",
                   np.pad(a, ((0, 0), (0, 1), (1, 0)), constant_values=step(0.5, 0.02, 100, "u8")))
    yield unary("transpose", "transpose {} {{perm = [1,0]}}", x, "u8", (0.02, 100), (0.02, 100), "u8", x.T)
    p = q("i8", 1, 1, 4, 4)
    yield unary("nearest", "resize {} {{scales = [2.0], axes = [3], coordinates = asymmetric, nearest = floor}}", p, "i8",
                (0.02, 3), (0.02, 3), "i8", p.repeat(2, 3))
    yield unary("max_pool", "max_pool {} {{kernel = [2,2], stride = [2,2]}}", p, "i8", (0.02, 3), (0.02, 3), "i8",
                p.reshape(1, 1, 2, 2, 2, 2).max((3, 5)))


HEAD = """// {summary} Expected values: tools/golden/lowering.py.
// RUN: qgc opt %s --passes='partition{{target=ref}},lower-integer' > %t.qir
// RUN: FileCheck %s --check-prefix=INTEGER --input-file=%t.qir
// RUN: qgc run %t.qir --func=all --engine=ref | FileCheck %s
// RUN: qgc run %s --func=all --engine=ref > %t.literal
// RUN: qgc run %t.qir --func=all > %t.lowered
// RUN: %python %S/Inputs/steps.py %t.literal %t.lowered {steps}
// No float op is left that has an integer form.
// INTEGER-NOT: {{{{= (conv|linear|matmul|sub|mul|relu|clip|avg_pool|reduce_mean|reduce_sum) }}}}
form quantized

"""


def write(name, summary, cases, steps):
    text = HEAD.format(summary=summary, steps=steps) + "\n".join(cases) + "\n"
    (OUT / f"values_{name}.qir").write_text(text)


write("conv", "Convolutions: bias, relu, clip, fused add, groups, zero points, 16 bits.", convolutions(), 2)
write("conv_transpose", "Transposed convolutions: scales per channel and group.", transposed(), 2)
write("matrix", "Linear, matmul of two activations, 16 bits.", matrices(), 2)
steps, cases = long_sums()
write("bound", "Long sums: as far apart as docs/lowering.md allows, not more.", cases, steps)
write("elementwise", "add, sub, mul.", elementwise(), 1)
write("mean", "Means: windows cut at the border, global, over axes.", means(), 1)
write("seam", "One term: relu, clip, seams; ops that move elements move integers.", seams(), 1)
