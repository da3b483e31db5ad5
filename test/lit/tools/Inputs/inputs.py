"""Data of a graph with two inputs, as one file and as one for each: inputs.py DIRECTORY"""
import gzip
import os
import struct
import sys

import numpy as np

NET = """func @main(%a: f32[{n},8], %b: f32[{n},8]) -> (f32[{n},8]) {{
  %w = const {w} : f32[8,8]
  %l = linear %a, %w
  %y = add %l, %b
  return %y
}}
"""
SUM = """func @main(%a: f32[N,8]) -> (f32[1,8]) {
  %y = reduce_sum %a {axes = [0]}
  return %y
}
"""
BAD = """eval() { qgc eval net.qir --against net.qir "$@"; code=$?; [ $code -gt 1 ] || echo exit $code; }
eval --input a=a.npy --input b=short.npy
eval --data a.npy
eval --input a=a.npy
eval --input aa=a.npy --input b=b.npy
eval --input a=a.npy --input a=b.npy --input b=b.npy
eval --data both.npz --input a=a.npy
eval --input a=a.npy --input b=both.npz
eval --input a
eval --input =a.npy
eval --input a=
eval --input a=a.npy --input b=missing.npy
eval --input a=a.npy --input b=b64.npy
eval
eval --data both.npz --shard 3/3
eval --data both.npz --first x
eval --data both.npz --first 40
"""

def write_idx(path, array):
    with gzip.open(path, "wb") as out:
        out.write(struct.pack(">BBBB", 0, 0, 0x0D, array.ndim))
        out.write(struct.pack(">" + "I" * array.ndim, *array.shape))
        out.write(array.astype(">f4").tobytes())


def main():
    os.chdir(sys.argv[1])
    w = (np.eye(8) * 0.5 + np.eye(8, k=1) * 0.25).tolist()
    for name, text in {
        "net.qir": NET.format(n="N", w=w),
        "fixed.qir": NET.format(n=5, w=w),
        "sum.qir": SUM,
        "bad": BAD,
    }.items():
        with open(name, "w") as out:
            out.write(text)
    random = np.random.default_rng(4)
    a = random.normal(size=(40, 8)).astype(np.float32)
    b = random.normal(size=(40, 8)).astype(np.float32)
    np.savez("both.npz", a=a, b=b)
    np.savez("of_b.npz", other=b)
    np.savez("only_a.npz", a=a)
    np.save("a.npy", a)
    np.save("b.npy", b)
    np.save("short.npy", b[:30])
    np.save("b64.npy", b.astype(np.float64))
    write_idx("b-ubyte.gz", b)
    os.mkdir("parts")
    for i in range(4):
        np.save(f"parts/{i}.npy", b[10 * i:10 * i + 10])


main()
