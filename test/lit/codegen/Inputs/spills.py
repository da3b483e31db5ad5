#!/usr/bin/env python3
"""Compiles convolutions and depthwise convolutions of every register tile at every x86 level and looks for
vector registers that are stored to the stack; of float convolutions, in their loops.

usage: spills.py WORK_FILE integers|floats LEVEL..."""
import re
import subprocess
import sys

STORE = re.compile(r"^\s+v?mov\w+\s+%([xyz])mm\d+, -?\w*\(%r([sb])p\)", re.M)
FRAME = re.compile(r"^\s+movq\s+%rsp, %rbp$", re.M)
LANES = {"x86-64": 4, "x86-64-v3": 8, "x86-64-v3-vnni": 8, "x86-64-v4": 16, "x86-64-v4-vnni": 16}
WIDTH = {4: "x", 8: "y", 16: "z"}


def conv(name, c, o, width, kernel, groups=1, height=1):
    w = f"i8[{o},{c // groups},{kernel},{kernel}]"
    pad = kernel // 2
    y = f"[1,{o},{height},{width}]"
    return f"""func @{name}(%x: u8[1,{c},{height},{width}]) -> (u8{y}) {{
  %w = const 1 : {w}
  %acc = int_conv2d %x, %w {{x_zero_point = 3, groups = {groups}, padding = [{pad},{pad},{pad},{pad}]}} : i32{y}
  %y = requantize [%acc] {{multipliers = [0.001], zero_point = 7}} : u8{y}
  return %y
}}"""


def float_conv(name, c, o, width, kernel, groups=1, height=1):
    """With an epilogue where sums have a loop of their own."""
    pad = kernel // 2
    functions = "%s = add %c, %r\n  %y = relu %s" if c > 8 else "%y = identity %c"
    y = f"f32[1,{o},{height},{width}]"
    return f"""func @{name}(%x: f32[1,{c},{height},{width}], %r: {y}) -> ({y}) {{
  %w = const 1.5 : f32[{o},{c // groups},{kernel},{kernel}]
  %c = conv2d %x, %w {{groups = {groups}, padding = [{pad},{pad},{pad},{pad}]}} : {y}
  {functions}
  return %y
}}"""


def float_graphs(lanes):
    """Tiles of float products: every number of vectors, all heights; short and long runs; borders."""
    for vectors in range(1, 6):
        for pixels in range(1, 15):
            for c in (3, 8, 70):
                yield float_conv(f"chain_{vectors}_{pixels}_{c}", c, vectors * lanes, pixels, 1)
    for width in (7, 14, 24, 28):
        for c in (3, 16):
            for vectors in (1, 2, 3, 4):
                yield float_conv(f"chain_window_{width}_{c}_{vectors}", c, vectors * lanes, width, 3, height=5)
    for kernel in (3, 5):
        yield float_conv(f"chain_depthwise_{kernel}", 4 * lanes, 4 * lanes, 14, kernel, 4 * lanes, height=14)


def graphs(lanes):
    """Every number of vectors and of pixels; short and long sums; windows of depthwise and of narrow groups."""
    for vectors in range(1, 5):
        for pixels in range(1, 7 if vectors > 1 else 13):
            for c in (8, 16, 256):
                yield conv(f"tile_{vectors}_{pixels}_{c}", c, vectors * lanes, pixels, 1)
    for vectors in range(1, 5):
        yield conv(f"window_{vectors}", 16, vectors * lanes, 24, 3, height=5)
    for kernel in (3, 5, 7):
        yield conv(f"depthwise_{kernel}", 4 * lanes, 4 * lanes, 14, kernel, 4 * lanes, height=14)
        for width in (2, 4, 8):
            yield conv(f"groups_{width}_{kernel}", 8 * lanes, 8 * lanes, 14, kernel, 8 * lanes // width, height=14)


def loops(function):
    """The innermost loops of a function: blocks that jump to their own label."""
    for block in re.split(r"^(?=\.L\w+:)", function, flags=re.M):
        label = block.split(":")[0]
        back = re.search(rf"^\s+j\w+\s+{re.escape(label)}$", block, flags=re.M)
        if back and "vfmadd" in block[: back.end()]:
            yield block[: back.end()]


def count(level, path, makes):
    lanes = LANES[level]
    with open(path, "w") as out:
        out.write("\n".join(makes(lanes)) + "\n")
    text = subprocess.run(["qgc", "compile", path, "--emit=s", f"--cpu={level}", "-o", path + ".s"], capture_output=True, text=True)
    if text.returncode:
        sys.exit(text.stderr)
    with open(path + ".s") as file:
        assembly = file.read()
    found = {}
    for function in re.split(r"^(?=[^.\s]\S*:\s*(?:#.*)?$)", assembly, flags=re.M):
        text = "".join(loops(function)) if makes is float_graphs else function
        frames = "sb" if FRAME.search(function) else "s"  # else rbp is a register as others are
        num = sum(m.group(1) == WIDTH[lanes] and m.group(2) in frames for m in STORE.finditer(text))
        if num:
            found[function.split(":")[0]] = num
    return found


def main():
    makes = float_graphs if sys.argv[2] == "floats" else graphs
    for level in sys.argv[3:]:
        found = count(level, sys.argv[1], makes)
        print(f"{level}: {sum(found.values())} stores of vectors to the stack")
        print("".join(f"  {k}: {v}\n" for k, v in found.items()), end="")


if __name__ == "__main__":
    main()
