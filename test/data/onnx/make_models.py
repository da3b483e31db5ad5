#!/usr/bin/env python3
"""Makes the ONNX models of this folder, well-formed and hostile, with a small protobuf encoder of our
own: the broken ones are what a real encoder refuses to write. Run it after a change and commit the outcome."""
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL = 1, 2, 3, 6, 7, 8, 9
PACK = {FLOAT: "f", UINT8: "B", INT8: "b", INT32: "i", INT64: "q", BOOL: "?"}


# ---- protobuf ----------------------------------------------------------------------------------

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytearray([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def piece(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def real(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


# ---- ONNX --------------------------------------------------------------------------------------

def tensor(name, dims, data, kind=FLOAT, raw=True):
    """|data|: a list of numbers, or the raw bytes."""
    if not isinstance(data, bytes):
        data = struct.pack(f"<{len(data)}{PACK[kind]}", *data)
    body = b"".join(number(1, d) for d in dims) + number(2, kind) + piece(8, name)
    return body + (piece(9, data) if raw else piece({FLOAT: 4, INT64: 7}[kind], data))


def external(name, dims, **entries):
    pairs = b"".join(piece(13, piece(1, key) + piece(2, str(value))) for key, value in entries.items())
    return b"".join(number(1, d) for d in dims) + number(2, FLOAT) + piece(8, name) + pairs + number(14, 1)


def value(name, dims, kind=FLOAT):
    shape = b"".join(piece(1, number(1, d) if isinstance(d, int) else piece(2, d) if d else b"") for d in dims)
    return piece(1, name) + piece(2, piece(1, number(1, kind) + piece(2, shape)))


def attribute(name, what):
    if isinstance(what, int):
        return piece(1, name) + number(3, what) + number(20, 2)
    if isinstance(what, float):
        return piece(1, name) + real(2, what) + number(20, 1)
    if isinstance(what, str):
        return piece(1, name) + piece(4, what) + number(20, 3)
    if isinstance(what, list):
        return piece(1, name) + b"".join(number(8, i) for i in what) + number(20, 7)
    kind, data = what
    return piece(1, name) + piece({"tensor": 5, "graph": 6}[kind], data) + number(20, {"tensor": 4, "graph": 5}[kind])


def node(op, inputs, outputs, name="", domain="", **attributes):
    body = b"".join(piece(1, i) for i in inputs) + b"".join(piece(2, o) for o in outputs)
    body += piece(3, name) if name else b""
    body += piece(4, op) + b"".join(piece(5, attribute(k, v)) for k, v in attributes.items())
    return body + (piece(7, domain) if domain else b"")


def graph(nodes, inputs=(), outputs=(), initializers=()):
    return (b"".join(piece(1, n) for n in nodes) + piece(2, "g") + b"".join(piece(5, t) for t in initializers)
            + b"".join(piece(11, v) for v in inputs) + b"".join(piece(12, v) for v in outputs))


def model(body, opset=13, domains=()):
    opsets = [piece(8, piece(1, "") + number(2, opset))] + [piece(8, piece(1, d) + number(2, 1)) for d in domains]
    return number(1, 7) + piece(7, body) + b"".join(opsets)


X, Y = value("x", ["N", 4]), value("y", ["N", 4])


def one(node_bytes, initializers=(), inputs=(X,), outputs=(Y,), **options):
    return model(graph([node_bytes], inputs, outputs, initializers), **options)


def good():
    weights = tensor("w", [4, 8], [i / 8 for i in range(32)])
    bias = tensor("b", [8], [0.5] * 8, raw=False)
    linear = graph([node("MatMul", ["x", "w"], ["t"], "/stem/proj/MatMul"),
                    node("Add", ["t", "b"], ["s"], "/stem/proj/Add"),
                    node("Relu", ["s"], ["y"], "/stem/Relu")],
                   [X], [value("y", ["N", 8])], [weights, bias])
    yield "linear", model(linear)
    yield "names", model(graph([node("Relu", ["a b"], ["/t.1"]), node("Relu", ["/t.1"], ["y\"\n"])],
                               [value("a b", ["batch size", "2*k", -1])], [value("y\"\n", ["?"])]))
    then = graph([node("Neg", ["x"], ["t"])], outputs=[value("t", [None])])
    other = graph([node("Abs", ["x"], ["t"])], outputs=[value("t", [None])])
    condition = tensor("c", [], [True], BOOL)
    branches = {"then_branch": ("graph", then), "else_branch": ("graph", other)}
    yield "if_constant", one(node("If", ["c"], ["y"], **branches), [condition])
    yield "if_live", one(node("If", ["c"], ["y"], "choice", **branches), inputs=[X, value("c", [], BOOL)])
    asks = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]), node("Equal", ["n", "one"], ["c"]),
            node("If", ["c"], ["y"], "choice", **branches)]
    yield "if_shape", model(graph(asks, [X], [Y], [tensor("zero", [], [0], INT64), tensor("one", [], [1], INT64)]))
    looks = [node("ReduceMax", ["x"], ["m"], keepdims=0), node("Greater", ["m", "zero"], ["c"]),
             node("If", ["c"], ["y"], "choice", **branches)]
    yield "if_data", model(graph(looks, [X], [Y], [tensor("zero", [], [0.0])]))
    yield "two_outputs", model(graph([node("Relu", ["x"], ["y"]), node("Identity", ["y"], ["z"]),
                                      node("Identity", ["x"], ["same"])], [X], [Y, value("z", ["N", 4]), value("same", ["N", 4])]))
    yield "external", one(node("Add", ["x", "w"], ["y"]),
                          [external("w", [4], location="external.bin", offset=4, length=16)])
    shape = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
             node("Unsqueeze", ["n", "axes"], ["n1"]), node("Concat", ["n1", "rest"], ["target"], axis=0),
             node("Reshape", ["x", "target"], ["y"])]
    yield "shape_arithmetic", model(graph(shape, [value("x", ["N", 4, "W"])], [value("y", ["N", None])],
                                          [tensor("zero", [], [0], INT64), tensor("axes", [1], [0], INT64),
                                           tensor("rest", [1], [-1], INT64)]))


