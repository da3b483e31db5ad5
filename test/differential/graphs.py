"""Random graphs by stratum. A stratum is an op, the element type of its input, the kind of its border and its
zero point; everything else (sizes with tails, strides, dilations, groups, weights, scales, bounds, what
follows) is drawn from a generator that the stratum and the seed make.

Zero points are named after how they are stored without a sign: 0, 128, 255; of 16 bits 0, 2^15, 2^16-1; any is
another one. A border is none, even (equal on all sides), uneven, or deep: windows lie wholly in it."""
import itertools
import math
import random

BITS = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767), "u16": (0, 65535), "i32": (-(2**31), 2**31 - 1)}
ZEROS = ["0", "128", "255", "any"]
BORDERS = ["none", "even", "uneven", "deep"]
BYTES = ["u8", "i8"]


def tensor(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def product_of(sizes):
    n = 1
    for s in sizes:
        n *= s
    return n


class Graph:
    """Lines of function @g; |r|: where random numbers come from."""

    def __init__(self, r):
        self.r, self.lines, self.params, self.results, self.count = r, [], [], [], 0
        self.is_heavy = False  # sums of many large products of one sign, as they come

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def param(self, dtype, shape):
        name = self.name()
        self.params.append(f"{name}: {tensor(dtype, shape)}")
        return name

    def add(self, text, dtype, shape):
        name = self.name()
        self.lines.append(f"  {name} = {text} : {tensor(dtype, shape)}")
        return name

    def nested(self, words, shape):
        """|words| in the brackets of |shape|."""
        for size in reversed(shape):
            words = ["[" + ", ".join(words[i : i + size]) + "]" for i in range(0, len(words), size)]
        return words[0]

    def const(self, dtype, shape):
        """All of one kind of number: any, an end of the range, both ends, mostly the middle."""
        r, (lo, hi), num = self.r, BITS[dtype], product_of(shape)
        kind = r.choice(["any", "high", "high", "positive"] if self.is_heavy else ["any", "any", "any", "low", "high", "ends", "few"])
        if kind in ("low", "high"):
            return self.add(f"const {lo if kind == 'low' else hi}", dtype, shape)
        pool = {"any": range(lo, hi + 1), "positive": range((lo + hi + 1) // 2, hi + 1), "ends": [lo, hi], "few": [0] * 9 + [lo, hi, 1]}[kind]
        return self.add("const " + self.nested(list(map(str, r.choices(pool, k=num))), shape), dtype, shape)

    def floats(self, shape, lo, hi):
        r = self.r
        words = [f"{r.uniform(lo, hi):.9g}" for _ in range(product_of(shape))]
        return self.add("const " + self.nested(words, shape), "f32", shape)

    def zero(self, dtype, kind="any"):
        lo, hi = BITS[dtype]
        if kind == "any":
            return self.r.choice([lo, hi, self.r.randint(lo, hi)])
        return {"0": lo, "128": lo + (hi - lo + 1) // 2, "255": hi}[kind]

    def result(self, name, dtype, shape):
        if len(self.results) < 3:
            self.results.append((name, tensor(dtype, shape)))

    def text(self):
        types = ", ".join(t for _, t in self.results)
        names = ", ".join(n for n, _ in self.results)
        return "\n".join([f"func @g({', '.join(self.params)}) -> ({types}) {{", *self.lines, f"  return {names}", "}"])


# ---- what follows a sum ------------------------------------------------------------------------


def scale_of(g, taps):
    """Multipliers from where most results are inside of the range to where none is, sums overflow, or vanish."""
    return max(g.r.choice([1, 1, 1, 1, 1e-4, 1e3, 1e6, 1e10, 1e12, 1e35, 1e-33]) / (taps * 40 + 1), 1.2e-37)


def bounds(g, dtype):
    if g.r.random() < 0.6:
        return ""
    lo, hi = sorted(g.r.sample(range(*BITS[dtype]), 2))
    return f", lo = {lo}, hi = {hi}"


def finish(g, acc, shape, axis, taps, addend=True):
    """A requantize to 8 bits, with an addend or without."""
    r, y, channels, typical = g.r, g.r.choice(BYTES), shape[axis], scale_of(g, taps)
    terms, zeros = [(acc, 0)], ""
    if addend and r.random() < (0.1 if g.is_heavy else 0.35):
        dtype = r.choice(BYTES)
        terms.insert(r.choice([0, 1]), (g.param(dtype, shape), g.zero(dtype)))
        zeros = f", term_zero_points = [{', '.join(str(z) for _, z in terms)}]"
    per_channel, listed = r.random() < 0.6, r.random() < (0.1 if g.is_heavy else 0.4)
    ties = r.random() < 0.2  # powers of two: many sums lie between two integers
    kind = [len(terms), channels] if per_channel else [len(terms)]
    rows = [f"{r.uniform(0.1, 1) * (typical if t == acc else 1.5):.9g}" for t, _ in terms for _ in range(kind[-1] if per_channel else 1)]
    listed = listed and not ties
    if ties:
        rows = [repr(0.5 ** r.randint(1, 2 + int(math.log2(taps * 40)))) for _ in rows]
    operands = ", " + g.add("const " + g.nested(rows, kind), "f32", kind)
    if listed:
        operands += ", " + g.floats([channels], -40, 40)
    attrs = f"axis = {axis}, " if per_channel or listed else ""
    if not listed and not ties and r.random() < 0.2:
        attrs += f"c = {r.uniform(-9, 9):.7g}, "
    low = BITS[y][0]
    # The fast end of a sum, where all that is negative ends at the lower bound.
    end = f"zero_point = {low}" if r.random() < (0.7 if g.is_heavy else 0.3) else f"zero_point = {g.zero(y)}{bounds(g, y)}"
    text = f"requantize [{', '.join(t for t, _ in terms)}]{operands} {{{attrs}{end}{zeros}}}"
    return g.add(text, y, shape), y


def weighted(g, op, x, zero, w_shape, shape, axis, attrs, taps, outputs):
    """x by constant weights of 8 bits, and what follows."""
    r, w = g.r, g.r.choice(["i8", "i8", "u8"])
    operands = f"{x}, {g.const(w, w_shape)}"
    if r.random() < 0.5:
        limit = r.choice([1000, 100000, 2**31 - 1])
        operands += ", " + g.add("const " + g.nested([str(r.randint(-limit, limit)) for _ in range(outputs)], [outputs]), "i32", [outputs])
    w_zero = 128 if w == "u8" else 0
    acc = g.add(f"{op} {operands} {{{attrs}x_zero_point = {zero}, w_zero_point = {w_zero}}}", "i32", shape)
    if r.random() < 0.1:
        g.result(acc, "i32", shape)
        if r.random() < 0.5:
            return acc, "i32"
    return finish(g, acc, shape, axis, taps)


def follow(g, y, dtype, shape):
    """What may read the result: nothing, a convolution with a border, a pool, a move."""
    r = g.r
    kind = r.choice(["nothing", "nothing", "conv", "pool", "transpose"])
    if dtype == "i32" or len(shape) != 4:
        kind = "nothing"
    if kind == "conv":
        out = [shape[0], 3, *shape[2:]]
        z, z_type = weighted(g, "int_conv2d", y, g.zero(dtype), [3, shape[1], 3, 3], out, 1, "padding = [1,1,1,1], ", 9 * shape[1], 3)
        g.result(z, z_type, out)
    elif kind == "pool":
        out = [*shape[:2], shape[2] + 1, shape[3]]
        g.result(g.add(f"max_pool {y} {{kernel = [2,3], padding = [1,1,1,1]}}", dtype, out), dtype, out)
    elif kind == "transpose":
        out = [shape[i] for i in (0, 2, 3, 1)]
        g.result(g.add(f"transpose {y} {{perm = [0,2,3,1]}}", dtype, out), dtype, out)
    g.result(y, dtype, shape)


# ---- windows -----------------------------------------------------------------------------------


def border_of(g, kind, extent, most=None):
    """All begins, then all ends."""
    r, rank = g.r, len(extent)
    limit = [most[i] if most else max(1, e // 2) for i, e in enumerate(extent)]
    if kind == "none":
        return [0] * (2 * rank)
    if kind == "even":
        return [r.randint(min(1, m), m) for m in limit] * 2
    if kind == "deep":
        pads = [r.randint(0, e + 1) for e in extent * 2]
        at = r.randrange(2 * rank)
        pads[at] = extent[at % rank] + r.randint(0, 1)
        return pads
    pads = [r.randint(0, m) for m in limit * 2]
    at = r.randrange(rank)
    pads[at], pads[at + rank] = r.choice([(limit[at], 0), (0, limit[at])])
    return pads


def window(g, rank, kernel, border, strides=(1, 1, 2, 3), dilations=(1, 1, 1, 2), most=None):
    """Input sizes, output sizes, attributes."""
    r = g.r
    stride, dilation = [r.choice(strides) for _ in range(rank)], [r.choice(dilations) for _ in range(rank)]
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    pads = border_of(g, border, extent, most)
    size = [e + r.choice([0, 1, 2, 3, 5, 8]) for e in extent]
    if rank == 2 and r.random() < 0.25:
        size[1] = r.randint(20, 33)  # rows that tiles end with
        stride[1] = 1
    if border == "deep" or r.random() < 0.2:
        size[0] = r.randint(1, 3)  # kernel rows that are in the border everywhere
    size = [max(s, e - pads[i] - pads[i + rank], 1) for i, (s, e) in enumerate(zip(size, extent))]
    out = [(size[i] + pads[i] + pads[i + rank] - extent[i]) // stride[i] + 1 for i in range(rank)]
    return size, out, f"stride = {stride}, padding = {pads}, dilation = {dilation}, "


def convolution(g, dtype, border, zero, rank, groups, c, o, kernel, dilations=(1, 1, 1, 2)):
    r = g.r
    n = r.choice([1, 1, 2])
    size, out, attrs = window(g, rank, kernel, border, dilations=dilations)
    shape = [n, o * groups, *out]
    x = g.param(dtype, [n, c * groups, *size])
    if r.random() < 0.3:  # as a kernel leaves it, in place of how the caller hands it over
        x = g.add(f"lookup {x}, {g.const(dtype, [256])}", dtype, [n, c * groups, *size])
    attrs += f"groups = {groups}, " if groups > 1 else ""
    y, y_type = weighted(g, f"int_conv{rank}d", x, g.zero(dtype, zero), [o * groups, c, *kernel], shape, 1, attrs, c * product_of(kernel), o * groups)
    follow(g, y, y_type, shape)


def conv2d(g, dtype, border, zero):
    r = g.r
    c, o = r.choice([1, 2, 3, 4, 5, 8, 17, 64]), r.choice([1, 3, 8, 16, 17, 33, 40, 65, 128])
    kernel = r.choice([[1, 1], [1, 1], [3, 3], [3, 3], [2, 4], [5, 3], [7, 7]])
    kernel = [3, 3] if c > 17 and kernel == [7, 7] else kernel
    convolution(g, dtype, border, zero, 2, 1, c, o, kernel)


def dilated(g, dtype, border, zero):
    r = g.r
    convolution(g, dtype, border, zero, 2, 1, r.choice([1, 3, 8]), r.choice([3, 16, 40]), r.choice([[3, 3], [2, 5], [5, 2]]), (2, 3))


def conv1d(g, dtype, border, zero):
    r = g.r
    convolution(g, dtype, border, zero, 1, r.choice([1, 1, 2]), r.choice([2, 3, 8, 17]), r.choice([1, 3, 16, 40]), [r.choice([1, 2, 3, 5])])


def grouped(g, dtype, border, zero):
    r = g.r
    convolution(g, dtype, border, zero, 2, r.choice([2, 3, 5]), r.choice([2, 3, 4, 5, 8]), r.choice([1, 3, 8, 17, 20]), r.choice([[1, 1], [3, 3], [2, 4]]))


def narrow_groups(g, dtype, border, zero):
    """As many outputs as channels, few of them."""
    r = g.r
    c = r.choice([2, 4, 8, 16])
    groups = r.choice([2, 3, 5, 17]) * (1 if c == 16 else r.choice([1, 2]))
    if r.random() < 0.15:
        convolution(g, dtype, border, zero, 1, groups, c, c, [r.choice([1, 3, 5])])
    else:
        convolution(g, dtype, border, zero, 2, groups, c, c, r.choice([[3, 3], [3, 3], [1, 1], [5, 5], [2, 3], [7, 3], [9, 2]]))


def depthwise(g, dtype, border, zero):
    r = g.r
    groups = r.choice([2, 3, 8, 16, 17, 33, 64, 70, 130])
    kernel = r.choice([[3, 3], [3, 3], [5, 5], [1, 3], [2, 7], [9, 2], [4, 4]])
    if r.random() < 0.15:
        convolution(g, dtype, border, zero, 1, groups, 1, 1, kernel[1:])
    else:
        convolution(g, dtype, border, zero, 2, groups, 1, 1, kernel)


def transposed_window(g, rank, border, n, groups, c, o):
    """The result's shape, attributes, the input's shape, the kernel."""
    r = g.r
    kernel, stride = [r.choice([1, 2, 3, 4]) for _ in range(rank)], [r.choice([1, 2, 2, 3]) for _ in range(rank)]
    dilation, size, more = [r.choice([1, 1, 2]) for _ in range(rank)], [r.randint(2, 6 if rank < 3 else 4) for _ in range(rank)], [r.randint(0, 1) for _ in range(rank)]
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    pads = border_of(g, border, extent, [1] * rank)
    out = [max((s - 1) * t + e - pads[i] - pads[i + rank] + more[i], 0) for i, (s, t, e) in enumerate(zip(size, stride, extent))]
    if min(out) < 1:
        return transposed_window(g, rank, border, n, groups, c, o)
    attrs = f"stride = {stride}, dilation = {dilation}, padding = {pads}, output_padding = {more}, "
    return [n, o * groups, *out], attrs, [n, c * groups, *size], kernel


def transposed(g, dtype, border, zero):
    r = g.r
    rank, groups, n, c, o = r.choice([1, 2, 2]), r.choice([1, 1, 2]), r.choice([1, 2]), r.choice([1, 2, 5, 8]), r.choice([1, 3, 17])
    shape, attrs, x_shape, kernel = transposed_window(g, rank, border, n, groups, c, o)
    x = g.param(dtype, x_shape)
    attrs += f"groups = {groups}, "
    y, y_type = weighted(g, f"int_conv_transpose{rank}d", x, g.zero(dtype, zero), [c * groups, o, *kernel], shape, 1, attrs, c * product_of(kernel), o * groups)
    return follow(g, y, y_type, shape)


def words(g, dtype, border, zero):
    """Sums of 16 bits, which are i64: windows and products."""
    r = g.r
    w, c, o, n = r.choice([dtype, "i8", "u8"]), r.choice([1, 2, 5, 9]), r.choice([1, 3, 17]), r.choice([1, 2])
    kernel = [r.choice([1, 2, 3]), r.choice([1, 3])]
    size, out, attrs = window(g, 2, kernel, border)
    x, shape = g.param(dtype, [n, c, *size]), [n, o, *out]
    zeros = f"x_zero_point = {g.zero(dtype, zero)}, w_zero_point = {r.choice([0, g.zero(w)])}"
    acc = g.add(f"int_conv2d {x}, {g.const(w, [o, c, *kernel])} {{{attrs}{zeros}}}", "i64", shape)
    end_wide(g, acc, shape)


def end_wide(g, acc, shape):
    r, y = g.r, g.r.choice(["i8", "u8", "i16", "u16"])
    if r.random() < 0.3:
        g.result(acc, "i64", shape)
    text = f"requantize [{acc}] {{multipliers = [{r.choice([1e-9, 1e-7, 1e-5, 0.3])}], zero_point = {g.zero(y)}{bounds(g, y)}}}"
    g.result(g.add(text, y, shape), y, shape)


# ---- matrices ----------------------------------------------------------------------------------


def matrix(g, dtype, zero, rows, k, o):
    """linear or matmul by constant weights."""
    r = g.r
    op, w_shape = r.choice([("int_linear", [o, k]), ("int_matmul", [k, o])])
    lead = [rows] if rows % 2 or r.random() < 0.5 else [2, rows // 2]
    x, shape = g.param(dtype, [*lead, k]), [*lead, o]
    y, y_type = weighted(g, op, x, g.zero(dtype, zero), w_shape, shape, len(lead), "", k, o)
    g.result(y, y_type, shape)


def linear(g, dtype, border, zero):
    r = g.r
    matrix(g, dtype, zero, r.choice([1, 2, 5, 6, 13, 31]), r.choice([1, 2, 3, 4, 17, 64, 200]), r.choice([1, 7, 16, 33, 70, 129]))


def long_linear(g, dtype, border, zero):
    r, g.is_heavy = g.r, g.r.random() < 0.7
    matrix(g, dtype, zero, r.choice([1, 1, 3]), r.choice([1000, 4097, 9000, 16384]), r.choice([1, 5, 17, 33]))


def long_conv(g, dtype, border, zero):
    """K of a convolution in the thousands."""
    r, g.is_heavy = g.r, g.r.random() < 0.7
    convolution(g, dtype, border, zero, 2, 1, r.choice([256, 511, 1024]), r.choice([3, 17]), r.choice([[3, 3], [1, 3], [4, 4]]), (1,))


def pair_weights(r, most, channels, taps):
    """Of an output: small ones, with pairs of channels that just fit 16 bits times |most| and pairs that do not."""
    w = [[r.randint(-50, 50) for _ in range(taps)] for _ in range(channels)]
    for _ in range(r.choice([0, 1, 1, 2, channels * taps // 4])):
        sign, limit = r.choice([(1, 32767 // most), (-1, 32768 // most)])
        total = limit + r.choice([0, 0, 1, 1, 2, 60])
        a = r.randint(max(total - 127, 0), 127) if total < 255 else 127
        b, at, tap = min(total - a, 127), r.randrange(channels // 2) * 2, r.randrange(taps)
        w[at][tap], w[at + 1][tap] = sign * a, sign * b
    if most == 255 and r.random() < 0.3:
        w[0][0], w[1][0] = -128, r.choice([0, -1, 1])
    return [str(value) for channel in w for value in channel]


def clamped(g, x, dtype, shape, zero):
    """x, or what a kernel makes of it with an upper bound, and the largest byte that it can be without a border."""
    hi = g.r.choice([255, 255, 127, 200])
    if hi == 255:
        return x, 255
    low = BITS[dtype][0]
    return g.add(f"requantize [{x}] {{multipliers = [1.0], zero_point = {zero}, term_zero_points = [{zero}], hi = {hi + low}}}", dtype, shape), hi


def weight_pairs(g, dtype, border, zero):
    """Pairs of weights about where two products pass 16 bits, in runs that are long enough to tell them apart."""
    r, z = g.r, g.zero(dtype, zero)
    if border == "-":
        rows, k, o = r.choice([1, 9, 20]), r.choice([32, 46, 100]), r.choice([7, 16, 33])
        x, most = clamped(g, g.param(dtype, [rows, k]), dtype, [rows, k], z)
        shape, w_shape, taps, attrs, op, axis = [rows, o], [o, k], 1, "", "int_linear", 1
    else:
        k, o, size, kernel, pad = r.choice([32, 34]), r.choice([5, 16, 40]), r.choice([3, 6]), r.choice([1, 3]), int(border != "none")
        x, most = clamped(g, g.param(dtype, [1, k, size, size]), dtype, [1, k, size, size], z)
        out = size + 2 * pad - kernel + 1
        shape, w_shape, taps, op, axis = [1, o, out, out], [o, k, kernel, kernel], kernel * kernel, "int_conv2d", 1
        attrs = f"padding = [{pad}, {pad}, {pad}, {pad}], "
    if border == "even":
        most = max(most, z - BITS[dtype][0])
    words = [word for _ in range(o) for word in pair_weights(r, most, k, taps)]
    acc = g.add(f"{op} {x}, {g.add('const ' + g.nested(words, w_shape), 'i8', w_shape)} {{{attrs}x_zero_point = {z}}}", "i32", shape)
    if r.random() < 0.5:
        g.result(acc, "i32", shape)
        return
    y, y_type = finish(g, acc, shape, axis, k * taps)
    g.result(y, y_type, shape)


def activations(g, dtype, border, zero):
    """A product of two activations."""
    r, w = g.r, g.r.choice(BYTES)
    rows, depth, columns = r.choice([1, 2, 3, 5, 7, 13, 25]), r.choice([1, 2, 3, 4, 5, 17, 64, 130]), r.choice([1, 4, 7, 16, 17, 40, 70, 130])
    batch, a_batch, b_batch = r.choice([([], [], []), ([3], [3], [3]), ([2, 3], [2, 1], [3]), ([2, 2], [], [2, 2]), ([3], [3], [])])
    a, b = g.param(dtype, [*a_batch, rows, depth]), g.param(w, [*b_batch, depth, columns])
    w_zero = r.choice([128 if w == "u8" else 0, g.zero(w)])
    shape = [*batch, rows, columns]
    acc = g.add(f"int_matmul {a}, {b} {{x_zero_point = {g.zero(dtype, zero)}, w_zero_point = {w_zero}}}", "i32", shape)
    y, y_type = finish(g, acc, shape, len(shape) - 1, depth)
    g.result(y, y_type, shape)


def word_linear(g, dtype, border, zero):
    r, w = g.r, g.r.choice(["u8", "i8", "u16", "i16"])
    rows, k, o = r.choice([1, 3, 4, 9]), r.choice([1, 5, 33, 500]), r.choice([1, 16, 21])
    x, shape = g.param(dtype, [rows, k]), [rows, o]
    zeros = f"x_zero_point = {g.zero(dtype, zero)}, w_zero_point = {g.zero(w)}"
    end_wide(g, g.add(f"int_linear {x}, {g.const(w, [o, k])} {{{zeros}}}", "i64", shape), shape)


def odd_weights(g, dtype, border, zero):
    """Weights with zero points, which the dot products do not take."""
    r, w = g.r, g.r.choice(BYTES)
    rows, k, o = r.choice([1, 3, 4, 9]), r.choice([1, 5, 33, 300]), r.choice([1, 16, 21])
    x, shape = g.param(dtype, [rows, k]), [rows, o]
    zeros = g.add("const " + g.nested([str(g.zero(w)) for _ in range(o)], [o]), "i32", [o])
    acc = g.add(f"int_linear {x}, {g.const(w, [o, k])}, _, _, {zeros} {{x_zero_point = {g.zero(dtype, zero)}}}", "i32", shape)
    y, y_type = finish(g, acc, shape, 1, k)
    g.result(y, y_type, shape)


# ---- element by element, pools, tables, moves ----------------------------------------------------


def some_shape(g, rank, most=3000):
    shape = [g.r.choice([1, 2, 3, 5, 8, 16, 17, 33, 40]) for _ in range(rank)]
    while product_of(shape) > most:
        shape[shape.index(max(shape))] = g.r.choice([1, 2, 3])
    return shape


def requantize(g, dtype, border, zero):
    """One to four terms that broadcast; the first has the stratum's type and zero point."""
    r = g.r
    rank, num, y = r.randint(1, 4), r.randint(1, 4), r.choice(["u8", "i8", "i16", "u16"])
    shape = some_shape(g, rank)
    terms, zeros = [g.param(dtype, shape)], [g.zero(dtype, zero)]
    for _ in range(num - 1):
        other = r.choice(["u8", "i8", "i16", "u16", "i32"])
        terms.append(g.param(other, [r.choice([s, s, s, 1]) for s in shape]))
        zeros.append(g.zero(other))
    typical, axis = r.choice([1e-3, 1.0, 1.0, 1e3, 1e35]) * (1e-6 if dtype == "i32" else 1), r.randrange(rank)
    operands, attrs, kind = "", "", r.choice(["attr", "list", "channel"])
    if kind == "attr" or r.random() < 0.2:
        numbers = ", ".join(f"{r.uniform(1e-4, 1) * typical:.9g}" for _ in range(num))
        attrs = f"multipliers = [{numbers}], c = {r.uniform(-9, 9):.7g}, {r.choice(['', 'mode = zp_first, '])}"
    elif kind == "list":
        operands = ", " + g.floats([num], 1e-4 * typical, typical)
    else:
        operands = ", " + g.floats([num, shape[axis]], 1e-4 * typical, typical) + ", " + g.floats([shape[axis]], -50, 50)
        attrs = f"axis = {axis}, "
    text = f"requantize [{', '.join(terms)}]{operands} {{{attrs}zero_point = {g.zero(y)}, term_zero_points = {zeros}{bounds(g, y)}}}"
    g.result(g.add(text, y, shape), y, shape)


def residual(g, dtype, border, zero):
    """Convolutions whose results are added, and read by one with a border."""
    r = g.r
    c, o, size, n = r.choice([1, 3, 8]), r.choice([5, 16, 40, 64]), [r.randint(1, 6), r.randint(1, 9)], r.choice([1, 2])
    shape = [n, o, *size]
    x = g.param(dtype, [n, c, *size])
    made = [weighted(g, "int_conv2d", x, g.zero(dtype, zero), [o, c, 1, 1], shape, 1, "", c, o) for _ in range(2)]
    made = [m for m in made if m[1] != "i32"] + [(g.param("i8", shape), "i8")]
    num, y = min(len(made), r.randint(2, 3)), r.choice(BYTES)
    multipliers, zeros = ", ".join(f"{r.uniform(0.1, 1.5):.9g}" for _ in range(num)), [g.zero(d) for _, d in made[:num]]
    text = f"requantize [{', '.join(m for m, _ in made[:num])}] {{multipliers = [{multipliers}], zero_point = {g.zero(y)}, term_zero_points = {zeros}{bounds(g, y)}}}"
    follow(g, g.add(text, y, shape), y, shape)


def times(g, dtype, border, zero):
    r, b = g.r, g.r.choice(["u8", "i8", "u16", "i16"])
    shape = some_shape(g, r.choice([1, 2, 4]))
    x, y = g.param(dtype, shape), g.param(b, [r.choice([s, s, 1]) for s in shape])
    acc_type = "i64" if "16" in dtype + b else "i32"
    zeros = f"a_zero_point = {g.zero(dtype, zero)}, b_zero_point = {g.zero(b)}"
    acc = g.add(f"int_mul {x}, {y} {{{zeros}}}", acc_type, shape)
    if r.random() < 0.2:
        g.result(acc, acc_type, shape)
    q, scale = r.choice(["u8", "i8", "i16", "u16"]), r.choice([1e-6, 0.001, 0.1])
    g.result(g.add(f"requantize [{acc}] {{multipliers = [{scale}], zero_point = {g.zero(q)}{bounds(g, q)}}}", q, shape), q, shape)


def pool_window(g, border, ranks=(1, 2, 2, 2)):
    r = g.r
    rank = r.choice(ranks)
    kernel = [r.randint(1 if border == "none" else 3, 5) for _ in range(rank)]
    return rank, kernel, window(g, rank, kernel, border, most=[(k - 1) // 2 for k in kernel])


def sum_pool(g, dtype, border, zero):
    r = g.r
    rank, kernel, (size, out, attrs) = pool_window(g, border, (1, 2, 2, 2, 3))
    n, c = r.choice([1, 2]), r.choice([1, 3, 16, 21, 64, 70] if rank < 3 else [1, 3, 5])
    x, shape = g.param(dtype, [n, c, *size]), [n, c, *out]
    acc_type = "i64" if "16" in dtype else "i32"
    acc = g.add(f"int_sum_pool {x} {{kernel = {kernel}, {attrs}x_zero_point = {g.zero(dtype, zero)}}}", acc_type, shape)
    end_sum(g, acc, shape, product_of(kernel), acc_type)


def end_sum(g, acc, shape, count, acc_type):
    r, y = g.r, g.r.choice(BYTES)
    if r.random() < 0.1:
        g.result(acc, acc_type, shape)
    typical = r.choice([1, 1, 1e6, 1e35]) / count / (1 if acc_type == "i32" else 256)
    attrs = f"c = {r.uniform(-9, 9):.7g}, " if r.random() < 0.3 else ""
    text = f"requantize [{acc}] {{multipliers = [{r.uniform(0.5, 1) * typical:.9g}], {attrs}zero_point = {g.zero(y)}{bounds(g, y)}}}"
    g.result(g.add(text, y, shape), y, shape)


def max_pool(g, dtype, border, zero):
    r = g.r
    rank, kernel, (size, out, attrs) = pool_window(g, border)
    n, c = r.choice([1, 2]), r.choice([1, 3, 16, 21, 64, 70])
    x, shape = g.param(dtype, [n, c, *size]), [n, c, *out]
    y = g.add(f"max_pool {x} {{kernel = {kernel}, {attrs.rstrip(', ')}}}", dtype, shape)
    follow(g, y, dtype, shape)


def axes_sum(g, dtype, border, zero):
    r = g.r
    rank = r.choice([2, 3, 4, 4, 4])
    shape = some_shape(g, rank)
    first = 2 if rank == 4 and r.random() < 0.6 else r.randrange(rank)
    end = 4 if rank == 4 and first == 2 else r.randint(first + 1, rank)
    keep = r.random() < 0.5
    left = shape[:first] + [1] * (end - first if keep else 0) + shape[end:]
    acc_type = "i64" if "16" in dtype else "i32"
    attrs = f"axes = {list(range(first, end))}, keepdims = {str(keep).lower()}, x_zero_point = {g.zero(dtype, zero)}"
    acc = g.add(f"int_sum {g.param(dtype, shape)} {{{attrs}}}", acc_type, left)
    end_sum(g, acc, left, product_of(shape[first:end]), acc_type)


def lookup(g, dtype, border, zero):
    r, y = g.r, g.r.choice(["u8", "i8", "u8", "i8", "u16", "i16"])
    n, c, size = r.choice([1, 2]), r.choice([1, 3, 17]), [r.randint(1, 5), r.randint(1, 9)]
    x, shape = g.param(dtype, [n, c, *size]), [n, 5, *size]
    kind = dtype
    if r.random() < 0.5:
        x, kind = weighted(g, "int_conv2d", x, g.zero(dtype), [5, c, 1, 1], shape, 1, "", c, 5)
    if kind == "i32":
        return lookup(g, dtype, border, zero)
    shape = shape if kind != dtype or x[1:] != "v1" else [n, c, *size]
    out = g.add(f"lookup {x}, {g.const(y, [256])}", y, shape)
    if y in BYTES:
        return follow(g, out, y, shape)
    return g.result(out, y, shape)


def moves(g, dtype, border, zero):
    """Elements that only move."""
    r = g.r
    shape, x = some_shape(g, 4), None
    x = g.param(dtype, shape)
    if dtype in BYTES and r.random() < 0.5:
        x = g.add(f"lookup {x}, {g.const(dtype, [256])}", dtype, shape)
    for _ in range(r.randint(1, 3)):
        kind = r.choice(["transpose", "concat", "slice", "pad", "reshape"])
        if kind == "transpose":
            perm = r.sample(range(4), 4)
            shape = [shape[p] for p in perm]
            x = g.add(f"transpose {x} {{perm = {perm}}}", dtype, shape)
        elif kind == "concat":
            axis = r.randrange(4)
            more = [*shape[:axis], r.choice([1, 2, 5]), *shape[axis + 1 :]]
            parts = [x, g.param(dtype, more)] if len(g.params) < 3 else [x, x]
            shape = [*shape[:axis], shape[axis] + (more[axis] if parts[1] != x else shape[axis]), *shape[axis + 1 :]]
            x = g.add(f"concat [{', '.join(parts)}] {{axis = {axis}}}", dtype, shape)
        elif kind == "slice":
            starts = [r.randrange(s) for s in shape]
            ends = [r.randint(a + 1, s) for a, s in zip(starts, shape)]
            steps = [r.choice([1, 1, 2]) for _ in shape]
            shape = [len(range(*t)) for t in zip(starts, ends, steps)]
            x = g.add(f"slice {x} {{starts = {starts}, ends = {ends}, steps = {steps}}}", dtype, shape)
        elif kind == "pad" and product_of(shape) < 3000:
            before, after = ([r.choice([0, 0, 1, 2]) for _ in shape] for _ in range(2))
            shape = [a + s + b for a, s, b in zip(before, shape, after)]
            x = g.add(f"pad {x} {{pads = {before + after}}}", dtype, shape)
        else:
            shape = [shape[0] * shape[1], 1, shape[3], shape[2]]
            x = g.add(f"reshape {x} {{shape = {shape}}}", dtype, shape)
    g.result(x, dtype, shape)


# ---- floats ------------------------------------------------------------------------------------


def float_input(g, dtype, shape, zero="any"):
    """f32 as it is, or dequantized."""
    x = g.param(dtype, shape)
    if dtype == "f32":
        return x
    return g.add(f"dequantize {x} {{scale = {g.r.choice([0.01, 0.1, 1.0])}, zero_point = {g.zero(dtype, zero)}}}", "f32", shape)


def float_end(g, y, shape, channels=None):
    r = g.r
    if channels and r.random() < 0.3:
        y = g.add(f"add {y}, {g.floats([channels, *[1] * (len(shape) - 2)], -2, 2)}", "f32", shape)
    if r.random() < 0.5:
        y = g.add(f"{r.choice(['hardswish', 'relu', 'tanh', 'sigmoid', 'gelu'])} {y}", "f32", shape)
    if r.random() < 0.5:
        q = r.choice(["u8", "i8", "i16"])
        attrs = f"scale = {r.choice([0.01, 0.1, 3.7])}, zero_point = {g.zero(q)}{r.choice(['', ', mode = divide'])}"
        g.result(g.add(f"quantize {y} {{{attrs}}}", q, shape), q, shape)
    g.result(y, "f32", shape)


def float_window(g, dtype, border, zero, groups, c, o, kernel):
    """Padding may leave a window without a tap in bounds."""
    r, rank = g.r, len(kernel)
    n = r.choice([1, 2])
    size, out, attrs = window(g, rank, kernel, border, most=[k // 2 + r.choice([0, 0, 1]) for k in kernel])
    x = float_input(g, dtype, [n, c * groups, *size], zero)
    operands = f"{x}, {g.floats([o * groups, c, *kernel], -3, 3)}"
    if r.random() < 0.6:
        operands += ", " + g.floats([o * groups], -3, 3)
    shape = [n, o * groups, *out]
    float_end(g, g.add(f"conv{rank}d {operands} {{{attrs}groups = {groups}}}", "f32", shape), shape, o * groups)


def float_conv(g, dtype, border, zero):
    r = g.r
    float_window(g, dtype, border, zero, 1, r.choice([1, 2, 3, 8, 17]), r.choice([1, 3, 16, 17, 40, 65]), r.choice([[1, 1] if border == "none" else [3, 5], [3, 3], [2, 4], [5, 3]]))


def float_deep(g, dtype, border, zero):
    """Few pixels and many channels: their weights go in chunks."""
    r = g.r
    c, o, kernel = r.choice([(96, 33, [3, 3]), (100, 40, [3, 3]), (160, 17, [2, 3]), (400, 33, [1, 1] if border == "none" else [1, 3])])
    float_window(g, dtype, border, zero, 1, c, o, kernel)


def float_depthwise(g, dtype, border, zero):
    r = g.r
    float_window(g, dtype, border, zero, r.choice([2, 3, 16, 17, 40]), 1, 1, r.choice([[3, 3], [5, 5], [1, 3]]))


def float_volume(g, dtype, border, zero):
    """Three dimensions."""
    r = g.r
    groups = r.choice([1, 1, 2, 17])
    c, o = (1, 1) if groups > 2 else (r.choice([1, 2, 5]), r.choice([1, 3, 17, 33]))
    float_window(g, dtype, border, zero, groups, c, o, r.choice([[3, 3, 3], [1, 1, 1], [2, 3, 1], [3, 1, 2], [1, 3, 3]]))


def float_transposed(g, dtype, border, zero):
    r = g.r
    rank, groups, n, c, o = r.choice([1, 2, 3]), r.choice([1, 1, 2]), r.choice([1, 2]), r.choice([1, 2, 5]), r.choice([1, 3, 17])
    shape, attrs, x_shape, kernel = transposed_window(g, rank, border, n, groups, c, o)
    operands = f"{float_input(g, dtype, x_shape, zero)}, {g.floats([c * groups, o, *kernel], -3, 3)}"
    if r.random() < 0.6:
        operands += ", " + g.floats([o * groups], -3, 3)
    float_end(g, g.add(f"conv_transpose{rank}d {operands} {{{attrs}groups = {groups}}}", "f32", shape), shape, o * groups)


def special_resize(g):
    """Infinities where a tap is absent, -0 where the last element is copied."""
    r = g.r
    size, inner = r.choice([2, 5, 9]), r.choice([1, 1, 3, 24])
    ends = {0: ["inf", "-inf", "-0.0"], size - 1: ["-0.0", "-0.0", "inf"]}
    rows = [[r.choice(ends.get(i, ["-0.0", "1.5", "nan", "inf"])) for _ in range(inner)] for i in range(size)]
    x = g.add("const " + g.nested(sum(rows, []), [size, inner]), "f32", [size, inner])
    out = [r.choice([2 * size, 3 * size, size + 3]), inner]
    return g.add(f"resize {x} {{sizes = {out[:1]}, axes = [0], mode = linear, coordinates = {r.choice(['half_pixel', 'align_corners'])}}}", "f32", out), out


def float_resize(g, dtype, border, zero):
    """Linear and cubic, of any axes; behind a convolution the channels lie last."""
    r = g.r
    special, special_shape = special_resize(g)
    g.result(special, "f32", special_shape)
    rank = r.choice([1, 2, 3, 4, 4, 5])
    shape = [r.choice([1, 2, 3, 9, 17]) for _ in range(rank)]
    while product_of(shape) > 1000:
        shape[shape.index(max(shape))] = r.choice([1, 2, 3])
    axes = list(range(2, rank)) if rank > 2 and r.random() < 0.6 else r.sample(range(rank), r.randint(1, rank))
    out = [(r.choice([1, s, 2 * s, 2 * s, 3 * s, s + 3, (s + 1) // 2]) if i in axes else s) for i, s in enumerate(shape)]
    mode, how = r.choice(["linear", "linear", "cubic"]), r.choice(["half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric", "tf_crop_and_resize"])
    attrs = f"sizes = {[out[a] for a in axes]}, axes = {axes}, mode = {mode}, coordinates = {how}"
    if how == "tf_crop_and_resize":
        attrs += f", roi = {[r.choice([0.0, 0.25, -0.5]) for _ in axes] + [r.choice([1.0, 0.5, 1.5]) for _ in axes]}, extrapolation_value = {r.choice([0.0, -2.5])}"
    if mode == "cubic":
        attrs += f", exclude_outside = {r.choice(['true', 'false'])}"
    x = float_input(g, dtype, shape, zero)
    if 3 <= rank <= 5 and r.random() < 0.4:
        x = g.add(f"conv{rank - 2}d {x}, {g.floats([shape[1], shape[1], *[1] * (rank - 2)], -2, 2)}", "f32", shape)
    float_end(g, g.add(f"resize {x} {{{attrs}}}", "f32", out), out)


def float_matrix(g, dtype, border, zero):
    r = g.r
    rows, k, o = r.choice([1, 2, 5, 13]), r.choice([1, 3, 4, 17, 64, 130]), r.choice([1, 7, 16, 33, 70])
    x, shape = float_input(g, dtype, [rows, k], zero), [rows, o]
    kind = r.choice(["linear", "matmul", "activations"])
    w = g.param("f32", [k, o]) if kind == "activations" else g.floats([o, k] if kind == "linear" else [k, o], -3, 3)
    float_end(g, g.add(f"{'linear' if kind == 'linear' else 'matmul'} {x}, {w}", "f32", shape), shape)


UNARY = ["neg", "abs", "relu", "sqrt", "reciprocal", "floor", "round", "exp", "log", "erf", "tanh", "sigmoid", "silu", "softplus", "gelu", "hardswish"]
BINARY = ["add", "sub", "mul", "div", "min", "max"]


def elementwise(g, dtype, border, zero):
    r = g.r
    shape = some_shape(g, r.randint(1, 4))
    pool = [float_input(g, dtype, shape, zero)]
    for _ in range(r.choice([1, 3, 6, 12])):
        x = r.choice(pool)
        if r.random() < 0.5:
            pool.append(g.add(f"{r.choice(UNARY)} {x}", "f32", shape))
        else:
            other = r.choice(pool) if r.random() < 0.6 else g.floats([r.choice([s, 1]) for s in shape], -4, 4)
            pool.append(g.add(f"{r.choice(BINARY)} {x}, {other}", "f32", shape))
    float_end(g, pool[-1], shape)


def rows(g, dtype, border, zero):
    """softmax, norms, reductions."""
    r = g.r
    shape = some_shape(g, r.choice([2, 3, 4]))
    x, kind = float_input(g, dtype, shape, zero), r.choice(["softmax", "log_softmax", "layer_norm", "reduce"])
    if kind == "layer_norm":
        y = g.add(f"layer_norm {x}, {g.floats(shape[-1:], -2, 2)}, {g.floats(shape[-1:], -2, 2)} {{axis = {len(shape) - 1}}}", "f32", shape)
    elif kind == "reduce":
        axis = r.randrange(len(shape))
        out = [1 if i == axis else s for i, s in enumerate(shape)]
        y = g.add(f"reduce_{r.choice(['sum', 'mean', 'max', 'min', 'l2'])} {x} {{axes = [{axis}], keepdims = true}}", "f32", out)
        shape = out
    else:
        y = g.add(f"{kind} {x} {{axis = {r.randrange(len(shape))}}}", "f32", shape)
    float_end(g, y, shape)


# ---- strata ------------------------------------------------------------------------------------

WORDS, PADS = ["u16", "i16"], ["none", "even", "uneven"]
# op: its function, input types, borders, zero points; "-": it has none
OPS = {
    "conv2d": (conv2d, BYTES, BORDERS, ZEROS),
    "conv2d dilated": (dilated, BYTES, BORDERS, ZEROS),
    "conv2d grouped": (grouped, BYTES, BORDERS, ZEROS),
    "conv2d narrow groups": (narrow_groups, BYTES, BORDERS, ZEROS),
    "conv2d K>2000": (long_conv, BYTES, ["none", "even"], ZEROS),
    "conv2d 16 bits": (words, WORDS, BORDERS, ZEROS),
    "conv1d": (conv1d, BYTES, BORDERS, ZEROS),
    "depthwise": (depthwise, BYTES, BORDERS, ZEROS),
    "conv_transpose": (transposed, BYTES, PADS, ZEROS),
    "linear, matmul": (linear, BYTES, ["-"], ZEROS),
    "linear K>=1000": (long_linear, BYTES, ["-"], ZEROS),
    "weight pairs": (weight_pairs, BYTES, ["-", "none", "even"], ZEROS),
    "linear, w zero": (odd_weights, BYTES, ["-"], ZEROS),
    "linear 16 bits": (word_linear, WORDS, ["-"], ZEROS),
    "matmul of two": (activations, BYTES, ["-"], ZEROS),
    "requantize": (requantize, BYTES + WORDS + ["i32"], ["-"], ZEROS),
    "conv + conv": (residual, BYTES, ["-"], ZEROS),
    "mul": (times, BYTES + WORDS, ["-"], ZEROS),
    "sum_pool": (sum_pool, BYTES + WORDS, PADS, ZEROS),
    "max_pool": (max_pool, BYTES, PADS, ["-"]),
    "sum": (axes_sum, BYTES + WORDS, ["-"], ZEROS),
    "lookup": (lookup, BYTES, ["-"], ["-"]),
    "moves": (moves, BYTES + WORDS + ["i32", "f32"], ["-"], ["-"]),
    "float conv2d": (float_conv, ["f32", "u8"], PADS, ["-"]),
    "float deep": (float_deep, ["f32", "u8"], PADS, ["-"]),
    "float depthwise": (float_depthwise, ["f32", "u8"], PADS, ["-"]),
    "float conv3d": (float_volume, ["f32", "u8"], PADS, ["-"]),
    "float conv_transpose": (float_transposed, ["f32", "u8"], PADS, ["-"]),
    "float resize": (float_resize, ["f32", "u8"], ["-"], ["-"]),
    "float linear": (float_matrix, ["f32", "i8"], ["-"], ["-"]),
    "float elements": (elementwise, ["f32", "u8", "i16"], ["-"], ["-"]),
    "float rows": (rows, ["f32", "i8"], ["-"], ["-"]),
}
FILLS = ["random", "random", "random", "ends", "low", "high", "zeros"]
PAIR_FILLS = ["random", "ends", "high", "high"]
FLOAT_FILLS = ["random", "random", "wide", "special", "ends"]


def strata():
    """(op, dtype, border, zero), all there are."""
    return [(op, *rest) for op, (_, *axes) in OPS.items() for rest in itertools.product(*axes)]


def make(stratum, seed, number):
    """The |number|th graph of a stratum: its text, a seed for its inputs, what they are filled with."""
    op, dtype, border, zero = stratum
    r = random.Random(f"{seed}/{number}/{'/'.join(stratum)}")
    g = Graph(r)
    OPS[op][0](g, dtype, border, zero if zero != "-" else "any")
    return g.text(), r.randrange(2**32), r.choice(FLOAT_FILLS if dtype == "f32" else PAIR_FILLS if op == "weight pairs" else FILLS)
