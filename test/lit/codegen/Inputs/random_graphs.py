#!/usr/bin/env python3
"""Random integer graphs, executed by the reference interpreter and by machine code at every CPU level
that the host has: the printed results must be equal, and nothing may run on the interpreter's kernels.

usage: random_graphs.py WORK_FILE FAMILY SEED COUNT"""
import random
import subprocess
import sys

RANGE = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767), "u16": (0, 65535), "i32": (-(2**31), 2**31 - 1)}
choice, randint = random.choice, random.randint


def literal(shape, lo, hi):
    if not shape:
        return str(randint(lo, hi))
    return "[" + ", ".join(literal(shape[1:], lo, hi) for _ in range(shape[0])) + "]"


def floats(num, lo, hi):
    return "[" + ", ".join(f"{random.uniform(lo, hi):.9g}" for _ in range(num)) + "]"


def tensor(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def zero_point(dtype):
    """The ends of the range, and anything between."""
    lo, hi = RANGE[dtype]
    return choice([lo, hi, randint(lo, hi)])


class Graph:
    """Lines of a function, made from names."""

    def __init__(self):
        self.lines, self.results, self.count = [], [], 0

    def add(self, text, dtype, shape):
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text} : {tensor(dtype, shape)}")
        return name

    def const(self, dtype, shape):
        text = str(choice(RANGE[dtype])) if random.random() < 0.3 else literal(shape, *RANGE[dtype])
        return self.add(f"const {text}", dtype, shape)

    def float_const(self, text, shape):
        return self.add(f"const {text}", "f32", shape)

    def result(self, name, dtype, shape):
        self.results.append((name, tensor(dtype, shape)))

    def text(self, index):
        types = ", ".join(t for _, t in self.results)
        names = ", ".join(n for n, _ in self.results)
        return "\n".join([f"func @f{index}() -> ({types}) {{", *self.lines, f"  return {names}", "}"])


def bounds(dtype):
    if random.random() < 0.5:
        return ""
    lo, hi = sorted(randint(*RANGE[dtype]) for _ in range(2))
    return f", lo = {lo}, hi = {hi}"


def finish(g, acc, shape, axis, taps, addend=None):
    """A requantize of a sum, with an addend or without; now and then the multipliers are so large that
    float sums pass 2^31 or become infinite."""
    y, channels = choice(["u8", "i8"]), shape[axis]
    typical = choice([1, 1, 1, 1e6, 1e35]) / (taps * 40 + 1)
    terms, num, zero_points = [acc], 1, ""
    if addend:
        terms.insert(choice([0, 1]), addend[0])
        num = 2
        zero_points = f", term_zero_points = [{', '.join('0' if t == acc else str(zero_point(addend[1])) for t in terms)}]"
    per_channel, c = random.random() < 0.6, random.random() < 0.4
    rows = [floats(channels if per_channel else 1, 0.1 * typical, typical) if t == acc else floats(channels if per_channel else 1, 0.01, 1.5) for t in terms]
    operands = ""
    if per_channel:
        operands += ", " + g.float_const("[" + ", ".join(rows) + "]", [num, channels])
    else:
        operands += ", " + g.float_const("[" + ", ".join(r[1:-1] for r in rows) + "]", [num])
    if c:
        operands += ", " + g.float_const(floats(channels, -40, 40), [channels])
    attrs = (f"axis = {axis}, " if per_channel or c else "") + f"zero_point = {zero_point(y)}{zero_points}{bounds(y)}"
    return g.add(f"requantize [{', '.join(terms)}]{operands} {{{attrs}}}", y, shape), y


def product(g, op, x, x_type, w_shape, y_shape, axis, attrs, taps, addend=None):
    w = choice(["i8", "i8", "u8"])
    channels = y_shape[axis]
    operands = f"{x}, {g.const(w, w_shape)}"
    if random.random() < 0.6:
        operands += ", " + g.add(f"const {literal([channels], -100000, 100000)}", "i32", [channels])
    attrs += f"x_zero_point = {zero_point(x_type)}, w_zero_point = {128 if w == 'u8' else 0}"
    acc = g.add(f"{op} {operands} {{{attrs}}}", "i32", y_shape)
    if random.random() < 0.15:
        g.result(acc, "i32", y_shape)
    return finish(g, acc, y_shape, axis, taps, addend)


