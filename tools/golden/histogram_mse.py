#!/usr/bin/env python3
"""Data and torchao's answers for test/unit/histogram_mse.c: whose histogram quantizes better?

usage: tools/peers-python tools/golden/histogram_mse.py -o test/data/golden/histogram_mse.npz [--values N]

Values are activations of the models in models/ on the calibration pictures, and draws from known
distributions. Of each, N values are kept (default 3000; 0: all), and torchao's HistogramObserver sees
exactly these, in eight batches. For the case NAME the file has
  NAME            f32 [n]   the values
  NAME:QUANT      f32 [2]   scale and zero point, for each QUANT of QUANTS (min, max, scheme)
"""
import argparse
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import torch
from torchao.quantization.pt2e.observer import HistogramObserver

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools" / "demo-models"))
import pictures  # noqa: E402

SEED, BATCHES, EPS = 20240229, 8, 2.0**-12
# name: type, explicit bounds or None, scheme
QUANTS = {
    "i8.affine": (torch.int8, None, torch.per_tensor_affine),
    "i8.symmetric": (torch.int8, (-127, 127), torch.per_tensor_symmetric),
    "u8.affine.7bit": (torch.uint8, (0, 127), torch.per_tensor_affine),
    "i8.affine.4bit": (torch.int8, (-8, 7), torch.per_tensor_affine),
}
# Of each model, the outputs of the nodes whose position among those of their op is listed.
CHOSEN = {
    "resnet": {"Conv": [0, 5], "BatchNormalization": [0, 4], "Relu": [0, 2, 8], "Add": [3],
               "GlobalAveragePool": [0], "Gemm": [0]},
    "mobilenet": {"BatchNormalization": [3, 10], "HardSwish": [0, 4, 9, 10], "HardSigmoid": [0, 3],
                  "Mul": [0, 2], "Add": [2]},
    "encoder": {"Conv": [0], "LayerNormalization": [0, 5], "MatMul": [0, 3, 10], "Softmax": [0, 2],
                "Mul": [3], "Erf": [1], "Gemm": [0]},
}


def activations(name):
    """Pairs of a case's name and all values of one activation on the calibration pictures."""
    model = onnx.load(ROOT / "models" / f"{name}.onnx")
    seen, outputs = {}, {}
    for node in model.graph.node:
        position = seen[node.op_type] = seen.get(node.op_type, -1) + 1
        if position in CHOSEN[name].get(node.op_type, ()):
            outputs[node.output[0]] = f"{name}/{node.op_type}_{position}"
    known = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=output) for output in outputs if output not in known)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    images = pictures.read_idx(ROOT / "models" / "fashion-calibration-256-images-idx3-ubyte.gz")
    results = session.run(list(outputs), {"pictures": images})
    yield from zip(outputs.values(), (result.ravel() for result in results))


def draws(count):
    """Pairs of a case's name and values from a distribution."""
    generator = np.random.default_rng(SEED)
    normal = generator.standard_normal
    yield "drawn/gaussian", normal(count)
    yield "drawn/laplace", generator.laplace(size=count)
    yield "drawn/relu", np.maximum(normal(count), 0)
    yield "drawn/uniform", generator.uniform(-1, 3, count)
    yield "drawn/bimodal", np.where(generator.random(count) < 0.3, -4 + 0.2 * normal(count), 3 + normal(count))
    yield "drawn/outliers", normal(count) * np.where(generator.random(count) < 0.002, 40, 1)
    yield "drawn/far_outlier", np.append(normal(count - 1), 200)
    yield "drawn/student_t", generator.standard_t(2, count)
    yield "drawn/lognormal", generator.lognormal(0, 1.5, count)
    yield "drawn/offset", 100 + normal(count)
    yield "drawn/tiny", 1e-3 * normal(count)


def observed(values, dtype, bounds, scheme):
    limits = {} if bounds is None else {"quant_min": bounds[0], "quant_max": bounds[1]}
    observer = HistogramObserver(dtype=dtype, qscheme=scheme, eps=EPS, **limits)
    for batch in np.array_split(values, BATCHES):
        observer(torch.from_numpy(batch))
    scale, zero_point = observer.calculate_qparams()
    return np.array([scale.item(), zero_point.item()], np.float32)


def cases(count):
    generator = np.random.default_rng(SEED)
    for name in CHOSEN:
        for case, values in activations(name):
            if 0 < count < len(values):
                values = values[np.sort(generator.choice(len(values), count, replace=False))]
            yield case, values
    yield from draws(count or 100000)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--values", type=int, default=3000)
    args = parser.parse_args()
    torch.set_num_threads(1)
    arrays = {}
    for case, values in cases(args.values):
        values = np.ascontiguousarray(values, np.float32)
        arrays[case] = values
        for quant, arguments in QUANTS.items():
            arrays[f"{case}:{quant}"] = observed(values, *arguments)
        print(f"{case}: {len(values)} values in [{values.min():.4g}, {values.max():.4g}]", flush=True)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.output, **arrays)


main()
