#!/usr/bin/env python3
"""Prints docs/generated/kernels.md: which kernel compiled code uses for each op that the cpu target claims, by
the types of its elements; where it is the interpreter's, why. Plans are asked, at the level x86-64-v3.

usage: kernel_table.py WORK_FILE"""
import re
import subprocess
import sys

INTS = ["u8", "i8", "u16", "i16"]


def const(name, dtype, shape, value=1):
    return f"  %{name} = const {value} : {dtype}[{','.join(map(str, shape))}]"


def acc(*dtypes):
    return "i64" if any(d in ("u16", "i16") for d in dtypes) else "i32"


def typed(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def case(lines, op, y):
    return [*lines, f"  %y = {op} : {y}"], y


def mover(op, y, x=(1, 8, 4, 6)):
    return lambda d: case([const("c", d, x), f"  %x = reshape %c {{shape = {list(x)}}} : {typed(d, x)}"], op, typed(d, y))


def product(op, x, w, y, attrs=""):
    def make(d):
        given = [const("c", d, x), f"  %x = identity %c : {typed(d, x)}", const("w", "i8", w)]
        return case(given, f"{op} %x, %w {attrs}", typed(acc(d), y))
    return make


def dynamic_matmul(d):
    lines = [const("x", d, (2, 3, 4)), const("c", d, (2, 4, 5)), f"  %w = identity %c : {typed(d, (2, 4, 5))}"]
    return case(lines, "int_matmul %x, %w", typed(acc(d), (2, 3, 5)))


def requantize(d):
    return case([const("x", d, (4, 6))], "requantize [%x, %x] {multipliers = [0.5, 0.25]}", typed(d, (4, 6)))


def sum_of(op, y, attrs):
    return lambda d: case([const("x", d, (1, 8, 4, 6))], f"{op} %x {{{attrs}}}", typed(acc(d), y))


def lookup(d):
    return case([const("x", "u8", (4, 6)), const("t", d, (256,))], "lookup %x, %t", typed(d, (4, 6)))


def unary(op, y=(1, 8, 4, 6), attrs=""):
    return lambda d: case([const("x", d, (1, 8, 4, 6))], f"{op} %x {attrs}", typed(d, y))


def to_float(d):
    return case([const("x", d, (4, 6))], "dequantize %x {scale = 0.5, zero_point = 0}", "f32[4,6]")


def to_int(d):
    return case([const("x", "f32", (4, 6))], "quantize %x {scale = 0.5, zero_point = 0}", typed(d, (4, 6)))


def float_product(op, x, w, y):
    return lambda d: case([const("x", d, x), const("w", d, w)], f"{op} %x, %w", typed(d, y))


def indexed(op, indices, y):
    return lambda d: case([const("c", d, (1, 8, 4, 6)), f"  %x = identity %c : {typed(d, (1, 8, 4, 6))}", indices], op, typed(d, y))


ALL, FLOAT = [*INTS, "f32"], ["f32"]
ROWS = [
    ("int_conv1d", INTS, product("int_conv1d", (1, 8, 9), (4, 8, 3), (1, 4, 7))),
    ("int_conv2d", INTS, product("int_conv2d", (1, 8, 9, 9), (4, 8, 3, 3), (1, 4, 7, 7))),
    ("int_conv2d, depthwise", INTS, product("int_conv2d", (1, 8, 9, 9), (8, 1, 3, 3), (1, 8, 7, 7), "{groups = 8}")),
    ("int_conv2d, groups of 4", INTS, product("int_conv2d", (1, 64, 9, 9), (64, 4, 3, 3), (1, 64, 7, 7), "{groups = 16}")),
    ("int_conv2d, zero point of w", INTS, product("int_conv2d", (1, 8, 9, 9), (4, 8, 3, 3), (1, 4, 7, 7), "{w_zero_point = 3}")),
    ("int_conv3d", INTS, product("int_conv3d", (1, 2, 5, 5, 5), (4, 2, 3, 3, 3), (1, 4, 3, 3, 3))),
    ("int_conv_transpose1d", INTS, product("int_conv_transpose1d", (1, 8, 5), (8, 4, 2), (1, 4, 10), "{stride = [2]}")),
    ("int_conv_transpose2d", INTS, product("int_conv_transpose2d", (1, 8, 5, 5), (8, 4, 2, 2), (1, 4, 10, 10), "{stride = [2,2]}")),
    ("int_conv_transpose3d", INTS, product("int_conv_transpose3d", (1, 2, 3, 3, 3), (2, 4, 2, 2, 2), (1, 4, 6, 6, 6), "{stride = [2,2,2]}")),
    ("int_linear", INTS, product("int_linear", (3, 8), (4, 8), (3, 4))),
    ("int_matmul", INTS, product("int_matmul", (3, 8), (8, 4), (3, 4))),
    ("int_matmul of two activations", INTS, dynamic_matmul),
    ("int_mul", INTS, lambda d: case([const("x", d, (4, 6))], "int_mul %x, %x", typed(acc(d), (4, 6)))),
    ("int_sum", INTS, sum_of("int_sum", (1, 8), "axes = [2,3], keepdims = false")),
    ("int_sum_pool", INTS, sum_of("int_sum_pool", (1, 8, 2, 3), "kernel = [2,2], stride = [2,2]")),
    ("requantize", INTS, requantize),
    ("lookup", INTS, lookup),
    ("quantize", INTS, to_int),
    ("dequantize", INTS, to_float),
    ("identity", ALL, mover("identity %x", (1, 8, 4, 6))),
    ("reshape", ALL, mover("reshape %x {shape = [8, 24]}", (8, 24))),
    ("transpose", ALL, mover("transpose %x {perm = [0,2,3,1]}", (1, 4, 6, 8))),
    ("expand", ALL, mover("expand %x {shape = [3,8,4,6]}", (3, 8, 4, 6))),
    ("tile", ALL, mover("tile %x {repeats = [1,2,1,1]}", (1, 16, 4, 6))),
    ("concat", ALL, mover("concat [%x, %x] {axis = 1}", (1, 16, 4, 6))),
    ("slice", ALL, mover("slice %x {starts = [1], ends = [3], axes = [3]}", (1, 8, 4, 2))),
    ("pad", ALL, mover("pad %x {pads = [0,0,1,1,0,0,1,1]}", (1, 8, 6, 8))),
    ("depth_to_space", ALL, mover("depth_to_space %x {block = 2}", (1, 2, 8, 12))),
    ("space_to_depth", ALL, mover("space_to_depth %x {block = 2}", (1, 32, 2, 3))),
    ("resize, nearest", ALL, mover("resize %x {sizes = [1,8,8,12]}", (1, 8, 8, 12))),
    ("resize, linear", FLOAT, mover("resize %x {sizes = [1,8,8,12], mode = linear}", (1, 8, 8, 12))),
    ("resize, cubic", FLOAT, mover("resize %x {sizes = [1,8,8,12], mode = cubic}", (1, 8, 8, 12))),
    ("gather, constant indices", ALL, indexed("gather %x, %i {axis = 1}", "  %i = const [2, 0] : i64[2]", (1, 2, 4, 6))),
    ("gather, computed indices", ALL, indexed("gather %x, %i {axis = 1}", "  %j = const [2, 0] : i64[2]\n  %i = neg %j : i64[2]", (1, 2, 4, 6))),
    ("max_pool", ALL, unary("max_pool", (1, 8, 2, 3), "{kernel = [2,2], stride = [2,2]}")),
    ("global_max_pool", ALL, unary("global_max_pool", (1, 8, 1, 1))),
    ("adaptive_max_pool", ALL, unary("adaptive_max_pool", (1, 8, 2, 2), "{output_size = [2,2]}")),
    ("avg_pool", FLOAT, unary("avg_pool", (1, 8, 2, 3), "{kernel = [2,2], stride = [2,2]}")),
    ("global_avg_pool", FLOAT, unary("global_avg_pool", (1, 8, 1, 1))),
    *[(f"reduce_{r}", ALL if r in ("max", "min") else FLOAT, unary(f"reduce_{r}", (1, 8), "{axes = [2,3], keepdims = false}"))
      for r in ("max", "min", "sum", "mean", "prod", "l1", "l2", "sum_square", "log_sum", "log_sum_exp")],
    ("softmax", FLOAT, unary("softmax")),
    ("log_softmax", FLOAT, unary("log_softmax")),
    ("layer_norm", FLOAT, unary("layer_norm")),
    ("instance_norm", FLOAT, unary("instance_norm")),
    ("group_norm", FLOAT, unary("group_norm", attrs="{num_groups = 2}")),
    ("conv1d", FLOAT, float_product("conv1d", (1, 8, 9), (4, 8, 3), (1, 4, 7))),
    ("conv2d", FLOAT, float_product("conv2d", (1, 8, 9, 9), (4, 8, 3, 3), (1, 4, 7, 7))),
    ("conv3d", FLOAT, float_product("conv3d", (1, 2, 5, 5, 5), (4, 2, 3, 3, 3), (1, 4, 3, 3, 3))),
    ("conv_transpose1d", FLOAT, float_product("conv_transpose1d", (1, 8, 5), (8, 4, 2), (1, 4, 6))),
    ("conv_transpose2d", FLOAT, float_product("conv_transpose2d", (1, 8, 5, 5), (8, 4, 2, 2), (1, 4, 6, 6))),
    ("conv_transpose3d", FLOAT, float_product("conv_transpose3d", (1, 2, 3, 3, 3), (2, 4, 2, 2, 2), (1, 4, 4, 4, 4))),
    ("linear", FLOAT, float_product("linear", (3, 8), (4, 8), (3, 4))),
    ("matmul", FLOAT, float_product("matmul", (2, 3, 8), (2, 8, 4), (2, 3, 4))),
    *[(op, FLOAT, unary(op)) for op in ("relu", "hardswish", "sigmoid", "gelu", "exp", "sin")],
]


def step_of(plan, dtype):
    """The step that makes %y."""
    last = [s for s in plan.splitlines() if re.match(r"  %y[ .]", s) and " = form " not in s and " = border" not in s]
    if not last:
        return "no step"
    name = last[-1].split(" = ")[1].split()[0]
    return name if name != "ref" else "ref: " + (last[-1].split("// ")[1] if "// " in last[-1] else "no kernel")


def main():
    cases = [(i, d, make(d)) for i, (_, dtypes, make) in enumerate(ROWS) for d in dtypes]
    with open(sys.argv[1], "w") as out:
        for n, (_, _, (lines, y)) in enumerate(cases):
            out.write("\n".join([f"func @f{n}() -> ({y}) {{", *lines, "  return %y", "}"]) + "\n")
    done = subprocess.run(["qgc", "run", sys.argv[1], "--func=f0", "--engine=jit", "--cpu=x86-64-v3", "--print-plan"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    plans = {int(p.split(" ")[0]): p for p in done.stderr.split("plan @f")[1:]}
    found = {(i, d): step_of(plans[n], d) for n, (i, d, _) in enumerate(cases)}
    print("# Kernels of compiled code\n")
    print("Which [kernel](../architecture.md) makes the result of each op that the cpu target claims, by the type of its elements (at x86-64-v3). `no step`: another")
    print("name for the same memory; `ref`: the interpreter's kernel, and why. Made by `test/lit/codegen/Inputs/kernel_table.py`, which asks for plans.\n")
    print("| op | " + " | ".join(ALL) + " |\n|---|" + "---|" * len(ALL))
    for i, (name, dtypes, _) in enumerate(ROWS):
        print(f"| {name} | " + " | ".join(found.get((i, d), "") for d in ALL) + " |")


main()
