"""Counts the quantize and dequantize steps that torchao makes of some of the conformance cases, and
compares them with what the tests in test/lit/conformance/pt2e/ expect.

    tools/peers-python tools/golden/pt2e_counts.py
"""
import collections
import pathlib
import re
import sys

import torch
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as inductor
from torchao.testing.pt2e import _xnnpack_quantizer as xnnpack

KINDS = ["q", "dq", "dqc", "choose", "q.t", "dq.t"]
TESTS = pathlib.Path(__file__).parents[2] / "test/lit/conformance/pt2e"


class Module(nn.Module):
    """Layers by name, and a function of them and the inputs."""

    def __init__(self, forward, **layers):
        super().__init__()
        self.run = forward
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, *inputs):
        return self.run(self, *inputs)


def quantizer_x(dynamic=False):
    config = xnnpack.get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
    return xnnpack.XNNPACKQuantizer().set_global(config)


def quantizer_i(matmul=False, dynamic=False):
    config = inductor.get_default_x86_inductor_quantization_config(is_dynamic=dynamic)
    quantizer = inductor.X86InductorQuantizer().set_global(config)
    if matmul:
        quantizer.set_function_type_qconfig(torch.matmul, quantizer.get_global_quantization_config())
    return quantizer


def count(module, inputs, quantizer):
    """What a test counts: steps after conversion with folded weights."""
    graph = torch.export.export(module.eval(), inputs, strict=True).module()
    prepared = prepare_pt2e(graph, quantizer)
    prepared(*inputs)
    numbers = collections.Counter(str(node.target) for node in convert_pt2e(prepared).graph.nodes)
    names = ["quantize_per_tensor.default", "dequantize_per_tensor.default", "dequantize_per_channel.default",
             "choose_qparams.tensor", "quantize_per_tensor.tensor", "dequantize_per_tensor.tensor"]
    return {kind: numbers["quantized_decomposed." + name] for kind, name in zip(KINDS, names)}


def conv(inputs=6, outputs=6, kernel=1):
    return nn.Conv2d(inputs, outputs, kernel, bias=False)




def attention(m, x):
    scores = torch.matmul(m.q(x), m.k(x).transpose(1, 2))
    return torch.matmul(torch.softmax(scores, -1), m.v(x))


def linears(*names):
    return {name: nn.Linear(4, 4) for name in names}


IMAGE, SMALL, ROWS = torch.rand(1, 6, 4, 4), torch.rand(1, 3, 6, 6), torch.rand(2, 4)

