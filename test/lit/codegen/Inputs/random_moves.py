#!/usr/bin/env python3
"""Random chains of ops that move elements, compared as random_graphs.py compares integer graphs.

usage: random_moves.py WORK_FILE FAMILY SEED COUNT"""
import random
import sys

from random_graphs import Graph, RANGE, choice, compare, product, randint

DTYPES = ["u8", "i8", "u8", "i8", "i16", "u16", "i32", "f32", "bool", "i64"]
LIMITS = {**RANGE, "bool": (0, 1), "i64": (-(2**60), 2**60)}


def count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def numbers(dtype, shape):
    if not shape:
        if dtype == "f32":
            return choice(["nan", "-0.0", "inf", f"{random.uniform(-9, 9):.6g}", f"{randint(-99, 99)}.5"])
        if dtype == "bool":
            return choice(["true", "false"])
        return str(randint(*LIMITS[dtype]))
    return "[" + ", ".join(numbers(dtype, shape[1:]) for _ in range(shape[0])) + "]"


def source(g):
    """A value to move: a constant, or what a kernel leaves in NHWC or in rows."""
    dtype = choice(DTYPES)
    shape = [choice([1, 2, 3, 4, 5, 8, 17, 20, 33]) for _ in range(choice([1, 2, 3, 4, 4, 4]))]
    while count(shape) > 4000:
        shape[shape.index(max(shape))] = choice([1, 2, 3])
    if dtype in ("u8", "i8") and len(shape) == 4 and random.random() < 0.7:
        x = g.const(dtype, [shape[0], 3, *shape[2:]])
        y, dtype = product(g, "int_conv2d", x, dtype, [shape[1], 3, 1, 1], shape, 1, "", 3)
        return y, dtype, shape
    name = g.add(f"const {numbers(dtype, shape)}", dtype, shape)
    if dtype in ("u8", "i8") and random.random() < 0.5:
        dtype = choice(["u8", "i8"])
        table = g.const(dtype, [256])
        name = g.add(f"lookup {name}, {table}", dtype, shape)
    elif dtype == "f32" and random.random() < 0.7:
        name = g.add(f"neg {name}", dtype, shape)
    return name, dtype, shape


def transpose(g, x, dtype, shape):
    perm = random.sample(range(len(shape)), len(shape))
    attrs = "" if random.random() < 0.1 else f" {{perm = {perm}}}"
    out = [shape[p] for p in perm] if attrs else shape[::-1]
    return [(g.add(f"transpose {x}{attrs}", dtype, out), out)]


def reshape(g, x, dtype, shape):
    left, out = count(shape), []
    while len(out) < 3 and left > 1:
        out.append(choice([d for d in range(1, left + 1) if left % d == 0]))
        left //= out[-1]
    out.append(left)
    return [(g.add(f"reshape {x} {{shape = {out}}}", dtype, out), out)]


def unsqueeze(g, x, dtype, shape):
    at = randint(0, len(shape))
    out = [*shape[:at], 1, *shape[at:]]
    return [(g.add(f"unsqueeze {x} {{axes = [{at}]}}", dtype, out), out)]


def expand(g, x, dtype, shape):
    out = [choice([2, 3]) if s == 1 else s for s in shape]
    out = [choice([1, 2])] * (len(out) < 5 and random.random() < 0.4) + out
    return [(g.add(f"expand {x} {{shape = {out}}}", dtype, out), out)]


def tile(g, x, dtype, shape):
    repeats = [choice([1, 1, 2, 3]) for _ in shape]
    out = [a * b for a, b in zip(shape, repeats)]
    return [(g.add(f"tile {x} {{repeats = {repeats}}}", dtype, out), out)]


