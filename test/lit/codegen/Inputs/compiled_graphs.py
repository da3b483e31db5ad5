#!/usr/bin/env python3
"""Random graphs of random_graphs.py and random_floats.py as object files: `qgc compile`, a C program around
it, and the interpreter's results must be equal to the bit. The first constant of each graph becomes a
parameter, so that nothing is computed when it is compiled.

usage: compiled_graphs.py WORK_PREFIX FAMILY SEED COUNT host|LEVEL..."""
import random
import re
import struct
import subprocess
import sys

import random_floats
import random_graphs
import random_matmul

CODES = {"f32": "I", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "bool": "B"}

MAIN = r"""
#include "%(header)s"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *new_arena(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
}

static void print(const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        printf("%%02x", ((const unsigned char *)data)[i]);
    printf("\n");
}

int main(void)
{
%(calls)s    return 0;
}
"""

CALL = r"""    {
        static const unsigned char in[] = {%(bytes)s};
        unsigned char %(outs)s;
        void *arena = new_arena(%(symbol)s_arena_bytes());
        if (%(symbol)s((const void *)in, %(args)s, arena))
            return 1;
%(prints)s        free(arena);
    }
"""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def to_bytes(dtype, text):
    """The elements of a printed tensor."""
    words = re.findall(r"[^\[\], ]+", text)
    if dtype == "bool":
        return bytes(word == "true" for word in words)
    if dtype != "f32":
        return b"".join(struct.pack("<" + CODES[dtype], int(word)) for word in words)
    return b"".join(struct.pack("<I", int(w, 16)) if w.startswith("0x") else struct.pack("<I", 0x7FC00000) if w == "nan" else struct.pack("<f", float(w))
                    for w in words)


def expected(text):
    """Bytes of each printed result, in hex."""
    lines = []
    for line in text.splitlines():
        value, kind = line.split(" = ", 1)[1].rsplit(" : ", 1)
        lines.append(tensor_bytes(kind, value).hex())
    return lines


def split(kind):
    """"u8[2,3]": element type, number of elements."""
    dtype, shape = kind[:-1].split("[")
    count = 1
    for size in filter(None, shape.split(",")):
        count *= int(size)
    return dtype, count


def tensor_bytes(kind, text):
    dtype, count = split(kind)
    return to_bytes(dtype, text) * (1 if "[" in text else count)  # else a splat


def open_graph(graph, index):
    """The function with its first constant as a parameter, and the constant's bytes."""
    lines = graph.text(index).splitlines()
    name, literal, kind = re.match(r"  (%\S+) = const (.*) : (\S+)$", lines[1]).groups()
    head = lines[0].replace("()", f"({name}: {kind})", 1)
    return "\n".join([head, *lines[2:]]), tensor_bytes(kind, literal)


def call(graph, index, data):
    sizes = []
    for _, kind in graph.results:
        dtype, count = split(kind)
        sizes.append(count * struct.calcsize(CODES[dtype]))
    names = [f"out{i}" for i in range(len(sizes))]
    return CALL % {
        "symbol": f"g_f{index}",
        "bytes": ", ".join(map(str, data)) or "0",
        "outs": ", ".join(f"{n}[{max(size, 1)}]" for n, size in zip(names, sizes)),
        "args": ", ".join(f"(void *){n}" for n in names),
        "prints": "".join(f"        print({n}, {size});\n" for n, size in zip(names, sizes)),
    }


def one_nan(line, dtype):
    """NaNs count as equal."""
    if dtype != "f32":
        return line
    words = [line[i : i + 8] for i in range(0, len(line), 8)]
    is_nan = lambda w: w[6:] in ("7f", "ff") and int(w[4:6], 16) >= 0x80 and w[:6] != "000080"
    return "".join("0000c07f" if is_nan(w) else w for w in words)


def execute(prefix, level, dtypes):
    """What the program around the object prints."""
    run("qgc", "compile", f"{prefix}.qir", "--name=g", f"--cpu={level}", "-o", f"{prefix}.o")
    is_arm = level.startswith("aarch64")
    compiler = "aarch64-linux-gnu-gcc" if is_arm else "cc"
    run(compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", f"{prefix}.c", f"{prefix}.o", "-lm", "-static", "-o", f"{prefix}.exe")
    lines = run(*(["qemu-aarch64", "-cpu", "max"] if is_arm else []), f"{prefix}.exe").splitlines()
    return [one_nan(line, dtype) for line, dtype in zip(lines, dtypes, strict=True)]


def main():
    prefix, family, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    levels = random_graphs.levels() if sys.argv[5] == "host" else sys.argv[5:]
    if family == "products":  # chains need fused multiply-add
        levels = [level for level in levels if level != "x86-64"]
    random.seed(seed)
    choices = {**random_graphs.FAMILIES, **random_floats.FAMILIES, **random_matmul.FAMILIES}[family]
    graphs = [random.choice(choices)() for _ in range(count)]
    opened = [open_graph(graph, i) for i, graph in enumerate(graphs)]
    with open(f"{prefix}.closed.qir", "w") as out:
        out.write("\n".join(g.text(i) for i, g in enumerate(graphs)) + "\n")
    with open(f"{prefix}.qir", "w") as out:
        out.write("\n".join(text for text, _ in opened) + "\n")
    with open(f"{prefix}.c", "w") as out:
        calls = "".join(call(g, i, data) for i, (g, (_, data)) in enumerate(zip(graphs, opened)))
        out.write(MAIN % {"header": f"{prefix}.h", "calls": calls})
    want = expected(run("qgc", "run", f"{prefix}.closed.qir", "--func=all", "--engine=ref"))
    dtypes = [split(kind)[0] for g in graphs for _, kind in g.results]
    for level in levels:
        got = execute(prefix, level, dtypes)
        wrong = [i for i, (a, b) in enumerate(zip(want, got, strict=True)) if a != b]
        if wrong:
            sys.exit(f"{level}: {len(wrong)} of {len(want)} results differ, the first is number {wrong[0]}\nref:    {want[wrong[0]]}\nobject: {got[wrong[0]]}")
    print(f"{count} graphs equal at {len(levels)} levels")


if __name__ == "__main__":
    main()
