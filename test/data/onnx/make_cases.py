#!/usr/bin/env python3
"""Makes suite/opset*_*: cases of opsets 18 to 21, which the standard's suite in Debian does not reach, and of
what it has with inputs only that a converter takes as constants. The expected outputs are ONNX Runtime's. Needs onnx and onnxruntime (the environment of tools/compare-onnx has
both): build/compare-venv/bin/python test/data/onnx/make_cases.py"""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

SUITE = pathlib.Path(__file__).parent / "suite"
RANDOM = np.random.default_rng(18)


def f32(*shape):
    return (RANDOM.integers(-16, 17, shape) / 8).astype(np.float32)


def i64(*numbers):
    return np.array(numbers, np.int64)


X = f32(2, 4, 5, 6)
U8 = RANDOM.integers(0, 256, (3, 4)).astype(np.uint8)
I32 = RANDOM.integers(-99, 99, (3, 4)).astype(np.int32)
UNIT = np.array([0.5, 2, 0.25, 4], np.float32)

# (opset, name, op, inputs, outputs, attributes); a tuple ("const", array) is an initializer.
CASES = [
    (18, "bitwise_and", "BitwiseAnd", [I32, I32[::-1].copy()], 1, {}),
    (18, "bitwise_or", "BitwiseOr", [I32, I32[0]], 1, {}),
    (18, "bitwise_xor", "BitwiseXor", [U8, U8[:, :1]], 1, {}),
    (18, "bitwise_not", "BitwiseNot", [I32], 1, {}),
    (18, "mish", "Mish", [X], 1, {}),
    (18, "reduce_max_axes", "ReduceMax", [X, ("const", i64(1, -1))], 1, {"keepdims": 0}),
    (18, "reduce_mean_run_time_axes", "ReduceMean", [X, i64(2)], 1, {}),
    (18, "reduce_l2_noop", "ReduceL2", [X, ("const", i64())], 1, {"noop_with_empty_axes": 1}),
    (18, "reduce_log_sum_exp_all", "ReduceLogSumExp", [X], 1, {}),
    (18, "split_num_outputs", "Split", [X], 3, {"axis": 2, "num_outputs": 3}),
    (18, "pad_axes", "Pad", [X, ("const", i64(1, 0, 2, 1)), ("const", np.float32(1.5)), ("const", i64(-1, 1))], 1, {}),
    (18, "pad_reflect", "Pad", [X, ("const", i64(0, 0, 2, 1, 0, 0, 1, 2))], 1, {"mode": "reflect"}),
    (19, "pad_wrap", "Pad", [X, ("const", i64(0, 0, 2, 1, 0, 0, 1, 2))], 1, {"mode": "wrap"}),
    (18, "resize_axes", "Resize", [X, None, ("const", np.array([2, 0.5], np.float32))], 1,
     {"axes": [3, 2], "mode": "linear"}),
    (18, "resize_sizes", "Resize", [X, None, None, ("const", i64(2, 4, 7, 9))], 1, {"mode": "cubic"}),
    (19, "resize_symmetric", "Resize", [X, None, ("const", np.array([1, 1, 0.7, 1.3], np.float32))], 1,
     {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}),
    (18, "group_norm", "GroupNormalization", [X, ("const", UNIT[:2]), ("const", UNIT[2:])], 1, {"num_groups": 2}),
    (21, "group_norm", "GroupNormalization", [X, ("const", UNIT), ("const", UNIT[::-1].copy())], 1, {"num_groups": 2}),
    (18, "scatter_elements_max", "ScatterElements", [f32(3, 4), i64(0, 2, 1, 0, 0, 1).reshape(2, 3), f32(2, 3)], 1,
     {"axis": 1, "reduction": "max"}),
    (18, "scatter_nd_min", "ScatterND", [f32(4, 3), i64(1, 3, 1).reshape(3, 1), f32(3, 3)], 1, {"reduction": "min"}),
    (18, "lp_pool", "LpPool", [X], 1, {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    (19, "average_pool_dilated", "AveragePool", [X], 1, {"kernel_shape": [2, 2], "dilations": [2, 3]}),
    (19, "average_pool_ceil", "AveragePool", [X], 1, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    (19, "reshape_allowzero", "Reshape", [f32(0, 3), ("const", i64(3, 0))], 1, {"allowzero": 1}),
    (19, "equal", "Equal", [I32, I32[0]], 1, {}),
    (19, "quantize", "QuantizeLinear", [X, ("const", np.float32(0.0625)), ("const", np.int8(3))], 1, {}),
    (19, "dequantize_axis", "DequantizeLinear", [U8, ("const", UNIT), ("const", np.arange(4, dtype=np.uint8))], 1, {"axis": 1}),
    (20, "gelu", "Gelu", [X], 1, {}),
    (20, "gelu_tanh", "Gelu", [X], 1, {"approximate": "tanh"}),
    (20, "reduce_max_bool", "ReduceMax", [X > 0, ("const", i64(1))], 1, {}),
    (20, "grid_sample_linear", "GridSample", [X, f32(2, 3, 2, 2) / 2], 1, {"mode": "linear", "padding_mode": "border"}),
    (20, "is_inf", "IsInf", [np.array([np.inf, -np.inf, 1, np.nan], np.float32)], 1, {"detect_negative": 0}),
    (21, "quantize_i16", "QuantizeLinear", [X, ("const", np.float32(0.001)), ("const", np.int16(-5))], 1, {}),
    (21, "shape_part", "Shape", [X], 1, {"start": 1, "end": -1}),
    (21, "cast_f16", "Cast", [X], 1, {"to": onnx.TensorProto.FLOAT16}),
    (21, "squeeze", "Squeeze", [f32(1, 3, 1), ("const", i64(-1))], 1, {}),
    (21, "transpose", "Transpose", [X], 1, {"perm": [3, 1, 0, 2]}),
    (17, "stft", "STFT", [f32(2, 40, 1), ("const", np.int64(6)), ("const", UNIT.repeat(4)), ("const", np.int64(16))], 1, {}),
    (17, "stft_two_sided", "STFT", [f32(1, 30, 1), ("const", np.int64(4)), ("const", np.ones(10, np.float32)), ("const", np.int64(10))], 1, {"onesided": 0}),
    (17, "dft_onesided", "DFT", [f32(2, 12, 1), ("const", np.int64(9))], 1, {"onesided": 1, "axis": 1}),
    (17, "dft_complex", "DFT", [f32(2, 5, 3, 2), ("const", np.int64(8))], 1, {"axis": 1}),
    (20, "dft_inverse", "DFT", [f32(3, 6, 2), None, ("const", np.int64(0))], 1, {"inverse": 1}),
    (17, "mel", "MelWeightMatrix", [("const", np.int64(8)), ("const", np.int64(64)), ("const", np.int64(16000)),
                                    ("const", np.float32(50)), ("const", np.float32(7000))], 1, {}),
    (11, "det_3", "Det", [f32(2, 3, 3)], 1, {}),
    (11, "max_unpool", "MaxUnpool", [f32(1, 2, 2, 3), np.array([0, 8, 4, 12, 14, 22, 25, 33, 29, 43, 45, 47], np.int64).reshape(1, 2, 2, 3)], 1,
     {"kernel_shape": [2, 2], "strides": [2, 2]}),
    (17, "com.microsoft.QuantizeLinear", "com.microsoft.QuantizeLinear",
     [X, ("const", np.float32(0.001)), ("const", np.uint16(30000))], 1, {}),
    (17, "com.microsoft.DequantizeLinear", "com.microsoft.DequantizeLinear",
     [U8, ("const", UNIT), ("const", np.arange(4, dtype=np.uint8))], 1, {"axis": 1}),
]


def make(opset, name, op, inputs, num_outputs, attributes):
    names = [f"x{index}" if value is not None else "" for index, value in enumerate(inputs)]
    constants = {n: value[1] for n, value in zip(names, inputs) if isinstance(value, tuple)}
    given = {n: value for n, value in zip(names, inputs) if n and n not in constants}
    outputs = [f"y{index}" for index in range(num_outputs)]
    domain, _, op = op.rpartition(".")
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, domain=domain, **attributes)], name,
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in given.items()],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])], ir_version=9)
    model = onnx.shape_inference.infer_shapes(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    results = session.run(outputs, given)
    if op in ("DFT", "STFT"):  # noise in place of 0
        results = [np.where(np.abs(result) < 1e-4, np.float32(0), result) for result in results]
    folder = SUITE / f"opset{opset}_{name}"
    (folder / "test_data_set_0").mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values in [("input", given.values()), ("output", results)]:
        for index, value in enumerate(values):
            data = numpy_helper.from_array(value, f"{kind}_{index}").SerializeToString()
            (folder / "test_data_set_0" / f"{kind}_{index}.pb").write_bytes(data)


def main():
    for case in CASES:
        try:
            make(*case)
        except Exception as error:  # what ONNX Runtime lacks
            print(f"{case[1]}: {str(error)[:200]}")


if __name__ == "__main__":
    main()