def concat(g, x, dtype, shape):
    axis, names = randint(0, len(shape) - 1), [x]
    size = shape[axis]
    for _ in range(randint(0, 2)):
        more = [*shape[:axis], choice([1, 2, 5]), *shape[axis + 1 :]]
        names.insert(choice([0, len(names)]), g.add(f"const {numbers(dtype, more)}", dtype, more))
        size += more[axis]
    if random.random() < 0.5:
        names.append(x)
        size += shape[axis]
    out = [*shape[:axis], size, *shape[axis + 1 :]]
    return [(g.add(f"concat [{', '.join(names)}] {{axis = {axis}}}", dtype, out), out)]


def split(g, x, dtype, shape):
    axis = randint(0, len(shape) - 1)
    first = randint(0, shape[axis])
    sizes = [first, shape[axis] - first]
    parts = [(f"%v{g.count + i}", [*shape[:axis], s, *shape[axis + 1 :]]) for i, s in enumerate(sizes)]
    g.count += 2
    types = ", ".join(f"{dtype}[{','.join(map(str, out))}]" for _, out in parts)
    g.lines.append(f"  {parts[0][0]}, {parts[1][0]} = split {x} {{axis = {axis}, sizes = {sizes}}} : {types}")
    return [p for p in parts if count(p[1])]


def slices(g, x, dtype, shape):
    starts, ends, steps, out = [], [], [], []
    for s in shape:
        step = choice([1, 1, 1, 2, 3, -1, -2])
        a, b = randint(0, s - 1), randint(0, s - 1)
        start, end = (min(a, b), max(a, b) + 1) if step > 0 else (max(a, b), min(a, b) - 1 - (s + 1) * (min(a, b) == 0))
        if random.random() < 0.4:
            start, end, step = 0, s, 1
        last = end if end >= 0 or step > 0 else -1 if end < -s else end
        out.append(len(range(start, last, step)))
        starts, ends, steps = starts + [start], ends + [end], steps + [step]
    return [(g.add(f"slice {x} {{starts = {starts}, ends = {ends}, steps = {steps}}}", dtype, out), out)]


def pad(g, x, dtype, shape):
    mode = choice(["constant", "constant", "edge", "reflect", "wrap"])
    lowest = -1 if mode == "constant" else 0
    before, after = ([choice([0, 0, lowest if s > 2 else 0, 1, 2]) for s in shape] for _ in range(2))
    out = [s + a + b for s, a, b in zip(shape, before, after)]
    value = ""
    if mode == "constant" and random.random() < 0.6:
        value = f", _, {g.add(f'const {numbers(dtype, [])}', dtype, [])}"
    return [(g.add(f"pad {x}{value} {{pads = {before + after}, mode = {mode}}}", dtype, out), out)]


def gather(g, x, dtype, shape):
    if not shape or not count(shape):
        return transpose(g, x, dtype, shape)
    axis, lead = randint(0, len(shape) - 1), choice([[], [1], [3], [2, 2]])
    if len(shape) - 1 + len(lead) > 5:
        lead = [2]
    indices = index(g, lead, [shape[axis]])
    out = [*shape[:axis], *lead, *shape[axis + 1 :]]
    return [(g.add(f"gather {x}, {indices} {{axis = {axis}}}", dtype, out), out)]


def nested(shape, sizes, sign):
    """Of indices into |sizes|, which those of the last dimension (if there are several) name in turn."""
    if not shape:
        return str(sign * randint(-sizes[0], sizes[0] - 1))
    several = len(shape) == 1 and len(sizes) > 1
    return "[" + ", ".join(nested(shape[1:], sizes[i:] if several else sizes, sign) for i in range(shape[0])) + "]"


def index(g, shape, sizes):
    """A constant, or what is known when it runs."""
    dtype, is_known = choice(["i64", "i64", "i32"]), random.random() < 0.4
    name = g.add("const " + nested(shape, sizes, 1 if is_known else -1), dtype, shape)
    if is_known:
        return name
    zero = g.add("const 0", dtype, [])
    return g.add(f"sub {zero}, {name}", dtype, shape)


