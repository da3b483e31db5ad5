#!/usr/bin/env python3
"""Random integer graphs, executed by the reference interpreter and by machine code at every CPU level
that the host has: the printed results must be equal.

usage: random_graphs.py WORK_FILE SEED COUNT"""
import random
import subprocess
import sys

RANGE = {"u8": (0, 255), "i8": (-128, 127)}


def literal(shape, lo, hi):
    if not shape:
        return str(random.randint(lo, hi))
    return "[" + ", ".join(literal(shape[1:], lo, hi) for _ in range(shape[0])) + "]"


def floats(num, lo, hi):
    return "[" + ", ".join(f"{random.uniform(lo, hi):.9g}" for _ in range(num)) + "]"


def tensor(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def zero_point(dtype):
    """The ends of the range, and anything between."""
    lo, hi = RANGE[dtype]
    return random.choice([lo, hi, random.randint(lo, hi)])


def conv2d():
    n, c = random.choice([1, 1, 2]), random.choice([1, 2, 3, 4, 5, 8, 17])
    o = random.choice([1, 3, 8, 16, 17, 40, 65])
    kernel = random.choice([1, 2, 3, 5]), random.choice([1, 3, 4])
    stride = random.choice([1, 2]), random.choice([1, 2, 3])
    dilation = random.choice([1, 1, 2]), random.choice([1, 1, 2])
    pad = [random.randint(0, 2) for _ in range(4)]
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    size = extent[0] + random.randint(0, 7), extent[1] + random.randint(0, 13)
    out = [(size[i] + pad[i] + pad[i + 2] - extent[i]) // stride[i] + 1 for i in range(2)]
    attrs = f"stride = {list(stride)}, padding = {pad}, dilation = {list(dilation)}, "
    return "int_conv2d", [n, c, *size], [o, c, *kernel], [n, o, *out], attrs


def linear():
    rows, k, o = random.choice([1, 2, 5, 13]), random.choice([1, 3, 4, 17, 64]), random.choice([1, 7, 16, 33, 70])
    return "int_linear", [rows, k], [o, k], [rows, o], ""


def multipliers(channels, per_channel, typical):
    if per_channel:
        return floats(channels, 0.1 * typical, typical), f"f32[1,{channels}]"
    return floats(1, typical, typical), "f32[1]"


def graph(index):
    x, y = random.choice(["u8", "i8"]), random.choice(["u8", "i8"])
    w = random.choice(["i8", "i8", "u8"])
    op, x_shape, w_shape, y_shape, attrs = random.choice([conv2d, conv2d, linear])()
    channels, taps = w_shape[0], 1
    for size in w_shape[1:]:
        taps *= size
    extremes = random.random() < 0.3
    x_text = str(random.choice(RANGE[x])) if extremes else literal(x_shape, *RANGE[x])
    w_text = str(random.choice(RANGE[w])) if extremes else literal(w_shape, *RANGE[w])
    per_channel, bias, c = random.random() < 0.6, random.random() < 0.6, random.random() < 0.4
    # Now and then so large that float sums pass 2^31: the clamp comes before the conversion.
    typical = random.choice([1, 1, 1, 1e6]) / (taps * 40 + 1)
    m_text, m_type = multipliers(channels, per_channel, typical)
    if per_channel:
        m_text = "[" + m_text + "]"
    bounds = ""
    if random.random() < 0.5:
        lo, hi = sorted(random.randint(*RANGE[y]) for _ in range(2))
        bounds = f", lo = {lo}, hi = {hi}"
    axis = "axis = 1, " if per_channel or c else ""
    lines = [
        f"func @f{index}() -> ({tensor(y, y_shape)}) {{",
        f"  %x = const {x_text} : {tensor(x, x_shape)}",
        f"  %w = const {w_text} : {tensor(w, w_shape)}",
        f"  %b = const {literal([channels], -100000, 100000)} : i32[{channels}]" if bias else "",
        f"  %acc = {op} %x, %w{', %b' if bias else ''} {{{attrs}x_zero_point = {zero_point(x)}, "
        f"w_zero_point = {128 if w == 'u8' else 0}}} : {tensor('i32', y_shape)}",
        f"  %m = const {m_text} : {m_type}",
        f"  %c = const {floats(channels, -40, 40)} : f32[{channels}]" if c else "",
        f"  %y = requantize [%acc], %m{', %c' if c else ''} {{{axis}zero_point = {zero_point(y)}{bounds}}} : {tensor(y, y_shape)}",
        "  return %y",
        "}",
    ]
    return "\n".join(line for line in lines if line)


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


def main():
    random.seed(int(sys.argv[2]))
    count = int(sys.argv[3])
    with open(sys.argv[1], "w") as out:
        out.write("\n".join(graph(i) for i in range(count)) + "\n")
    want, _ = run()
    if want.count("\n") != count:
        sys.exit(f"{count} graphs, {want.count(chr(10))} results")
    for level in levels():
        got, plans = run("--engine=jit", f"--cpu={level}", "--print-plan")
        if plans.count(" = conv ") != count or " = ref " in plans:
            sys.exit(f"{level}: not every graph became generated code\n{plans}")
        for a, b in zip(want.splitlines(), got.splitlines(), strict=True):
            if a != b:
                sys.exit(f"{level} differs\nref: {a}\njit: {b}")
    print(f"{count} graphs equal at {len(levels())} levels")


main()
