"""Scores as samples of graphs that give them back, their labels, and pictures in folders: labels.py DIRECTORY"""
import os
import sys

import numpy as np
from PIL import Image

IDENTITY = "func @main(%x: f32[{dims}]) -> (f32[{dims}]) {{\n  %y = identity %x\n  return %y\n}}\n"
SHAPES = {
    "tokens": (6, 5, 7),  # samples, positions, classes
    "pixels": (6, 4, 3, 5),  # samples, classes, height, width
    "last": (6, 3, 5, 4),  # samples, height, width, classes
    "pooled": (6, 7, 1, 1),
    "one": (6, 1, 3, 5),
}
AXES = {"tokens": 2, "pixels": 1, "last": 3, "pooled": 1, "one": 1}
COLORS = {"bag": (255, 0, 0), "a-boot": (0, 255, 0), "Coat": (0, 0, 255)}  # Coat < a-boot < bag


def write_scores():
    random = np.random.default_rng(5)
    for name, shape in SHAPES.items():
        axis = AXES[name]
        scores = random.normal(size=shape).astype(np.float32)
        with open(f"{name}.qir", "w") as out:
            out.write(IDENTITY.format(dims="N," + ",".join(map(str, shape[1:]))))
        labels = scores.argmax(axis=axis)
        labels[0] = scores.argmin(axis=axis)[0]  # the first sample is wrong
        np.save(f"{name}.npy", scores)
        np.save(f"{name}.labels.npy", labels)
    np.save("list.npy", np.zeros(6, np.int64))
    np.save("other.npy", np.zeros((6, 4), np.int32))
    np.save("high.npy", np.full((6, 5), 7))


def write_linear(name, positions, classes):
    """Exact as well, and there is something to quantize."""
    shape = f"f32[N,{positions},{classes}]"
    with open(name, "w") as out:
        out.write(f"func @main(%x: {shape}) -> ({shape}) {{\n"
                  f"  %w = const {np.eye(classes).tolist()} : f32[{classes},{classes}]\n"
                  "  %y = linear %x, %w\n  return %y\n}\n")


def write_pictures():
    for name, color in COLORS.items():
        os.makedirs(f"set/{name}/inner")
        for i in range(2):
            Image.new("RGB", (1, 1), color).save(f"set/{name}/{i}.png")
        Image.new("RGB", (1, 1), color).save(f"set/{name}/inner/2.png")
    with open("colors.qir", "w") as out:
        out.write(IDENTITY.format(dims="N,3,1,1"))
    np.save("right.npy", np.repeat([2, 1, 0], 3))  # Coat is blue


def main():
    os.chdir(sys.argv[1])
    write_scores()
    write_linear("linear.qir", 5, 7)
    write_linear("single.qir", 4, 1)
    np.save("single.npy", np.ones((6, 4, 1), np.float32))
    write_pictures()


main()
