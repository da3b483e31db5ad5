#!/usr/bin/env python3
"""qgc's kernels beside ONNX Runtime's and oneDNN's; usage: see tools/bench/peers, which runs it.

Every engine is a process of its own on the same CPU (ONNX Runtime: this one). A round asks each in turn
for one short measurement of its thread's own time, with the peak loop before and after, so that a
change of the clock meets all of them. Printed are medians of rates and of the rounds' ratios. The last
table, of threads, is by the wall clock: tools/bench/scaling.py."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime
import scaling
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"

# name, C, H, W, O, kernel, stride, groups; H = 0: linear of W rows
LAYERS = [
    ("conv 3x3 64 @56", 64, 56, 56, 64, 3, 1, 1),
    ("conv 3x3 128 @28", 128, 28, 28, 128, 3, 1, 1),
    ("conv 3x3 256 @14", 256, 14, 14, 256, 3, 1, 1),
    ("conv 3x3 512 @7", 512, 7, 7, 512, 3, 1, 1),
    ("1x1 64->256 @56", 64, 56, 56, 256, 1, 1, 1),
    ("1x1 256->64 @56", 256, 56, 56, 64, 1, 1, 1),
    ("1x1 1024->256 @14", 1024, 14, 14, 256, 1, 1, 1),
    ("1x1 256->1024 @14", 256, 14, 14, 1024, 1, 1, 1),
    ("1x1 512->2048 @7", 512, 7, 7, 2048, 1, 1, 1),
    ("stem 7x7 s2 3->64 @224", 3, 224, 224, 64, 7, 2, 1),
    ("dw 3x3 96 @56", 96, 56, 56, 96, 3, 1, 96),
    ("dw 3x3 s2 96 @112", 96, 112, 112, 96, 3, 2, 96),
    ("dw 3x3 384 @14", 384, 14, 14, 384, 3, 1, 384),
    ("dw 3x3 960 @7", 960, 7, 7, 960, 3, 1, 960),
    ("dw 5x5 128 @28", 128, 28, 28, 128, 5, 1, 128),
    ("linear 128x768x768", 768, 0, 128, 768, 1, 1, 1),
    ("linear 128x768->3072", 768, 0, 128, 3072, 1, 1, 1),
    ("linear 128x3072->768", 3072, 0, 128, 768, 1, 1, 1),
    ("GEMM 1024", 1024, 0, 1024, 1024, 1, 1, 1),
    ("FC 1x2048->1000", 2048, 0, 1, 1000, 1, 1, 1),
    ("GEMV 1x4096x4096", 4096, 0, 1, 4096, 1, 1, 1),
]


def macs(layer):
    _, c, h, w, o, kernel, stride, groups = layer
    if h == 0:
        return w * c * o
    return (h // stride) * (w // stride) * o * (c // groups) * kernel * kernel


# ---- models ----


class Model:
    """The network, of what its graphs have in common. Steps add nodes to |name|, the value at hand."""

    dtype, type = numpy.float32, TensorProto.FLOAT

    def __init__(self, shape, seed=1):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.tensors, self.count, self.macs = [], [], 0, 0
        self.shape = list(shape)
        self.input = helper.make_tensor_value_info("x", self.type, shape)
        self.name = self.begin("x")

    def constant(self, value):
        self.tensors.append(numpy_helper.from_array(numpy.asarray(value), f"c{len(self.tensors)}"))
        return self.tensors[-1].name

    def add(self, op, inputs, **attributes):
        self.count += 1
        self.nodes.append(helper.make_node(op, inputs, [f"v{self.count}"], **attributes))
        return f"v{self.count}"

    # What int8 graphs have besides.

    def begin(self, name):
        return name

    def finish(self, name):
        return name

    def quantize(self, name, positive=False, scale=None):
        """The value in the graph's own type; |positive|: it has no negative elements."""
        return name

    def weights(self, shape, taps, axis=0):
        """Weights and bias of an op with |shape[axis]| outputs of |taps| products each."""
        w = self.random.normal(0, 1 / taps**0.5, shape).astype(numpy.float32)
        return self.constant(w), self.constant(self.random.normal(0, 0.1, shape[axis]).astype(numpy.float32))

    def random_input(self):
        shape = [d.dim_value for d in self.input.type.tensor_type.shape.dim]
        return numpy.random.default_rng(2).normal(0, 1, shape).astype(numpy.float32)

    # Steps.

    def conv(self, out, kernel=1, stride=1, groups=1, relu=True):
        n, c, h, w = self.shape
        weight, bias = self.weights([out, c // groups, kernel, kernel], c // groups * kernel * kernel)
        pad = (kernel - 1) // 2
        self.shape = [n, out, (h - 1) // stride + 1, (w - 1) // stride + 1]
        self.macs += self.shape[2] * self.shape[3] * out * (c // groups) * kernel * kernel
        y = self.add("Conv", [self.name, weight, bias], kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4, group=groups)
        y = self.add("Relu", [y]) if relu else y
        self.name = self.quantize(y, relu)

    def max_pool(self):
        n, c, h, w = self.shape
        self.shape = [n, c, h // 2, w // 2]
        self.name = self.quantize(self.add("MaxPool", [self.name], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), True)

    def plus(self, other, relu):
        y = self.add("Add", [self.name, other])
        y = self.add("Relu", [y]) if relu else y
        self.name = self.quantize(y, relu)

    def linear(self, out):
        rows, features = self.shape
        weight, bias = self.weights([out, features], features)
        self.shape = [rows, out]
        self.macs += rows * out * features
        self.name = self.quantize(self.add("Gemm", [self.name, weight, bias], transB=1), True)

    def head(self, classes):
        y = self.quantize(self.add("GlobalAveragePool", [self.name]), True)
        self.name = self.add("Flatten", [y])
        self.shape = self.shape[:2]
        self.linear(classes)

    # Steps of a transformer, on [1, rows, features].

    def project(self, name, out, quantized=True):
        _, rows, features = self.shape
        weight, bias = self.weights([features, out], features, axis=1)
        self.macs += rows * out * features
        y = self.add("Add", [self.add("MatMul", [name, weight]), bias])
        return self.quantize(y) if quantized else y

    def product(self, a, b, macs):
        self.macs += macs
        return self.add("MatMul", [a, b])

    def norm(self, name, features):
        scale = self.constant(self.random.uniform(0.5, 1.5, features).astype(numpy.float32))
        bias = self.constant(self.random.normal(0, 0.1, features).astype(numpy.float32))
        return self.quantize(self.add("LayerNormalization", [name, scale, bias], axis=-1, epsilon=1e-12))

    def gelu(self, name):
        half, one, root = (self.constant(numpy.float32(v)) for v in (0.5, 1, 2**0.5))
        erf = self.add("Add", [self.add("Erf", [self.add("Div", [name, root])]), one])
        return self.quantize(self.add("Mul", [self.add("Mul", [name, erf]), half]))

    def save(self, path):
        self.name = self.finish(self.name)
        y = helper.make_tensor_value_info(self.name, self.type, self.shape)
        graph = helper.make_graph(self.nodes, "synthetic", [self.input], [y], self.tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Int8(Model):
    """QDQ: u8 in, u8 out; zero point 0 behind a Relu, which ONNX Runtime likes: it goes into the quantization."""

    dtype, type = numpy.uint8, TensorProto.UINT8
    SCALE = 0.05

    def begin(self, name):
        self.scale = self.constant(numpy.float32(self.SCALE))
        self.zero = self.constant(numpy.uint8(0))
        self.middle = self.constant(numpy.uint8(128))
        return self.add("DequantizeLinear", [name, self.scale, self.zero])

    def finish(self, name):
        return self.nodes.pop().input[0]

    def quantize(self, name, positive=False, scale=None):
        scale = self.constant(numpy.float32(scale)) if scale else self.scale
        zero_point = self.zero if positive else self.middle
        return self.add("DequantizeLinear", [self.add("QuantizeLinear", [name, scale, zero_point]), scale, zero_point])

    def weights(self, shape, taps, axis=0):
        quantized = self.constant(self.random.integers(-127, 128, shape, dtype=numpy.int8))
        scale = numpy.float32(1.0 / (40 * taps**0.5)) * self.random.uniform(0.5, 1, shape[axis]).astype(numpy.float32)
        w = self.add("DequantizeLinear", [quantized, self.constant(scale), self.constant(numpy.zeros(shape[axis], numpy.int8))], axis=axis)
        bias = self.constant(self.random.integers(-1000, 1000, shape[axis], dtype=numpy.int32))
        return w, self.add("DequantizeLinear", [bias, self.constant(scale * numpy.float32(self.SCALE))], axis=0)

    def random_input(self):
        shape = [d.dim_value for d in self.input.type.tensor_type.shape.dim]
        return numpy.random.default_rng(2).integers(0, 256, shape, dtype=numpy.uint8)


def resnet50(kind):
    m = kind([1, 3, 224, 224])
    m.conv(64, 7, 2)
    m.max_pool()
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            before, shape = m.name, list(m.shape)
            shortcut = before
            if not block:
                m.conv(4 * width, 1, stride, relu=False)
                shortcut, m.name, m.shape = m.name, before, shape
            m.conv(width)
            m.conv(width, 3, stride)
            m.conv(4 * width, relu=False)
            m.plus(shortcut, relu=True)
    m.head(1000)
    return m


def mobilenet_v2(kind):
    m = kind([1, 3, 224, 224])
    m.conv(32, 3, 2)
    for expand, out, blocks, first in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for block in range(blocks):
            before, c, stride = m.name, m.shape[1], 1 if block else first
            if expand > 1:
                m.conv(c * expand)
            m.conv(c * expand, 3, stride, groups=c * expand)
            m.conv(out, relu=False)
            if stride == 1 and c == out:
                m.plus(before, relu=False)
    m.conv(1280)
    m.head(1000)
    return m


def bert_layer(kind, rows=128, features=768, heads=12):
    """One encoder layer of BERT-base, 128 tokens."""
    m = kind([1, rows, features])
    x, size = m.name, features // heads
    head = m.constant(numpy.array([1, rows, heads, size]))
    q, k, v = (m.add("Reshape", [m.project(x, features), head]) for _ in range(3))
    q, v = (m.add("Transpose", [y], perm=[0, 2, 1, 3]) for y in (q, v))
    k = m.add("Transpose", [k], perm=[0, 2, 3, 1])
    scores = m.product(q, k, heads * rows * rows * size)
    scores = m.quantize(m.add("Div", [m.quantize(scores, scale=0.2), m.constant(numpy.float32(size**0.5))]))
    weights = m.quantize(m.add("Softmax", [scores], axis=-1), True, scale=1 / 255)
    y = m.quantize(m.product(weights, v, heads * rows * rows * size))
    y = m.add("Reshape", [m.add("Transpose", [y], perm=[0, 2, 1, 3]), m.constant(numpy.array([1, rows, features]))])
    x = m.norm(m.quantize(m.add("Add", [m.project(y, features), x])), features)
    y = m.gelu(m.project(x, 4 * features))
    m.shape[2] = 4 * features
    y = m.project(y, features)
    m.shape[2] = features
    m.name = m.norm(m.quantize(m.add("Add", [y, x])), features)
    return m


def bottleneck(kind):
    m = kind([1, 256, 56, 56])
    before = m.name
    m.conv(64)
    m.conv(64, 3)
    m.conv(256, relu=False)
    m.plus(before, relu=True)
    return m


def inverted(kind, width, size):
    m = kind([1, width, size, size])
    before = m.name
    m.conv(6 * width)
    m.conv(6 * width, 3, groups=6 * width)
    m.conv(width, relu=False)
    m.plus(before, relu=False)
    return m


GRAPHS = [
    ("ResNet-50 224", Int8, resnet50),
    ("MobileNetV2 224", Int8, mobilenet_v2),
    ("BERT-base layer 128", Int8, bert_layer),
    ("bottleneck 256-64-64-256 @56", Int8, bottleneck),
    ("inverted residual 64-384-64 @14", Int8, lambda kind: inverted(kind, 64, 14)),
    ("inverted residual 24-144-24 @56", Int8, lambda kind: inverted(kind, 24, 56)),
    ("float ResNet-50 224", Model, resnet50),
    ("float MobileNetV2 224", Model, mobilenet_v2),
    ("float BERT-base layer 128", Model, bert_layer),
]

# ---- engines: open(), then run(repeat) -> seconds of one ----


class Process:
    def __init__(self, *command, **environment):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.header = None

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit(f"{self.process.args}: no answer to '{line}'")
        return answer

    def open_layer(self, layer):
        return self.ask("layer " + " ".join(map(str, layer[1:])))

    def run(self, repeat):
        return float(self.ask(f"run {repeat}"))

    def wall(self, repeat):
        return float(self.ask(f"wall {repeat}"))

    def rate(self, threads):
        return float(self.ask(f"peak {threads}"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class OnnxRuntime:
    """A layer of stride 1 is a chain of eight, of one and its mirror image in turns where channels
    differ: the call, and the layout's change at the ends, count once."""

    def __init__(self, work, threads=1):
        self.work, self.session, self.chain, self.threads = work, None, 1, threads

    def open(self, model):
        path = os.path.join(self.work, "layer.onnx")
        model.save(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.add_session_config_entry("session.force_spinning_stop", "1")  # not into others' turns
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = {"x": model.random_input()}

    def open_layer(self, layer):
        _, c, h, w, o, kernel, stride, groups = layer
        model = Int8([1, c, h, w] if h else [w, c])
        self.chain = 8 if stride == 1 else 1
        for i in range(self.chain):
            out = c if i % 2 else o
            if h:
                model.conv(out, kernel, stride, groups)
            else:
                model.linear(out)
        self.open(model)
        return f"chain of {self.chain}"

    def run(self, repeat):
        start = time.thread_time()
        for _ in range(repeat):
            self.session.run(None, self.inputs)
        return (time.thread_time() - start) / repeat / self.chain


    def wall(self, repeat):
        start = time.perf_counter()
        for _ in range(repeat):
            self.session.run(None, self.inputs)
        return (time.perf_counter() - start) / repeat


# ---- measuring ----


def measure(engines, peak, rounds):
    """Per engine: its seconds of each round; and the round's peak."""
    repeats = {}
    for name, engine in engines.items():
        engine.run(1)
        repeats[name] = max(1, int(2e-3 / max(engine.run(1) * getattr(engine, "chain", 1), 1e-7)))
    seconds, peaks = {name: [] for name in engines}, []
    for _ in range(rounds):
        before = float(peak.ask("peak"))
        for name, engine in engines.items():
            seconds[name].append(engine.run(repeats[name]))
        peaks.append((before + float(peak.ask("peak"))) / 2)
    return seconds, peaks


def ratio(seconds, ours, other):
    return statistics.median(b / a for a, b in zip(seconds[ours], seconds[other], strict=True))


def print_layer(layer, seconds, peaks):
    work, cells = macs(layer), []
    for times in seconds.values():
        share = statistics.median(work / t / p for t, p in zip(times, peaks, strict=True)) if peaks[0] else 0
        cells.append(f"{work / statistics.median(times) * 1e-9:7.1f} ({100 * share:5.1f})")
    ratios = [f"{ratio(seconds, 'qgc', name):7.2f}" for name in seconds if name != "qgc"]
    print(f"{layer[0]:<24}" + " ".join(cells) + " " + " ".join(ratios), flush=True)


def layers(options, peak, work):
    onednn = {"OMP_NUM_THREADS": "1", "ONEDNN_MAX_CPU_ISA": options.onednn_isa}
    engines = {"qgc": Process(BUILD / "bench-kernels", options.cpu, "--serve")}
    if (BUILD / "bench-peer-onednn").exists():
        engines["oneDNN"] = Process(BUILD / "bench-peer-onednn", **onednn)
    engines["ORT"] = OnnxRuntime(work)
    print(f"GMAC/s (% of the peak loop), then how many times as fast qgc is; oneDNN limited to {options.onednn_isa}")
    print(f"{'':<24}" + " ".join(f"{name:>15}" for name in engines) + " " + " ".join(f"/{n:>6}" for n in engines if n != "qgc"))
    for layer in LAYERS:
        if options.only in layer[0]:
            for engine in engines.values():
                engine.open_layer(layer)
            print_layer(layer, *measure(engines, peak, options.rounds))
    for engine in engines.values():
        if isinstance(engine, Process):
            engine.close()


def lower(path, work, kind):
    """The graph that qgc compiles."""
    graph, lowered = os.path.join(work, "graph.qir"), os.path.join(work, "lowered.qir")
    subprocess.run([BUILD / "qgc", "import", path, "--quiet", "-o", graph], check=True)
    passes = "canonicalize,partition,lower-integer" if kind is Int8 else "canonicalize"
    subprocess.run([BUILD / "qgc", "opt", graph, f"--passes={passes}", "--quiet", "-o", lowered], check=True)
    return lowered


def graphs(options, peak, work):
    print(f"\n{'graph':<34}{'MMAC':>7}{'qgc ms':>9}{'ORT ms':>9}{'ORT/qgc':>9}{'% of peak':>11}")
    for name, kind, build in GRAPHS:
        if options.only not in name:
            continue
        model, ort, qgc = build(kind), OnnxRuntime(work), Process(BUILD / "bench-kernels", options.cpu, "--serve")
        ort.open(model)
        qgc.ask("graph " + lower(os.path.join(work, "layer.onnx"), work, kind))
        seconds, peaks = measure({"qgc": qgc, "ORT": ort}, peak, options.rounds)
        ours, theirs = (statistics.median(seconds[e]) for e in ("qgc", "ORT"))
        share = statistics.median(model.macs / t / p for t, p in zip(seconds["qgc"], peaks, strict=True)) if peaks[0] else 0
        print(f"{name:<34}{model.macs / 1e6:>7.0f}{ours * 1e3:>9.3f}{theirs * 1e3:>9.3f}{ratio(seconds, 'qgc', 'ORT'):>9.2f}{100 * share:>11.1f}", flush=True)
        qgc.close()


THREADED = ("ResNet-50 224", "MobileNetV2 224", "BERT-base layer 128")


def threaded_graphs(options, work):
    """(name, graph that qgc compiles, engines beside it) for each row, made when its turn comes."""
    for name, kind, build in GRAPHS:
        if options.only in name and name.removeprefix("float ") in THREADED:
            peers = {"ORT 1": OnnxRuntime(work), "ORT N": OnnxRuntime(work, options.threads)}
            for peer in peers.values():
                peer.open(build(kind))
            yield name, lower(os.path.join(work, "layer.onnx"), work, kind), peers
    for path in options.graph:
        yield pathlib.Path(path).name.split(".")[0], os.path.abspath(path), {}


def threads(options, work):
    """On as many CPUs as threads; short bursts, at real-time priority where the system lets us."""
    os.sched_setaffinity(0, range(options.threads))
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except PermissionError:
        print("(without real-time priority: others at work are in these times)")
    tables, serve = {}, (BUILD / "bench-kernels", options.cpu, "--serve")
    print(f"\n{scaling.title(options.threads)}\n{scaling.line(scaling.HEADER, options.threads)}")
    for name, graph, peers in threaded_graphs(options, work):
        one, many, peak = Process(*serve), Process(*serve), Process(*serve)
        many.ask(f"threads {options.threads}")
        for qgc in (one, many):
            qgc.ask("graph " + graph)
        tables[name] = scaling.measure({"qgc 1": one, "qgc N": many, **peers}, peak, options.threads, options.rounds, pause=0.25)
        print(scaling.line(scaling.row(name, tables[name]), options.threads), flush=True)
        for process in (peak, one, many):
            process.close()
    if tables:
        print(scaling.last_line(list(tables.values())))
    if options.samples:
        pathlib.Path(options.samples).write_text(json.dumps(tables), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", default="native", help="qgc's CPU level")
    parser.add_argument("--onednn-isa", default="AVX512_CORE_VNNI", help="ONEDNN_MAX_CPU_ISA; ALL allows AMX")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--only", default="", help="names with this in them")
    parser.add_argument("--tables", default="layers,graphs,threads", help="which of these")
    parser.add_argument("--threads", type=int, default=2, help="of the last table")
    parser.add_argument("--graph", action="append", default=[], help="a lowered graph for the last table, of qgc alone")
    parser.add_argument("--samples", help="write what the last table was made from into this file, as JSON")
    parser.add_argument("--keep", help="write the synthetic models into this directory, measure nothing")
    options = parser.parse_args()
    if options.keep:
        for name, kind, build in GRAPHS:
            build(kind).save(os.path.join(options.keep, name.lower().replace(" ", "-").replace("@", "") + ".onnx"))
        return
    with tempfile.TemporaryDirectory() as work:
        peak, tables = Process(BUILD / "bench-kernels", "native", "--serve"), options.tables.split(",")
        if "layers" in tables:
            layers(options, peak, work)
        if "graphs" in tables:
            graphs(options, peak, work)
        peak.close()
        if "threads" in tables:
            threads(options, work)


if __name__ == "__main__":
    main()