def gather_elements(g, x, dtype, shape):
    if not shape or not count(shape):
        return transpose(g, x, dtype, shape)
    axis = randint(0, len(shape) - 1)
    out = [randint(1, s) for s in shape]
    indices = index(g, out, [shape[axis]])
    return [(g.add(f"gather_elements {x}, {indices} {{axis = {axis}}}", dtype, out), out)]


def gather_nd(g, x, dtype, shape):
    if not shape or not count(shape):
        return transpose(g, x, dtype, shape)
    batch = choice([0, 0, 1]) if len(shape) > 1 else 0
    depth, rows = randint(1, len(shape) - batch), choice([1, 3, 9])
    lead = [*shape[:batch], rows]
    indices = index(g, [*lead, depth], shape[batch : batch + depth])
    out = [*lead, *shape[batch + depth :]]
    return [(g.add(f"gather_nd {x}, {indices} {{batch_dims = {batch}}}", dtype, out), out)]


def reverse_sequence(g, x, dtype, shape):
    if len(shape) < 2:
        return reshape(g, x, dtype, shape)
    batch, time = random.sample(range(len(shape)), 2)
    lengths = g.add(f"const [{', '.join(str(randint(0, shape[time])) for _ in range(shape[batch]))}]", "i64", [shape[batch]])
    return [(g.add(f"reverse_sequence {x}, {lengths} {{batch_axis = {batch}, time_axis = {time}}}", dtype, shape), shape)]


def blocks(g, x, dtype, shape):
    if len(shape) != 4:
        return transpose(g, x, dtype, shape)
    n, c, h, w = shape
    for b in (3, 2):
        if h % b == 0 and w % b == 0 and random.random() < 0.7:
            out = [n, c * b * b, h // b, w // b]
            return [(g.add(f"space_to_depth {x} {{block = {b}}}", dtype, out), out)]
        if c % (b * b) == 0:
            out = [n, c // (b * b), h * b, w * b]
            return [(g.add(f"depth_to_space {x} {{block = {b}, mode = {choice(['dcr', 'crd'])}}}", dtype, out), out)]
    return tile(g, x, dtype, shape)


def resize(g, x, dtype, shape):
    out = list(shape)
    for d in range(max(0, len(shape) - 2), len(shape)):
        out[d] = choice([s for s in (1, shape[d], shape[d] * 2, shape[d] * 3, shape[d] + 3, max(1, shape[d] // 2))])
    attrs = f"coordinates = {choice(['half_pixel', 'asymmetric', 'align_corners'])}, nearest = {choice(['round_prefer_floor', 'floor', 'ceil'])}"
    return [(g.add(f"resize {x} {{sizes = {out}, {attrs}}}", dtype, out), out)]


STEPS = [transpose, transpose, reshape, unsqueeze, expand, tile, concat, concat, split, slices, slices, pad, pad, gather, gather_elements, gather_nd, reverse_sequence, blocks, blocks, resize]


def moves():
    g = Graph()
    x, dtype, shape = source(g)
    for _ in range(randint(1, 4)):
        parts = choice(STEPS)(g, x, dtype, shape)
        for name, out in parts:
            g.result(name, dtype, out)
        x, shape = choice(parts)
        if count(shape) > 6000 or len(shape) > 5:
            break
    if dtype in ("u8", "i8") and len(shape) == 4 and random.random() < 0.5 and count(shape) < 3000:
        last = [shape[0], 2, shape[2], shape[3]]
        z, z_type = product(g, "int_conv2d", x, dtype, [2, shape[1], 3, 3], last, 1, "padding = [1,1,1,1], ", 9 * shape[1])
        g.result(z, z_type, last)
    return g


FAMILIES = {"moves": [moves]}


def main():
    family, seed, num = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    random.seed(seed)
    compare([choice(FAMILIES[family])() for _ in range(num)])


main()
