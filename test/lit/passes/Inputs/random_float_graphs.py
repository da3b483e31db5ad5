#!/usr/bin/env python3
"""Random float graphs, and whether passes keep what they compute.

random_float_graphs.py SEED             prints a graph
random_float_graphs.py SEED COUNT QGC   runs COUNT graphs as they are and after the passes; the
                                        printed outputs must be the same, byte for byte

Each graph is a function @net of parameters and constants, called by @main with constants, so that
passes see both. Data has NaN, infinities, signed zeros, subnormals and small whole numbers; shapes
have sizes 0 and 1. Much of it is made for the passes to find: repeated ops, neutral operands,
twofold negations, reshapes of reshapes.
"""
import random
import subprocess
import sys
import tempfile

PASSES = "canonicalize,cse,const-fold,infer-shapes,dce,canonicalize,cse,dce"
SPECIAL = ["nan", "inf", "-inf", "0.0", "-0.0", "1e-45", "-1.1754942e-38", "3.4028235e38"]
UNARY = """neg abs sqrt exp log erf floor ceil round sign relu sigmoid tanh gelu silu hardsigmoid hardswish
softplus reciprocal rsqrt elu leaky_relu softsign mish identity sin cos""".split()
OFTEN = "neg abs relu floor round identity".split()
BINARY = "add sub mul div min max pow".split()
COMPARE = "equal not_equal less less_equal greater greater_equal".split()
REDUCE = "reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_l2".split()
NEUTRAL = {"add": ["0.0", "-0.0"], "sub": ["0.0", "-0.0"], "mul": ["1.0", "0.0"], "div": ["1.0"],
           "pow": ["1.0", "2.0"], "min": ["inf"], "max": ["-inf"]}
CASTS = ["f16", "bf16", "f64", "f32"]
SHAPES = [[2, 3], [3], [1, 3], [2, 1], [4, 2, 3], [1], [], [2, 2, 2], [0, 3], [1, 2, 4, 4]]


def product(shape):
    result = 1
    for size in shape:
        result *= size
    return result