def refused():
    yield "refused", model(graph([node("Frobnicate", ["x"], ["t"], "first", domain="com.acme"),
                                  node("Relu", ["t"], ["u"]), node("Frob", ["u"], ["v"], "second"),
                                  node("Loop", ["v"], ["y"], "third")], [X], [Y]), domains=["com.acme"])
    spectra = [node("DFT", ["s", "far"], ["a"]), node("DFT", ["n"], ["b"]), node("STFT", ["s", "zero", "", "far"], ["c"]),
               node("STFT", ["s", "step", "", "far"], ["d"]), node("MelWeightMatrix", ["bins", "bins", "bins", "low", "high"], ["e"]),
               node("MelWeightMatrix", ["far", "far", "far", "low", "low"], ["f"]), node("Det", ["m"], ["g"]),
               node("MaxUnpool", ["m", "i"], ["h"])]
    yield "refused_signal", model(graph(
        spectra, [value("s", [1, 40, 1]), value("n", [1, "N", 1]), value("step", [], INT64), value("m", [2, 4, 4]),
                  value("i", [2, 4, 4], INT64)], [value(name, [None]) for name in "abcdefgh"],
        [tensor("far", [], [1 << 30], INT64), tensor("zero", [], [0], INT64), tensor("bins", [], [16], INT64),
         tensor("low", [], [0.0]), tensor("high", [], [40.0])]), opset=17)
    yield "opset_too_new", one(node("Relu", ["x"], ["y"]), opset=99)
    yield "op_too_new", one(node("Mish", ["x"], ["y"]), opset=12)
    yield "no_opset", number(1, 7) + piece(7, graph([node("Relu", ["x"], ["y"])], [X], [Y]))
    yield "unknown_attribute", one(node("Relu", ["x"], ["y"], slope=0.5))
    yield "string_input", one(node("Relu", ["x"], ["y"]), inputs=[value("x", ["N"], STRING)])
    yield "no_shape", one(node("Relu", ["x"], ["y"]), inputs=[piece(1, "x") + piece(2, piece(1, number(1, FLOAT)))])


