#!/usr/bin/env python3
"""Random graphs as training with quantization leaves them, and whether the passes keep what they compute.

random_trained.py SEED             prints a graph
random_trained.py SEED COUNT QGC   runs COUNT graphs after each pass

A product (linear, or a convolution of 1 to 3 dimensions, also transposed, grouped, depthwise) whose weight goes through
fake_quant (i8, u8, i16, narrowed ranges, affine, one scale or one for each channel) or fake_cast, and behind it a batch
norm, with or without a bias and an activation. Factors of norms are of both signs, and 0. `fuse` may round (each folded
op once): its outputs are close to the float graph's. All passes before it, and all after it, keep every bit, as does
machine code.
"""
import random
import re
import subprocess
import sys
import tempfile

BEFORE = ["infer-shapes", "canonicalize", "const-fold", "recognize", "dce"]
AFTER = ["convert", "cse", "const-fold", "dce"]
TOLERANCE = 2e-5  # of the greatest output
RANGES = [("i8", -128, 127), ("i8", -127, 127), ("i8", -7, 7), ("u8", 0, 255), ("i16", -32768, 32767)]
FULL = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767)}


def type_of(shape):
    return f"f32[{','.join(map(str, shape))}]"


class Graph:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []

    def literal(self, shape, low=-2.0, high=2.0):
        if not shape:
            return f"{self.random.uniform(low, high):.4f}"
        return "[" + ", ".join(self.literal(shape[1:], low, high) for _ in range(shape[0])) + "]"

    def const(self, name, text, dtype):
        self.lines.append(f"%{name} = const {text} : {dtype}")

    def step(self, shape, axis):
        """%wq, what the product reads."""
        r = self.random
        self.const("w", self.literal(shape), type_of(shape))
        if self.is_cast:
            self.lines.append("%wq = fake_cast %w {to = f16}")
            return
        dtype, low, high = r.choice(RANGES)
        attrs = [f"to = {dtype}"] + [f"range = [{low}, {high}]"] * ((low, high) != FULL[dtype])
        affine = low == 0 or r.random() < 0.3
        middle = (low + high + 1) // 2
        zero = lambda: middle + (r.randint(-2, 2) if affine else 0)
        scale = lambda: r.uniform(0.5, 2.2) / max(high - middle, 1)
        operands = ["%w"]
        if r.random() < 0.6:
            self.const("ws", "[" + ", ".join(f"{scale():.9f}" for _ in range(shape[axis])) + "]", f"f32[{shape[axis]}]")
            operands.append("%ws")
            attrs.append(f"axis = {axis}")
            if affine:
                self.const("wz", "[" + ", ".join(str(zero()) for _ in range(shape[axis])) + "]", f"i32[{shape[axis]}]")
                operands.append("%wz")
        else:
            attrs.append(f"scale = {scale():.9f}")
            if affine:
                attrs.append(f"zero_point = {zero()}")
        self.lines.append(f"%wq = fake_quant {', '.join(operands)} {{{', '.join(attrs)}}}")

    def norm(self, channels):
        """%n; the factors of a cast's weights are powers of two, as no others are exact."""
        r = self.random
        gamma = [r.choice([0.5, 2.0, -1.0, 1.0]) if self.is_cast else r.choice([r.uniform(0.2, 2), -r.uniform(0.2, 2), 0.0 if r.random() < 0.3 else 1.0])
                 for _ in range(channels)]
        var = [0.75 if self.is_cast else r.uniform(0.1, 3) for _ in range(channels)]
        for name, values in [("gamma", gamma), ("beta", None), ("mean", None), ("var", var)]:
            text = self.literal([channels]) if values is None else "[" + ", ".join(f"{v:.4f}" for v in values) + "]"
            self.const(name, text, f"f32[{channels}]")
        self.lines.append(f"%n = batch_norm %c, %gamma, %beta, %mean, %var {{epsilon = {0.25 if self.is_cast else 0.001}}}")

    def product(self):
        """Shapes of x, of the weight and of the result, the weight's axis of channels, the op."""
        r = self.random
        rank = r.choice([0, 1, 2, 2, 2, 3])
        groups, per_in, per_out = r.choice([(1, 3, 4), (1, 1, 5), (2, 2, 3), (4, 1, 1), (3, 2, 1)])
        if rank == 0:
            return [3, per_in * groups], [per_out * groups, per_in * groups], [3, per_out * groups], 0, "linear", ""
        spatial, kernel = [r.randint(3, 5) for _ in range(rank)], [r.randint(1, 3) for _ in range(rank)]
        strides = [r.choice([1, 1, 2]) for _ in range(rank)]
        attrs = " {" + ", ".join([f"stride = {strides}"] + [f"groups = {groups}"] * (groups > 1)) + "}"
        windows = list(zip(spatial, kernel, strides))
        x = [2, per_in * groups] + spatial
        if rank < 3 and r.random() < 0.3:
            y = [2, per_out * groups] + [(n - 1) * step + k for n, k, step in windows]
            return x, [per_in * groups, per_out] + kernel, y, 1, f"conv_transpose{rank}d", attrs
        y = [2, per_out * groups] + [(n - k) // step + 1 for n, k, step in windows]
        return x, [per_out * groups, per_in] + kernel, y, 0, f"conv{rank}d", attrs

    def text(self):
        r = self.random
        self.is_cast = r.random() < 0.25
        x, w, y, axis, op, attrs = self.product()
        channels = y[1]
        self.lines.append(f"%xq = fake_quant %x {{to = u8, scale = 0.02, zero_point = {r.choice([0, 100, 128])}}}")
        self.step(w, axis)
        operands = ["%xq", "%wq"]
        if r.random() < 0.5:
            self.const("b", self.literal([channels]), f"f32[{channels}]")
            operands.append("%b")
        self.lines.append(f"%c = {op} {', '.join(operands)}{attrs}")
        self.norm(channels)
        self.lines.append(f"%y = {r.choice(['relu', 'identity', 'hardswish'])} %n")
        return "\n".join([f"func @net(%x: {type_of(x)}) -> ({type_of(y)}) {{"] + ["  " + line for line in self.lines] +
                         ["  return %y", "}", "", f"func @main() -> ({type_of(y)}) {{",
                          f"  %x = const {self.literal(x)} : {type_of(x)}", "  %y = call @net %x", "  return %y", "}"]) + "\n"


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def numbers(text):
    return [float(word) for word in re.findall(r"-?(?:\d[\d.]*(?:e[-+]?\d+)?|inf)|nan", text.split(" = ", 1)[1].rsplit(" : ", 1)[0])]


class Check:
    def __init__(self, qgc, directory):
        self.qgc, self.graphs = qgc, [f"{directory}/{i}.qir" for i in range(2)]
        self.folded = self.kept = 0
        self.kinds = set()

    def run(self):
        return call(self.qgc, "run", self.graphs[0], "--engine=ref")

    def step(self, name):
        text = call(self.qgc, "opt", self.graphs[0], f"--passes={name}", "-o", self.graphs[1])
        self.graphs.reverse()
        return text

    def graph(self, seed):
        with open(self.graphs[0], "w") as file:
            file.write(Graph(seed).text())
        first = expected = self.run()
        for name in BEFORE + ["fuse"] + AFTER:
            self.step(name)
            found = self.run()
            if name == "fuse":
                self.close(seed, first, found)
                expected = found
            elif found != expected:
                sys.exit(f"seed {seed}: {name} changes\n{expected}to\n{found}")
        if call(self.qgc, "run", self.graphs[0], "--engine=jit", "--no-cache") != expected:
            sys.exit(f"seed {seed}: machine code differs")

    def close(self, seed, a, b):
        a, b = numbers(a), numbers(b)
        bound = TOLERANCE * max(1.0, *map(abs, a))
        if len(a) != len(b) or not all(abs(x - y) <= bound for x, y in zip(a, b)):
            sys.exit(f"seed {seed}: fuse is off by {max(abs(x - y) for x, y in zip(a, b))}, more than {bound}")
        with open(self.graphs[0]) as file:
            text = file.read()
        if "batch_norm" in text:
            self.kept += 1
        else:
            self.folded += 1
            self.kinds |= set(re.findall(r"= (conv\w+|linear|fake_cast) ", text))


def main():
    seed = int(sys.argv[1])
    if len(sys.argv) == 2:
        print(Graph(seed).text(), end="")
        return
    with tempfile.TemporaryDirectory() as directory:
        check = Check(sys.argv[3], directory)
        for i in range(int(sys.argv[2])):
            check.graph(seed + i)
    print(f"{check.folded} folded, {check.kept} not; {' '.join(sorted(check.kinds))}")


main()
