"""Properties of `qgc diff` on random graphs: a graph whose names and order are shuffled is equal, and one
planted change is found, as its class, at its value, and nothing else.

diff_properties.py QGC FIRST_SEED END_SEED
diff_properties.py --text SIZE              prints one graph"""
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

UNARY = ["relu", "sigmoid", "tanh", "neg", "abs", "softplus", "silu", "erf", "sin", "cos"]
BINARY = ["add", "sub", "mul", "max", "min"]
COMMUTATIVE = {"add", "mul"}
WIDTH = 8


class Node:
    """One op: `operands` are nodes or names of parameters."""

    def __init__(self, op, operands, attrs=None, value=None, dtype="f32"):
        self.op, self.operands, self.attrs, self.value = op, operands, attrs or {}, value
        self.dtype, self.name = dtype, None


class Graph:
    def __init__(self):
        self.params, self.nodes, self.results = ["x", "y"], [], []
        self.batch = "N"
        self.func, self.callee = "main", None
        self.stats = {}  # index of a node -> (min, max)

    def new(self, *arguments, **options):
        node = Node(*arguments, **options)
        node.name = f"v{len(self.nodes)}"
        self.nodes.append(node)
        return node


def random_weights(rng, num):
    return [rng.randrange(-1000, 1000) / 64 for _ in range(num)]


def linear(graph, rng, x):
    weights = graph.new("const", [], value=[random_weights(rng, WIDTH) for _ in range(WIDTH)])
    return graph.new("linear", [x, weights])


def quantized(graph, rng, x):
    params = {"scale": rng.randrange(1, 200) / 256, "zero_point": rng.randrange(50, 100)}
    q = graph.new("quantize", [x], dict(params), dtype="u8")
    return graph.new("dequantize", [q], dict(params))


def step(graph, rng, values):
    x = rng.choice(values[-4:])
    kind = rng.randrange(10)
    if kind < 3:
        return graph.new(rng.choice(UNARY), [x])
    if kind < 4:
        return graph.new("leaky_relu", [x], {"alpha": rng.randrange(1, 90) / 128})
    if kind < 6:
        return graph.new(rng.choice(BINARY), [x, rng.choice(values)])
    if kind < 8:
        return linear(graph, rng, x)
    return quantized(graph, rng, x)


def random_graph(rng, size):
    graph = Graph()
    values = list(graph.params)
    while len(values) < size:
        values.append(step(graph, rng, values))
    read = {id(operand) for node in graph.nodes for operand in node.operands}
    graph.results = [value for value in values if not isinstance(value, str) and id(value) not in read]
    return graph


# ---- text ----

def operand_text(operand):
    return "%" + (operand if isinstance(operand, str) else operand.name)


def type_text(graph, node):
    if isinstance(node, str):
        return f"f32[{graph.batch},{WIDTH}]"
    if node.op == "const":
        return f"f32[{WIDTH},{WIDTH}]"
    return f"{node.dtype}[{graph.batch},{WIDTH}]"


def node_text(graph, node):
    words = [f"  %{node.name} = {node.op}"]
    if node.op == "const":
        words.append(str(node.value))
    words.append(", ".join(map(operand_text, node.operands)))
    if node.attrs:
        words.append("{" + ", ".join(f"{name} = {value}" for name, value in node.attrs.items()) + "}")
    return " ".join(filter(None, words)) + " : " + type_text(graph, node)


def graph_text(graph):
    x = f"f32[{graph.batch},{WIDTH}]"
    params = ", ".join(f"%{name}: {x}" for name in graph.params)
    results = ", ".join(type_text(graph, node) for node in graph.results)
    lines = ["form calibrated"] if graph.stats else []
    lines.append(f"func @{graph.func}({params}) -> ({results}) {{")
    lines += [node_text(graph, node) for node in graph.nodes]
    lines.append("  return " + ", ".join(map(operand_text, graph.results)))
    lines.append("}")
    for node, (low, high) in graph.stats.items():
        lines.append(f"stats @{graph.func}.%{node.name} "
                     f"{{count = 100, zeros = 0, min = {low}, max = {high}}}")
    return "\n".join(lines) + "\n"


# ---- what is no difference ----