def maybe_addend(g, shape):
    if random.random() < 0.4:
        dtype = choice(["u8", "i8"])
        return g.const(dtype, shape), dtype
    return None


def window(rank, kernel, stride_choices=(1, 2)):
    stride = [choice(stride_choices) for _ in range(rank)]
    dilation = [choice([1, 1, 2]) for _ in range(rank)]
    pad = [randint(0, 2) for _ in range(2 * rank)]
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    size = [e + randint(0, 8) for e in extent]
    out = [(size[i] + pad[i] + pad[i + rank] - extent[i]) // stride[i] + 1 for i in range(rank)]
    return size, out, f"stride = {stride}, padding = {pad}, dilation = {dilation}, "


def conv():
    g = Graph()
    rank, n, groups = choice([1, 2, 2, 2]), choice([1, 1, 2]), choice([1, 1, 1, 2, 3])
    c, o = choice([1, 2, 3, 4, 5, 8, 17]), choice([1, 3, 8, 16, 17, 40, 65])
    if groups > 1:
        c, o = max(c, 2), min(o, 40)
    kernel = [choice([1, 2, 3, 5]), choice([1, 3, 4])][2 - rank :]
    size, out, attrs = window(rank, kernel, (1, 2, 3))
    x_type, shape = choice(["u8", "i8"]), [n, o * groups, *out]
    x = g.const(x_type, [n, c * groups, *size])
    taps = c
    for k in kernel:
        taps *= k
    y, y_type = product(g, f"int_conv{rank}d", x, x_type, [o * groups, c, *kernel], shape, 1, attrs + f"groups = {groups}, ", taps, maybe_addend(g, shape))
    if rank == 2 and random.random() < 0.5:
        # A second one on the first one's result, and both are results: borders, buffers of several uses.
        second = [n, 5, *[s + 1 for s in out]]
        z, z_type = product(g, "int_conv2d", y, y_type, [5, o * groups, 2, 2], second, 1, "padding = [1,1,1,1], ", o * groups * 4)
        g.result(z, z_type, second)
    g.result(y, y_type, shape)
    return g


def wide():
    """Rows long enough for tiles that end with them; kernel rows wholly in the border; zero points 0, 128, 255."""
    g = Graph()
    n, c, o, width, x_type = choice([1, 2]), choice([1, 3, 4]), choice([5, 16, 33, 70]), randint(20, 27), choice(["u8", "i8"])
    height, k, stride = randint(1, 5), choice([3, 5]), choice([1, 1, 2])
    pad, shift = k // 2, 128 if x_type == "i8" else 0
    shape = [n, o, (height - 1) // stride + 1, (width - 1) // stride + 1]
    x = g.const(x_type, [n, c, height, width])
    w = g.const("i8", [o, c, k, k])
    zero = choice([0, 128, 255]) - shift
    acc = g.add(f"int_conv2d {x}, {w} {{stride = [{stride},{stride}], padding = [{pad},{pad},{pad},{pad}], x_zero_point = {zero}}}", "i32", shape)
    y, y_type = finish(g, acc, shape, 1, c * k * k, maybe_addend(g, shape))
    z, z_type = product(g, "int_conv2d", y, y_type, [3, o, 3, 3], [n, 3, *shape[2:]], 1, "padding = [1,1,1,1], ", o * 9)
    g.result(z, z_type, [n, 3, *shape[2:]])
    g.result(y, y_type, shape)
    return g


def linear():
    g = Graph()
    rows, k, o = choice([1, 2, 5, 13]), choice([1, 3, 4, 17, 64, 200]), choice([1, 7, 16, 33, 70])
    x_type, shape = choice(["u8", "i8"]), [rows, o]
    x = g.const(x_type, [rows, k])
    op, w_shape = choice([("int_linear", [o, k]), ("int_matmul", [k, o])])
    y, y_type = product(g, op, x, x_type, w_shape, shape, 1, "", k, maybe_addend(g, shape))
    g.result(y, y_type, shape)
    return g


def elementwise():
    """Terms of any integer types that broadcast; constants per tensor, channel or position; values that lie
    NHWC because a convolution made them."""
    g = Graph()
    rank, num, y = randint(0, 4), randint(1, 4), choice(["u8", "i8", "i16", "u16"])
    shape = [choice([1, 2, 3, 5, 17, 40]) for _ in range(rank)]
    terms, zero_points = [], []
    for i in range(num):
        dtype = choice(["u8", "i8", "i16", "u16", "i32"])
        own = shape if i == 0 else [choice([s, s, s, 1]) for s in shape][choice([0, 0, rank // 2]) :]
        terms.append(g.const(dtype, own))
        zero_points.append(choice([0, zero_point(dtype)]))
    typical = choice([1e-3, 1.0, 1e3, 1e35])
    kind, first, axis = choice(["attr", "list", "channel", "position"]), random.random() < 0.2, randint(0, max(rank - 1, 0))
    operands = attrs = ""
    if kind == "attr" or first or not rank:
        attrs = f"multipliers = {floats(num, 1e-4 * typical, typical)}, c = {random.uniform(-9, 9):.7g}, "
        attrs += "mode = zp_first, " if first else ""
    elif kind == "list":
        operands = ", " + g.float_const(floats(num, 1e-4, typical), [num])
    elif kind == "channel":
        rows = [floats(shape[axis], 1e-4, typical) for _ in range(num)]
        operands = ", " + g.float_const("[" + ", ".join(rows) + "]", [num, shape[axis]])
        operands += ", " + g.float_const(floats(shape[axis], -50, 50), [shape[axis]])
        attrs = f"axis = {choice([axis, axis - rank])}, "
    else:
        last = shape[-1]
        rows = ["[" * (rank - 1) + floats(last, 1e-4, typical) + "]" * (rank - 1) for _ in range(num)]
        operands = ", " + g.float_const("[" + ", ".join(rows) + "]", [num] + [1] * (rank - 1) + [last])
    zeros = "" if not any(zero_points) else f", term_zero_points = {zero_points}"
    text = f"requantize [{', '.join(terms)}]{operands} {{{attrs}zero_point = {zero_point(y)}{zeros}{bounds(y)}}}"
    g.result(g.add(text, y, shape), y, shape)
    return g


def after_conv():
    """An add of two convolutions' results in NHWC, and of a constant."""
    g = Graph()
    c, o, size = choice([1, 3, 8]), choice([1, 5, 16, 40]), [randint(1, 6), randint(1, 9)]
    shape, x_type = [choice([1, 2]), o, *size], choice(["u8", "i8"])
    x = g.const(x_type, [shape[0], c, *size])
    made = [product(g, "int_conv2d", x, x_type, [o, c, 1, 1], shape, 1, "", c) for _ in range(2)]
    made.append((g.const("i8", shape), "i8"))
    num, y = randint(1, 3), choice(["u8", "i8"])
    operands, attrs = "", f"multipliers = {floats(num, 0.1, 1.5)}, "
    if random.random() < 0.5:
        rows = [floats(o, 0.1, 1.5) for _ in range(num)]
        operands, attrs = ", " + g.float_const("[" + ", ".join(rows) + "]", [num, o]), "axis = 1, "
    zeros = [zero_point(dtype) for _, dtype in made[:num]]
    text = f"requantize [{', '.join(name for name, _ in made[:num])}]{operands} {{{attrs}zero_point = {zero_point(y)}, term_zero_points = {zeros}{bounds(y)}}}"
    z = g.add(text, y, shape)
    # Its border is asked for by a convolution behind it.
    last = [shape[0], 4, *size]
    w, w_type = product(g, "int_conv2d", z, y, [4, o, 3, 3], last, 1, "padding = [1,1,1,1], ", o * 9)
    g.result(w, w_type, last)
    g.result(z, y, shape)
    return g


def depthwise():
    return narrow_groups(choice([2, 3, 8, 16, 17, 33, 64, 70, 130]), 1)


def few_channels():
    width = choice([2, 4, 4, 8, 8, 16])
    return narrow_groups(choice([2, 3, 5, 9, 17]), width)


def narrow_groups(groups, width):
    """As many outputs as channels."""
    g = Graph()
    rank, n, c = choice([1, 2, 2, 2]), choice([1, 1, 2]), groups * width
    kernel = [choice([1, 2, 3, 3, 5, 9]), choice([1, 2, 3, 3, 4, 5, 7])][2 - rank :]
    size, out, attrs = window(rank, kernel, (1, 2, 3))
    x_type, shape = choice(["u8", "i8"]), [n, c, *out]
    taps = width
    for k in kernel:
        taps *= k
    x = g.const(x_type, [n, c, *size])
    y, y_type = product(g, f"int_conv{rank}d", x, x_type, [c, width, *kernel], shape, 1, attrs + f"groups = {groups}, ", taps, maybe_addend(g, shape))
    g.result(y, y_type, shape)
    return g


def requantized_sum(g, acc, shape, count, position=None):
    y, typical = choice(["u8", "i8"]), choice([1, 1, 1e6, 1e35]) / count
    operands, attrs = "", f"multipliers = {floats(1, 0.5 * typical, typical)}, "
    if position:
        rows = ", ".join(floats(position[-1], 0.5 * typical, typical) for _ in range(position[0] if len(position) == 2 else 1))
        rows = "[" + rows + "]" if len(position) == 2 else rows
        operands, attrs = ", " + g.float_const(f"[[[{rows}]]]", [1, 1, 1, *position]), ""
    attrs += f"c = {random.uniform(-9, 9):.7g}, " if random.random() < 0.3 else ""
    g.result(g.add(f"requantize [{acc}]{operands} {{{attrs}zero_point = {zero_point(y)}{bounds(y)}}}", y, shape), y, shape)


def pool():
    g = Graph()
    rank, n, c, x_type = choice([1, 2, 2]), choice([1, 2]), choice([1, 3, 16, 21, 64, 70]), choice(["u8", "i8"])
    kernel = [randint(1, 4) for _ in range(rank)]
    pad = [randint(0, max(0, (k - 1) // 2)) for k in kernel] * 2
    stride, dilation = [randint(1, 3) for _ in kernel], [choice([1, 1, 2]) for _ in kernel]
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    size = [e + randint(0, 8) for e in extent]
    out = [(size[i] + 2 * pad[i] - extent[i]) // stride[i] + 1 for i in range(rank)]
    attrs = f"kernel = {kernel}, stride = {stride}, padding = {pad}, dilation = {dilation}"
    x, shape = g.const(x_type, [n, c, *size]), [n, c, *out]
    if random.random() < 0.5:
        g.result(g.add(f"max_pool {x} {{{attrs}}}", x_type, shape), x_type, shape)
        return g
    acc = g.add(f"int_sum_pool {x} {{{attrs}, x_zero_point = {zero_point(x_type)}}}", "i32", shape)
    count = 1
    for k in kernel:
        count *= k
    requantized_sum(g, acc, shape, count, choice([None, out]))
    return g


def axes_sum():
    g = Graph()
    rank, x_type = choice([2, 3, 4, 4, 4]), choice(["u8", "i8"])
    shape = [choice([1, 2, 5, 17, 33]) for _ in range(rank)]
    first = 2 if rank == 4 and random.random() < 0.6 else randint(0, rank - 1)
    end = 4 if rank == 4 and first == 2 else randint(first + 1, rank)
    keep, count = random.random() < 0.5, 1
    for s in shape[first:end]:
        count *= s
    x = g.const(x_type, shape)
    left = shape[:first] + [1] * (end - first if keep else 0) + shape[end:]
    acc = g.add(f"int_sum {x} {{axes = {list(range(first, end))}, keepdims = {str(keep).lower()}, x_zero_point = {zero_point(x_type)}}}", "i32", left)
    requantized_sum(g, acc, left, count)
    return g


def reshaped():
    """A convolution, a global sum, a linear: with reshapes between, which are names for the same memory."""
    g = Graph()
    n, c, o, size = choice([1, 2]), choice([1, 3, 8]), choice([1, 5, 16, 40]), [randint(1, 5), randint(1, 5)]
    x_type, shape = choice(["u8", "i8"]), [n, o, *size]
    x = g.const(x_type, [n, c, *size])
    y, y_type = product(g, "int_conv2d", x, x_type, [o, c, 1, 1], shape, 1, "", c)
    if random.random() < 0.5:
        y, shape = g.add(f"max_pool {y} {{kernel = {size}}}", y_type, [n, o, 1, 1]), [n, o, 1, 1]
    flat = shape[1] * shape[2] * shape[3]
    z = g.add(f"flatten {y}", y_type, [n, flat])
    g.result(z, y_type, [n, flat])
    last, last_type = product(g, "int_linear", z, y_type, [7, flat], [n, 7], 1, "", flat)
    back = g.add(f"reshape {last} {{shape = [{7 * n}]}}", last_type, [7 * n])
    again = g.add(f"unsqueeze {back} {{axes = [0]}}", last_type, [1, 7 * n])
    end, end_type = product(g, "int_linear", again, last_type, [3, 7 * n], [1, 3], 1, "", 7 * n)
    g.result(back, last_type, [7 * n])
    g.result(end, end_type, [1, 3])
    return g


def table():
    g = Graph()
    x_type, y_type, c = choice(["u8", "i8"]), choice(["u8", "i8", "u8", "i8", "u16", "i16"]), choice([1, 3, 17])
    shape = [choice([1, 2]), 5, randint(1, 5), randint(1, 7)]
    x = g.const(x_type, [shape[0], c, *shape[2:]])
    if random.random() < 0.3:
        name, dtype, shape = x, x_type, [shape[0], c, *shape[2:]]
    else:
        name, dtype = product(g, "int_conv2d", x, x_type, [5, c, 1, 1], shape, 1, "", c)
    entries = g.add(f"const {literal([256], *RANGE[y_type])}", y_type, [256])
    y = g.add(f"lookup {name}, {entries}", y_type, shape)
    g.result(y, y_type, shape)
    if y_type in ("u8", "i8") and random.random() < 0.5:
        last = [shape[0], 2, shape[2], shape[3]]
        z, z_type = product(g, "int_conv2d", y, y_type, [2, shape[1], 3, 3], last, 1, "padding = [1,1,1,1], ", 9 * shape[1])
        g.result(z, z_type, last)
    return g


FAMILIES = {
    "lookup": [table],
    "reshaped": [reshaped],
    "pool": [pool, pool, axes_sum],
    "depthwise": [depthwise],
    "groups": [few_channels],
    "wide": [wide],
    "conv": [conv, conv, linear],
    "map": [elementwise, elementwise, after_conv],
}


def run(*arguments):
    done = subprocess.run(["qgc", "run", sys.argv[1], "--func=all", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{arguments}: exit code {done.returncode}\n{done.stderr[-4000:]}")
    return done.stdout, done.stderr


def levels():
    """The levels that this host has, from `qgc --version`."""
    line = next(s for s in subprocess.check_output(["qgc", "--version"], text=True).splitlines() if s.startswith("cpu levels:"))
    names = line.split(":")[1].replace(" (not here)", "!").split()
    return [name for name in names if not name.endswith("!")]


def compare(graphs, kept=lambda level, step: False):
    """|kept|: whether a level may leave a step of the printed plan to the interpreter."""
    count = len(graphs)
    with open(sys.argv[1], "w") as out:
        out.write("\n".join(g.text(i) for i, g in enumerate(graphs)) + "\n")
    want, _ = run("--engine=ref")
    results = sum(len(g.results) for g in graphs)
    if want.count("\n") != results:
        sys.exit(f"{results} results expected, {want.count(chr(10))} printed")
    for index, level in enumerate(levels()):
        threads = (1, 2, 3, 7)[index % 4]
        got, plans = run("--engine=jit", f"--cpu={level}", f"--threads={threads}", "--print-plan")
        reasons = [s for s in plans.splitlines() if " = ref " in s and not kept(level, s)]
        if plans.count("plan @") != count or reasons:
            sys.exit(f"{level}: not every graph became generated code\n" + "\n".join(reasons))
        for a, b in zip(want.splitlines(), got.splitlines(), strict=True):
            if a != b:
                sys.exit(f"{level} differs\nref: {a}\njit: {b}")
    print(f"{count} graphs equal at {len(levels())} levels")


def main():
    family, seed, count = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    random.seed(seed)
    compare([choice(FAMILIES[family])() for _ in range(count)])


if __name__ == "__main__":
    main()