class Graph:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.values = []  # (name, type, shape)
        self.num = 0

    def new(self, dtype, shape):
        self.num += 1
        value = (f"%v{self.num}", dtype, list(shape))
        self.values.append(value)
        return value

    def number(self, dtype):
        if dtype == "bool":
            return self.random.choice(["true", "false"])
        if dtype != "f32":
            return str(self.random.randint(-4, 4))
        if self.random.random() < 0.3:
            return self.random.choice(SPECIAL)
        if self.random.random() < 0.4:
            return f"{self.random.randint(-3, 3)}.0"
        return f"{self.random.uniform(-4, 4):.6f}"

    def literal(self, dtype, shape):
        if 0 in shape:
            return "[]"
        if not shape:
            return self.number(dtype)
        return "[" + ", ".join(self.literal(dtype, shape[1:]) for _ in range(shape[0])) + "]"

    def const(self, dtype, shape, text=None):
        text = text or self.literal(dtype, shape)
        value = self.new(dtype, shape)
        self.lines.append(f"{value[0]} = const {text} : {type_text(dtype, shape)}")
        return value

    def op(self, text, dtype, shape):
        value = self.new(dtype, shape)
        self.lines.append(f"{value[0]} = {text} : {type_text(dtype, shape)}")
        return value

    def pick(self, dtype="f32", test=lambda shape: True):
        found = [v for v in self.values if v[1] == dtype and test(v[2])]
        return self.random.choice(found[-12:] if self.random.random() < 0.7 else found) if found else None

    # ---- one op each; None where nothing fits ----

    def unary(self):
        x = self.pick()
        return self.op(f"{self.random.choice(self.random.choice([UNARY, OFTEN]))} {x[0]}", "f32", x[2])

    def twice(self):
        x, name = self.pick(), self.random.choice(OFTEN)
        y = self.op(f"{name} {x[0]}", "f32", x[2])
        return self.op(f"{name} {y[0]}", "f32", x[2])

    def binary(self):
        x = self.pick()
        y = self.pick(test=lambda shape: shape == x[2] or product(shape) == 1 and len(shape) <= len(x[2]))
        name = self.random.choice(BINARY)
        a, b = (x, y) if self.random.random() < 0.5 else (y, x)
        result = self.op(f"{name} {a[0]}, {b[0]}", "f32", x[2])
        if self.random.random() < 0.3:  # for cse: again, perhaps the other way round
            result = self.op(f"{name} {b[0]}, {a[0]}", "f32", x[2])
        return result

    def neutral(self):
        x, name = self.pick(), self.random.choice(BINARY)
        k = self.const("f32", self.random.choice([[], x[2]]), self.random.choice(NEUTRAL[name]) if 0 not in x[2] else None)
        a, b = (x, k) if self.random.random() < 0.7 else (k, x)
        return self.op(f"{name} {a[0]}, {b[0]}", "f32", x[2])

    def again(self):
        return self.lines and self.repeat(self.random.randrange(len(self.lines)))

    def repeat(self, index):
        text = self.lines[index].split(" = ", 1)[1]
        old = next(v for v in self.values if v[0] == self.lines[index].split(" = ", 1)[0].split(",")[0])
        return self.op(text.rsplit(" : ", 1)[0], old[1], old[2]) if "split" not in text else None

    def compare(self):
        x = self.pick()
        y = self.pick(test=lambda shape: shape == x[2])
        return self.op(f"{self.random.choice(COMPARE)} {x[0]}, {y[0]}", "bool", x[2])

    def logic(self):
        x = self.pick("bool")
        y = x and self.pick("bool", lambda shape: shape == x[2])
        if not x:
            return None
        if self.random.random() < 0.4:
            return self.op(f"not {x[0]}", "bool", x[2])
        return self.op(f"{self.random.choice(['and', 'or', 'xor'])} {x[0]}, {y[0]}", "bool", x[2])

    def where(self):
        c = self.pick("bool")
        if not c or self.random.random() < 0.3:
            c = self.const("bool", [], self.random.choice(["true", "false"]))
        x = self.pick(test=lambda shape: shape == c[2] or not c[2])
        y = x and self.pick(test=lambda shape: shape == x[2])
        return x and self.op(f"where {c[0]}, {x[0]}, {y[0]}", "f32", x[2])

    def clip(self):
        x = self.pick()
        bounds = [self.const("f32", [], t) for t in self.random.choice([["-1.0", "2.0"], ["-2.0", "3.0"], ["0.0", "6.0"], ["0.0", "0.5"]])]
        y = self.op(f"clip {x[0]}, {bounds[0][0]}, {bounds[1][0]}", "f32", x[2])
        return self.op(f"{self.random.choice(['relu', 'clip'])} {y[0]}" , "f32", x[2])

    def cast(self):
        x, to = self.pick(), self.random.choice(CASTS)
        y = self.op(f"cast {x[0]} {{to = {to}}}", to, x[2])
        return self.op(f"cast {y[0]} {{to = f32}}", "f32", x[2])

    def reshape(self):
        x = self.pick(test=lambda shape: 0 not in shape)
        n = product(x[2])
        shape = self.random.choice([[n], [1, n], [n, 1], x[2], [1] + x[2]])
        if len(shape) > 6:
            return None
        if self.random.random() < 0.3:
            k = self.const("i64", [len(shape)], "[" + ", ".join(map(str, shape)) + "]")
            return self.op(f"reshape {x[0]}, {k[0]}", "f32", shape)
        return self.op(f"reshape {x[0]} {{shape = {shape}}}", "f32", shape)

    def transpose(self):
        x = self.pick(test=len)
        perm = list(range(len(x[2])))
        self.random.shuffle(perm)
        return self.op(f"transpose {x[0]} {{perm = {perm}}}", "f32", [x[2][i] for i in perm])

    def slice(self):
        x = self.pick(test=len)
        axis = self.random.randrange(len(x[2]))
        start = self.random.choice([0, 0, 1])
        end = self.random.choice([x[2][axis], 2**62, max(x[2][axis] - 1, 0)])
        shape = list(x[2])
        shape[axis] = max(min(end, x[2][axis]) - min(start, x[2][axis]), 0)
        return self.op(f"slice {x[0]} {{starts = [{start}], ends = [{end}], axes = [{axis}]}}", "f32", shape)

    def pad(self):
        x = self.pick(test=lambda shape: 0 < len(shape) < 4)
        pads = [self.random.choice([0, 0, 1]) for _ in range(2 * len(x[2]))]
        shape = [size + pads[i] + pads[len(x[2]) + i] for i, size in enumerate(x[2])]
        return self.op(f"pad {x[0]} {{pads = {pads}}}", "f32", shape)

    def concat(self):
        x = self.pick(test=len)
        y = self.pick(test=lambda shape: shape == x[2])
        axis = self.random.randrange(len(x[2]))
        if self.random.random() < 0.3:
            return self.op(f"concat [{x[0]}] {{axis = {axis}}}", "f32", x[2])
        shape = list(x[2])
        shape[axis] *= 2
        return self.op(f"concat [{x[0]}, {y[0]}] {{axis = {axis}}}", "f32", shape)

    def split(self):
        x = self.pick(test=lambda shape: shape and shape[0] > 1)
        if not x:
            return None
        sizes = [1, x[2][0] - 1]
        names = [self.new("f32", [size] + x[2][1:]) for size in sizes]
        types = ", ".join(type_text("f32", n[2]) for n in names)
        self.lines.append(f"{names[0][0]}, {names[1][0]} = split {x[0]} {{axis = 0, sizes = {sizes}}} : {types}")
        return names[0]

    def repetition(self):
        x = self.pick(test=lambda shape: 0 < len(shape) < 4)
        if self.random.random() < 0.5:
            repeats = [self.random.choice([1, 1, 2]) for _ in x[2]]
            return self.op(f"tile {x[0]} {{repeats = {repeats}}}", "f32", [a * b for a, b in zip(x[2], repeats)])
        shape = [size if size != 1 else self.random.choice([1, 2]) for size in x[2]]
        return self.op(f"expand {x[0]} {{shape = {shape}}}", "f32", shape)

    def squeeze(self):
        x = self.pick(test=lambda shape: len(shape) < 5)
        axis = self.random.randrange(len(x[2]) + 1)
        shape = x[2][:axis] + [1] + x[2][axis:]
        y = self.op(f"unsqueeze {x[0]} {{axes = [{axis}]}}", "f32", shape)
        return self.op(f"squeeze {y[0]} {{axes = [{axis}]}}", "f32", x[2])

    def reduce(self):
        x = self.pick(test=lambda shape: shape and 0 not in shape)
        axis = self.random.randrange(len(x[2]))
        shape = list(x[2])
        shape[axis] = 1
        return self.op(f"{self.random.choice(REDUCE)} {x[0]} {{axes = [{axis}]}}", "f32", shape)

    def softmax(self):
        x = self.pick(test=lambda shape: shape and 0 not in shape)
        return self.op(f"{self.random.choice(['softmax', 'log_softmax', 'cumsum'])} {x[0]} {{axis = -1}}", "f32", x[2])

    def matmul(self):
        x = self.pick(test=lambda shape: len(shape) == 2)
        n = self.random.randint(1, 3)
        w = self.const("f32", [x[2][1], n])
        return self.op(f"matmul {x[0]}, {w[0]}", "f32", [x[2][0], n])

    def image(self):
        x = self.pick(test=lambda shape: len(shape) == 4 and min(shape) > 0 and shape[2] > 2 and shape[3] > 2)
        if not x:
            return None
        if self.random.random() < 0.5:
            kind = self.random.choice(["max_pool", "avg_pool"])
            return self.op(f"{kind} {x[0]} {{kernel = [2, 2], padding = [1, 0, 0, 1]}}", "f32", x[2])
        w = self.const("f32", [2, x[2][1], 3, 3])
        return self.op(f"conv2d {x[0]}, {w[0]} {{padding = [1, 1, 1, 1]}}", "f32", [x[2][0], 2] + x[2][2:])

    def gather(self):
        x = self.pick(test=lambda shape: shape and shape[0] > 0)
        k = self.const("i64", [2], f"[{self.random.randrange(x[2][0])}, -1]")
        return self.op(f"gather {x[0]}, {k[0]} {{axis = 0}}", "f32", [2] + x[2][1:])

    def by_shape(self):
        x = self.pick(test=lambda shape: shape and 0 not in shape)
        s = self.op(f"shape_of {x[0]}", "i64", [len(x[2])])
        return self.op(f"reshape {self.pick(test=lambda shape: product(shape) == product(x[2]) and 0 not in shape)[0]}, {s[0]}", "f32", x[2])

    def text(self, num_ops):
        params = [self.new("f32", shape) for shape in SHAPES]
        for shape in SHAPES[:4]:
            self.const("f32", shape)
        kinds = [self.unary, self.twice, self.binary, self.binary, self.neutral, self.again, self.again, self.compare,
                 self.logic, self.where, self.clip, self.cast, self.reshape, self.reshape, self.transpose, self.slice,
                 self.pad, self.concat, self.split, self.repetition, self.squeeze, self.reduce, self.softmax,
                 self.matmul, self.image, self.gather, self.by_shape]
        for _ in range(num_ops):
            kind = self.random.choice(kinds)
            kind()
            if product(self.values[-1][2]) > 600:
                self.values.pop()  # computed, not used again
        results = [v for v in self.values if v not in params and self.random.random() < 0.5]
        types = ", ".join(type_text(v[1], v[2]) for v in results)
        lines = [f"func @net({', '.join(f'{p[0]}: {type_text(p[1], p[2])}' for p in params)}) -> ({types}) {{"]
        lines += ["  " + line for line in self.lines]
        lines += [f"  return {', '.join(v[0] for v in results)}", "}", "", f"func @main() -> ({types}) {{"]
        for i, p in enumerate(params):
            lines.append(f"  %p{i} = const {self.literal(p[1], p[2])} : {type_text(p[1], p[2])}")
        names = ", ".join(f"%r{i}" for i in range(len(results)))
        lines += [f"  {names} = call @net {', '.join(f'%p{i}' for i in range(len(params)))} : {types}",
                  f"  return {names}", "}"]
        return "\n".join(lines) + "\n"


def type_text(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def check(qgc, seed, directory):
    before, after = f"{directory}/before.qir", f"{directory}/after.qir"
    with open(before, "w") as file:
        file.write(Graph(seed).text(60))
    optimized = call(qgc, "opt", before, f"--passes={PASSES}")
    with open(after, "w") as file:
        file.write(optimized)
    if call(qgc, "opt", after) != optimized:
        sys.exit(f"seed {seed}: the printed graph does not print alike")
    found, expected = call(qgc, "run", after).split("\n"), call(qgc, "run", before).split("\n")
    for a, b in zip(expected, found):
        if a != b:
            sys.exit(f"seed {seed}: expected {a}\nfound {b}")
    return len(expected), call(qgc, "opt", before).count("\n") - optimized.count("\n")


def main():
    seed = int(sys.argv[1])
    if len(sys.argv) == 2:
        print(Graph(seed).text(60), end="")
        return
    outputs = removed = 0
    with tempfile.TemporaryDirectory() as directory:
        for i in range(int(sys.argv[2])):
            more = check(sys.argv[3], seed + i, directory)
            outputs, removed = outputs + more[0], removed + more[1]
    print(f"{outputs} outputs alike, {removed} ops removed")


main()