def shuffle_names(graph, rng):
    names = [f"n{i}" for i in range(len(graph.nodes) + len(graph.params))]
    rng.shuffle(names)
    renamed = {old: names.pop() for old in graph.params}
    graph.params = [renamed[old] for old in graph.params]
    for node in graph.nodes:
        node.name = names.pop()
        node.operands = [renamed.get(operand, operand) if isinstance(operand, str) else operand
                         for operand in node.operands]
    graph.results = [renamed.get(value, value) if isinstance(value, str) else value
                     for value in graph.results]
    graph.batch = "Batch"
    graph.func = "other"


def shuffle_order(graph, rng):
    placed, rest, order = set(graph.params), list(graph.nodes), []
    while rest:
        ready = [node for node in rest
                 if all(operand in placed if isinstance(operand, str) else id(operand) in placed
                        for operand in node.operands)]
        node = rng.choice(ready)
        rest.remove(node)
        placed.add(id(node))
        order.append(node)
    graph.nodes = order
    for node in order:
        if node.op in COMMUTATIVE and rng.random() < 0.5:
            node.operands = node.operands[::-1]


# ---- what is one ----

def pick(graph, rng, accept):
    nodes = [node for node in graph.nodes if accept(node)]
    return rng.choice(nodes) if nodes else None


def users(graph, value):
    return [node for node in graph.nodes if any(operand is value for operand in node.operands)]


def expression(value):
    """What a value computes, as text; equal ones are no difference."""
    if isinstance(value, str):
        return value
    inner = [expression(operand) for operand in value.operands]
    if value.op in COMMUTATIVE:
        inner.sort()
    return f"{value.op}{value.attrs}{value.value}({','.join(inner)})"


def replace_uses(graph, old, new, but=()):
    for node in graph.nodes:
        if node not in but:
            node.operands = [new if operand is old else operand for operand in node.operands]
    graph.results = [new if value is old else value for value in graph.results]


def replace_op(graph, rng):
    node = pick(graph, rng, lambda n: n.op in UNARY)
    if node:
        node.op = "mish"
    return node


def insert_op(graph, rng):
    node = pick(graph, rng, lambda n: n.op in UNARY + BINARY + ["linear"])
    if not node:
        return None
    index = graph.nodes.index(node)
    new = graph.new("gelu", [node])
    graph.nodes.insert(index + 1, graph.nodes.pop())
    replace_uses(graph, node, new, but=(new,))
    return new


def change_attribute(graph, rng):
    node = pick(graph, rng, lambda n: n.op == "leaky_relu")
    if node:
        node.attrs["alpha"] = 0.9375
    return node


def rewire(graph, rng):
    """Another operand, of those before the node: one that is read elsewhere, so that nothing dies."""
    node = pick(graph, rng, lambda n: n.op in BINARY + ["linear", "leaky_relu"])
    if not node:
        return None
    now = {expression(operand) for operand in node.operands}
    before = graph.nodes[:graph.nodes.index(node)]
    others = [other for other in before + graph.params
              if (isinstance(other, str) or other.op not in ("const", "quantize", "dequantize"))
              and expression(other) not in now]
    if not others or len(users(graph, node.operands[0])) < 2:
        return None
    if not isinstance(node.operands[0], str) and node.operands[0].op == "dequantize":
        return None
    node.operands[0] = rng.choice(others)
    return node


def change_dtype(graph, rng):
    node = pick(graph, rng, lambda n: n.op == "quantize")
    if node:
        node.dtype = "i8"
    return node


def change_scale(graph, rng):
    node = pick(graph, rng, lambda n: n.op == "quantize")
    if not node:
        return None
    for other in [node] + users(graph, node):
        other.attrs["scale"] = 1.5
    return node


def change_zero_point(graph, rng):
    node = pick(graph, rng, lambda n: n.op == "quantize")
    if not node:
        return None
    for other in [node] + users(graph, node):
        other.attrs["zero_point"] = 101
    return node


def add_steps(graph, rng):
    node = pick(graph, rng, lambda n: n.op in UNARY + BINARY + ["linear"])
    if not node:
        return None
    index = graph.nodes.index(node)
    dq = quantized(graph, rng, node)
    q = dq.operands[0]
    graph.nodes[index + 1:] = [q, dq] + graph.nodes[index + 1:-2]
    replace_uses(graph, node, dq, but=(q,))
    return q


def remove_steps(graph, rng):
    q = pick(graph, rng, lambda n: n.op == "quantize")
    if not q:
        return None
    for dq in users(graph, q):
        replace_uses(graph, dq, q.operands[0])
        graph.nodes.remove(dq)
    graph.nodes.remove(q)
    return q


