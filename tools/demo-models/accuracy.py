#!/usr/bin/env python3
"""Top-1 and top-5 of ONNX models by ONNX Runtime.

usage: accuracy.py MODEL.onnx... [--data FOLDER]

For each model: the 10,000 test images, and the 500 of models/.
"""
import argparse
import pathlib

import numpy as np
import onnxruntime

import pictures

SLICE = pathlib.Path(__file__).resolve().parents[2] / "models" / "fashion-500"


def logits(path, images):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: images[i:i + 500]})[0] for i in range(0, len(images), 500)])


def top(scores, labels, k):
    """Share of labels among the k greatest scores; of equal scores the first counts as greater."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return 100.0 * (order == labels[:, None]).any(1).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", default=pictures.FOLDER)
    args = parser.parse_args()
    sets = [pictures.read(args.data, "t10k"),
            (pictures.read_idx(f"{SLICE}-images-idx3-ubyte.gz"), pictures.read_idx(f"{SLICE}-labels-idx1-ubyte.gz"))]
    for path in args.models:
        for images, labels in sets:
            scores = logits(path, images)
            print(f"{path}: {len(labels)} images, top-1 {top(scores, labels, 1):.2f} %, "
                  f"top-5 {top(scores, labels, 5):.2f} %")


main()