CASES = [
    ("xnnpack", "58 conv2d", Module(lambda m, x: m.c(x), c=conv(3, 6, 3)), (SMALL,), quantizer_x),
    ("xnnpack", "62 rank 2", Module(lambda m, x: m.b(m.a(x)), **linears("a", "b")), (ROWS,), quantizer_x),
    ("xnnpack", "63", Module(lambda m, x: torch.relu(m.a(x)), **linears("a")), (ROWS,), quantizer_x),
    ("xnnpack", "65", Module(lambda m, x: m.b(m.a(torch.permute(m.c(x), (0, 2, 3, 1)))), c=conv(3, 4, 3),
                             **linears("a", "b")), (SMALL,), quantizer_x),
    ("xnnpack", "67", Module(lambda m, x: torch.mean(m.h(m.p(m.c(x))), (2, 3)), c=conv(3, 6, 3),
                             p=nn.AdaptiveAvgPool2d((1, 1)), h=nn.Hardtanh()), (SMALL,), quantizer_x),
    ("xnnpack", "78", Module(lambda m, x, y: (x + y) + y), (ROWS, ROWS + 1), quantizer_x),
    ("xnnpack", "79", Module(lambda m, x, y: (x * y) * y), (ROWS, ROWS + 1), quantizer_x),
    ("xnnpack", "83", Module(lambda m, x: torch.cat([x, x], 1)), (ROWS,), quantizer_x),
    ("inductor", "85", Module(lambda m, x: m.c(x), c=conv(3, 6, 3)), (SMALL,), quantizer_i),
    ("inductor", "86 relu", Module(lambda m, x: m.p(m.r(m.c(x))), c=conv(3, 6, 3), r=nn.ReLU(),
                                   p=nn.MaxPool2d(2)), (SMALL,), quantizer_i),
    ("inductor", "87 one", Module(lambda m, x, y: m.c(x) + y, c=conv()), (IMAGE, IMAGE + 1), quantizer_i),
    ("inductor", "87 both", Module(lambda m, x: m.c(x) + m.d(x), c=conv(), d=conv()), (IMAGE,), quantizer_i),
    ("inductor", "89 both", Module(lambda m, x: m.r(m.c(x) + m.d(x)), c=conv(), d=conv(), r=nn.ReLU()),
     (IMAGE,), quantizer_i),
    ("inductor", "90", Module(lambda m, x: (lambda r: m.s(m.d(r) + r))(m.r((lambda a: m.b(a) + m.c(a))(m.a(x)))),
                              a=conv(), b=conv(), c=conv(), d=conv(), r=nn.ReLU(), s=nn.ReLU()), (IMAGE,), quantizer_i),
    ("inductor", "91 pow", Module(lambda m, x: torch.pow(m.p(m.c(x)), 2), c=conv(3, 6, 3), p=nn.MaxPool2d(2)),
     (SMALL,), quantizer_i),
    ("inductor", "91 adaptive", Module(lambda m, x: m.p(m.c(x)), c=conv(3, 6, 3), p=nn.AdaptiveAvgPool2d((1, 1))),
     (SMALL,), quantizer_i),
    ("inductor", "93", Module(lambda m, x: torch.flatten(m.c(x), 1).transpose(0, 1), c=conv(3, 6, 3)),
     (SMALL,), quantizer_i),
    ("inductor", "93 used", Module(lambda m, x: m.l(torch.flatten(m.c(x), 1)), c=conv(3, 6, 3), l=nn.Linear(96, 2)),
     (SMALL,), quantizer_i),
    ("inductor", "94", Module(lambda m, x: m.e(m.p(torch.cat([m.r(m.c(x)), m.d(x + 1)], 1))), c=conv(3, 6, 3),
                              d=conv(3, 6, 3), e=conv(12, 4), r=nn.ReLU(), p=nn.MaxPool2d(2)), (SMALL,), quantizer_i),
    ("inductor", "95", Module(lambda m, x: (lambda t: torch.cat([t, t], 1))(m.c(x)), c=conv(3, 6, 3)),
     (SMALL,), quantizer_i),
    ("inductor", "97", Module(lambda m, x: m.p(m.c(x)), c=conv(3, 6, 3), p=nn.AvgPool2d(2)), (SMALL,), quantizer_i),
    ("inductor", "99 gelu", Module(lambda m, x: m.g(m.a(x)), g=nn.GELU(), **linears("a")), (ROWS,), quantizer_i),
    ("inductor", "101", Module(lambda m, x: (lambda t: t + m.b(t))(m.a(x)), **linears("a", "b")), (ROWS,), quantizer_i),
    ("inductor", "102", Module(lambda m, x: m.r(m.a(m.r(m.a(x)))), r=nn.ReLU(), **linears("a")), (ROWS,), quantizer_i),
    ("inductor", "103", Module(lambda m, x: (lambda r: m.s(m.d(r) + r))(m.r((lambda a: m.b(a) + m.c(a))(m.a(x)))),
                               r=nn.ReLU(), s=nn.ReLU(), **linears("a", "b", "c", "d")), (ROWS,), quantizer_i),
    ("inductor", "117 off", Module(attention, **linears("q", "k", "v")), (torch.rand(2, 4, 4),), quantizer_i),
    ("inductor", "117 on", Module(attention, **linears("q", "k", "v")), (torch.rand(2, 4, 4),),
     lambda: quantizer_i(matmul=True)),
    ("dynamic", "74 rank 2", Module(lambda m, x: m.b(m.a(x)), **linears("a", "b")), (ROWS,),
     lambda: quantizer_x(dynamic=True)),
    ("dynamic", "74 rank 4", Module(lambda m, x: m.b(m.a(x)), **linears("a", "b")), (IMAGE,),
     lambda: quantizer_x(dynamic=True)),
    ("dynamic", "99 relu", Module(lambda m, x: m.r(m.a(x)), r=nn.ReLU(), **linears("a")), (ROWS,),
     lambda: quantizer_i(dynamic=True)),
    ("dynamic", "99 gelu", Module(lambda m, x: m.r(m.a(x)), r=nn.GELU(), **linears("a")), (ROWS,),
     lambda: quantizer_i(dynamic=True)),
    ("dynamic", "103", Module(lambda m, x: (lambda r: m.s(m.d(r) + r))(m.r((lambda a: m.b(a) + m.c(a))(m.a(x)))),
                              r=nn.ReLU(), s=nn.ReLU(), **linears("a", "b", "c", "d")), (ROWS,),
     lambda: quantizer_i(dynamic=True)),
    ("dynamic", "109", Module(lambda m, x: (m.a(x), m.b(x), m.c(x)), **linears("a", "b", "c")), (ROWS,),
     lambda: quantizer_i(dynamic=True)),
    ("inductor", "118 equal", Module(lambda m, x, y: x * y), (ROWS, ROWS + 1), quantizer_i),
]


def expected(file, case):
    """The numbers of the test, or where it differs on purpose those that it says PyTorch has."""
    text = (TESTS / f"{file}.qir").read_text()
    counts = re.search(rf"^// CHECK-LABEL: case {re.escape(case)}: (.*)$", text, re.M).group(1)
    note = re.search(rf"PyTorch has ([\w.]+ \d+).*\n// CASE {re.escape(case)}$", text, re.M)
    found = re.findall(r"([\w.]+) (\d+)", counts) + re.findall(r"([\w.]+) (\d+)", note.group(1) if note else "")
    return {**dict.fromkeys(KINDS, 0), **{kind: int(number) for kind, number in found}}


def text_of(numbers):
    return ", ".join(f"{kind} {number}" for kind, number in numbers.items())


def main():
    differing = 0
    for file, case, module, inputs, make in CASES:
        found, wanted = count(module, inputs, make()), expected(file, case)
        differing += found != wanted
        print(f"{file} {case}: torchao {text_of(found)}",
              "" if found == wanted else f"; the test expects {text_of(wanted)}", sep="")
    print(f"{len(CASES)} cases, {differing} differ")
    sys.exit(differing > 0)


main()
