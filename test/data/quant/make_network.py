#!/usr/bin/env python3
"""Makes net.qir (a small float network) and the .npy files of this folder with NumPy, and
prints the ranges and parameters that tests expect. Run it after a change and commit the outcome."""
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
f32 = np.float32


def text(values):
    if values.ndim:
        return "[" + ", ".join(text(v) for v in values) + "]"
    return str(f32(values))


def conv(x, w, b):
    """3x3, padding 1; float64, so the last bits differ from qgc's."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = np.zeros((x.shape[0], w.shape[0], x.shape[2] - 2, x.shape[3] - 2))
    for i in range(3):
        for j in range(3):
            part = x[:, :, i:i + y.shape[2], j:j + y.shape[3]]
            y += np.einsum("nchw,oc->nohw", part, w[:, :, i, j].astype(np.float64))
    return y + b[None, :, None, None]


def affine(name, lo, hi):
    lo, hi = min(f32(lo), f32(0)), max(f32(hi), f32(0))
    scale = max((hi - lo) / f32(255), f32(2 ** -12))
    print(f"{name}: min {lo} max {hi} scale {scale} zero point {int(np.clip(-np.rint(lo / scale), 0, 255))}")


def main():
    rng = np.random.default_rng(4)
    w = np.round(rng.normal(size=(2, 1, 3, 3)) * [[[[0.4]]], [[[0.02]]]], 3).astype(f32)
    b = np.round(rng.normal(size=2) * 0.1, 3).astype(f32)
    v = np.round(rng.normal(size=(3, 18)) * 0.3, 3).astype(f32)
    samples = rng.normal(size=(16, 1, 6, 6)).astype(f32)
    images = rng.normal(size=(4, 1, 6, 6)).astype(f32)
    np.save(HERE / "samples.npy", samples)
    np.save(HERE / "images.npy", images)
    np.save(HERE / "special.npy", np.array([[1, 2], [4, 0], [np.nan, np.inf], [-np.inf, -2]], f32))
    (HERE / "net.qir").write_text(f"""// Made by make_network.py.
func @main(%x: f32[N,1,6,6]) -> (f32[N,3]) {{
  %w = const {text(w)} : f32[2,1,3,3]
  %b = const {text(b)} : f32[2]
  %c = conv2d %x, %w, %b {{padding = [1,1,1,1]}} : f32[N,2,6,6]
  %r = relu %c : f32[N,2,6,6]
  %p = max_pool %r {{kernel = [2,2], stride = [2,2]}} : f32[N,2,3,3]
  %f = flatten %p : f32[N,18]
  %v = const {text(v)} : f32[3,18]
  %y = linear %f, %v : f32[N,3]
  return %y
}}
""")
    c = conv(samples, w, b)
    r = np.maximum(c, 0)
    p = r.reshape(16, 2, 3, 2, 3, 2).max((3, 5))
    y = p.reshape(16, 18) @ v.T.astype(np.float64)
    for name, value in {"x": samples, "c": c, "r": r, "p": p, "y": y}.items():
        affine(name, value.min(), value.max())
    print("w scales", [f32(np.abs(row).max()) / f32(127) for row in w])
    print("v scales", [f32(np.abs(row).max()) / f32(127) for row in v])
    scale = np.array([f32(np.abs(row).max()) / f32(127) for row in w], f32)
    print("w", np.clip(np.rint(w * (1 / scale)[:, None, None, None]), -127, 127).astype(int).tolist())


main()