def hostile():
    relu = node("Relu", ["x"], ["y"])
    yield "truncated", one(relu)[:-30]
    yield "not_protobuf", b"\xff" * 64
    yield "no_graph", number(1, 7)
    yield "negative_dimension", one(node("Add", ["x", "w"], ["y"], "sum"), [tensor("w", [-4], b"\0" * 16)])
    yield "byte_count", one(node("Add", ["x", "w"], ["y"]), [tensor("w", [4], b"\0" * 15)])
    yield "element_count", one(node("Add", ["x", "w"], ["y"]), [tensor("w", [4], [1, 2, 3], raw=False)])
    yield "huge_claim", one(node("Add", ["x", "w"], ["y"]), [tensor("w", [1 << 29, 4], b"\0" * 16)])
    yield "overflow", one(node("Add", ["x", "w"], ["y"]), [tensor("w", [1 << 40, 1 << 40], b"\0" * 16)])
    yield "overflow_hidden", one(node("Add", ["x", "w"], ["y"]), [tensor("w", [0, 1 << 40, 1 << 40], b"")])
    yield "input_too_large", one(relu, inputs=[value("x", [1 << 40, 1 << 40])])
    yield "input_negative", one(relu, inputs=[value("x", [-2])])
    yield "high_rank", one(node("Add", ["x", "w"], ["y"]), [tensor("w", [1] * 9, [1.0])])
    yield "cycle", model(graph([node("Add", ["x", "b"], ["a"], "one"), node("Relu", ["a"], ["b"], "two")], [X],
                               [value("b", ["N", 4])]))
    yield "self_loop", one(node("Add", ["x", "y"], ["y"]))
    yield "undefined", one(node("Add", ["x", "nothing"], ["y"], "sum"))
    yield "undefined_output", model(graph([], [X], [Y]))
    yield "defined_twice", model(graph([relu, node("Neg", ["x"], ["y"])], [X], [Y]))
    yield "input_twice", one(relu, inputs=[X, X])
    yield "initializer_twice", one(relu, [tensor("w", [1], [1.0]), tensor("w", [1], [2.0])])
    yield "no_op", one(node("", ["x"], ["y"]))
    yield "external_outside", one(node("Add", ["x", "w"], ["y"]), [external("w", [4], location="../npy.npy")])
    yield "external_absolute", one(node("Add", ["x", "w"], ["y"]), [external("w", [4], location="/etc/passwd")])
    yield "external_missing", one(node("Add", ["x", "w"], ["y"]), [external("w", [4], location="nothing.bin")])
    yield "external_far", one(node("Add", ["x", "w"], ["y"]),
                              [external("w", [4], location="external.bin", offset=(1 << 63) - 4)])
    yield "external_short", one(node("Add", ["x", "w"], ["y"]),
                                [external("w", [1 << 28], location="external.bin")])
    yield "external_negative", one(node("Add", ["x", "w"], ["y"]),
                                   [external("w", [4], location="external.bin", offset=-8)])
    deep = b""
    for _ in range(40):
        deep = graph([node("If", [], [], then_branch=("graph", deep))])
    yield "deep", model(deep)
    yield "bad_bool", one(node("If", ["c"], ["y"]), [tensor("c", [], b"\x02", BOOL)])


def write_case(name, model_bytes, inputs, outputs):
    """A case as the standard's suite has them; |inputs|, |outputs|: arguments of tensor()."""
    folder = HERE / "suite" / name
    (folder / "test_data_set_0").mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model_bytes)
    for kind, tensors in [("input", inputs), ("output", outputs)]:
        for index, arguments in enumerate(tensors):
            (folder / "test_data_set_0" / f"{kind}_{index}.pb").write_bytes(tensor(*arguments))


def qlinear():
    """ONNX Runtime's QLinearAdd and QGemm; the outputs are what ONNX Runtime 1.23 gives."""
    scalars = [("as", 0.02), ("bs", 0.013), ("ys", 0.05), ("gs", 0.1)]
    zeros = [("az", 10), ("bz", 100), ("yz", 30), ("gz", 120)]
    weights = [tensor(n, [], [v]) for n, v in scalars] + [tensor(n, [], [v], UINT8) for n, v in zeros]
    weights += [tensor("w", [2, 4], [1, -2, 3, 4, 5, 6, -7, 8], INT8), tensor("ws", [2], [0.01, 0.02]),
                tensor("wz", [2], [0, 0], INT8), tensor("bias", [2], [100, -50], INT32)]
    add = node("QLinearAdd", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["s"], "add", "com.microsoft")
    gemm = node("QGemm", ["s", "ys", "yz", "w", "ws", "wz", "bias", "gs", "gz"], ["y"], "gemm", "com.microsoft",
                transB=1)
    body = graph([add, gemm], [value("a", ["N", 4], UINT8), value("b", ["N", 4], UINT8)],
                 [value("s", ["N", 4], UINT8), value("y", ["N", 2], UINT8)], weights)
    inputs = [("a", [2, 4], [0, 100, 200, 255, 10, 11, 12, 13], UINT8),
              ("b", [2, 4], [255, 3, 77, 128, 100, 101, 99, 200], UINT8)]
    outputs = [("s", [2, 4], [66, 41, 100, 135, 30, 31, 31, 57], UINT8), ("y", [2, 2], [124, 125, 121, 122], UINT8)]
    write_case("qlinear", model(body, domains=["com.microsoft"]), inputs, outputs)


def make_cases():
    write_case("relu", one(node("Relu", ["x"], ["y"])), [("x", [1, 4], [-1, 2, -3, 4])], [("y", [1, 4], [0, 2, 0, 4])])
    qlinear()


def main():
    make_cases()
    (HERE / "external.bin").write_bytes(struct.pack("<5f", -1, 1, 2, 3, 4))
    for name, data in [*good(), *refused(), *hostile()]:
        (HERE / f"{name}.onnx").write_bytes(data)


if __name__ == "__main__":
    main()