def move_steps(graph, rng):
    """quantize and dequantize from before a unary op to behind it."""
    def is_movable(n):
        return (n.op in UNARY and not isinstance(n.operands[0], str) and n.operands[0].op == "dequantize"
                and len(users(graph, n.operands[0])) == 1 and n.operands[0] not in graph.results)
    node = pick(graph, rng, is_movable)
    if not node:
        return None
    dq = node.operands[0]
    q = dq.operands[0]
    node.operands = [q.operands[0]]
    replace_uses(graph, node, dq)
    q.operands = [node]
    graph.nodes.remove(q)
    graph.nodes.remove(dq)
    index = graph.nodes.index(node)
    graph.nodes[index + 1:index + 1] = [q, dq]
    return q


def change_weights(graph, rng):
    node = pick(graph, rng, lambda n: n.op == "const")
    if node:
        node.value[rng.randrange(WIDTH)][rng.randrange(WIDTH)] = 99.5
    return node


def change_statistics(graph, rng):
    node = rng.choice(list(graph.stats))
    graph.stats[node] = (-7.5, 8.5)
    return node


PLANTED = {  # change -> its class
    replace_op: "operator", insert_op: "operator", change_attribute: "attribute", rewire: "structure",
    change_dtype: "dtype", change_scale: "scale", change_zero_point: "scale", add_steps: "placement",
    remove_steps: "placement", move_steps: "placement", change_weights: "weights",
    change_statistics: "statistics",
}


class Property:
    def __init__(self, qgc, directory):
        self.qgc, self.directory = qgc, pathlib.Path(directory)
        self.planted, self.failures = 0, 0

    def diff(self, left, right):
        paths = [self.directory / "left.qir", self.directory / "right.qir"]
        for path, text in zip(paths, (left, right)):
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([self.qgc, "diff", "--format=json", *paths], capture_output=True,
                              text=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr + left + right)
        report = json.loads(done.stdout)
        assert (done.returncode == 0) == report["equal"] == (not report["differences"]), report
        return report

    def fail(self, seed, what, report, left, right):
        self.failures += 1
        print(f"seed {seed}: {what}", json.dumps(report["differences"], indent=1)[:3000], left, right,
              sep="\n")

    def check(self, seed):
        rng = random.Random(seed)
        graph = random_graph(rng, rng.choice([6, 12, 30, 60]))
        if seed % 3 == 0:
            seen = [node for node in graph.nodes if node.op in UNARY + BINARY]
            graph.stats = {node: (-1.5, 2.5) for node in seen}
        left = graph_text(graph)
        shuffled = copy.deepcopy(graph)
        shuffle_names(shuffled, rng)
        shuffle_order(shuffled, rng)
        right = graph_text(shuffled)
        report = self.diff(left, right)
        if not report["equal"]:
            self.fail(seed, "shuffled", report, left, right)
        for change, kind in PLANTED.items():
            self.check_planted(seed, graph, change, kind)

    def check_planted(self, seed, graph, change, kind):
        """Half of the time in a graph that is shuffled, too."""
        rng = random.Random(f"{seed} {change.__name__}")
        if change is change_statistics and not graph.stats:
            return
        changed = copy.deepcopy(graph)
        node = change(changed, rng)
        if node is None:
            return
        self.planted += 1
        if seed % 2:
            shuffle_names(changed, rng)
            shuffle_order(changed, rng)
        left, right = graph_text(graph), graph_text(changed)
        report = self.diff(left, right)
        found = report["differences"]
        is_right = [difference["class"] for difference in found] == [kind]
        name = "left" if change is remove_steps else "right"
        if is_right and change not in (remove_steps, move_steps):
            is_right = found[0][name].endswith(".%" + node.name)
        if not is_right:
            self.fail(seed, f"{change.__name__} at %{node.name}", report, left, right)


def main():
    if sys.argv[1] == "--text":
        print(graph_text(random_graph(random.Random(1), int(sys.argv[2]))), end="")
        return 0
    qgc, first, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as directory:
        properties = Property(qgc, directory)
        for seed in range(first, end):
            properties.check(seed)
    print(f"{end - first} graphs, {properties.planted} planted changes, {properties.failures} failures")
    return properties.failures != 0


if __name__ == "__main__":
    sys.exit(main())
