#!/usr/bin/env python3
"""Makes suite/ort_*: one small network as ONNX Runtime's own tools quantize it, in each of their formats.
The expected outputs are ONNX Runtime's, without its optimizer: nodes run as they are written. Needs onnx and
onnxruntime: tools/peers-python test/data/onnx/make_quantized.py"""
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime import quantization

SUITE = pathlib.Path(__file__).parent / "suite"
RANDOM = np.random.default_rng(3)
SHAPE = ["N", 3, 12, 12]


def weight(name, *shape):
    return numpy_helper.from_array((RANDOM.standard_normal(shape) / 3).astype(np.float32), name)


def network():
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "stem/Conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c1"], ["r1"], "stem/Relu"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "body/Conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=8),
        helper.make_node("Add", ["c2", "r1"], ["a"], "body/Add"),
        helper.make_node("MaxPool", ["a"], ["p"], "body/MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["g"], "head/GlobalAveragePool"),
        helper.make_node("Flatten", ["g"], ["f"], "head/Flatten"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], "head/Gemm", transB=1)]
    tensors = [weight("w1", 8, 3, 3, 3), weight("b1", 8), weight("w2", 8, 1, 3, 3), weight("b2", 8),
               weight("w3", 5, 8), weight("b3", 5)]
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, SHAPE)]
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N", 5])]
    return helper.make_model(helper.make_graph(nodes, "small", inputs, outputs, tensors),
                             opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def samples(num):
    return RANDOM.standard_normal((num, *SHAPE[1:])).astype(np.float32)


class Reader(quantization.CalibrationDataReader):
    def __init__(self, batches):
        self.batches = iter(batches)

    def get_next(self):
        batch = next(self.batches, None)
        return None if batch is None else {"x": batch}


def write_case(name, model, x):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    folder = SUITE / f"ort_{name}"
    (folder / "test_data_set_0").mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, value in [("input", x), ("output", session.run(None, {"x": x})[0])]:
        data = numpy_helper.from_array(value, f"{kind}_0").SerializeToString()
        (folder / "test_data_set_0" / f"{kind}_0.pb").write_bytes(data)


def main():
    model, batches, x = network(), [samples(16) for _ in range(4)], samples(20)
    with tempfile.TemporaryDirectory() as work:
        path, result = f"{work}/float.onnx", f"{work}/quantized.onnx"
        onnx.save(model, path)
        for name in ("QDQ", "QOperator"):
            quantization.quantize_static(path, result, Reader(batches), per_channel=True, quant_format=quantization.QuantFormat[name])
            write_case(name.lower(), onnx.load(result), x)
        quantization.quantize_dynamic(path, result)
        write_case("dynamic", onnx.load(result), x)


if __name__ == "__main__":
    main()
