#!/usr/bin/env python3
"""Fashion-MNIST as Debian's dataset-fashion-mnist installs it, and the slices kept in models/.

usage: pictures.py -o models [--data FOLDER]     writes the slices
"""
import argparse
import gzip
import pathlib
import struct

import numpy as np

FOLDER = "/usr/share/datasets/fashion-mnist"
NUM_CLASSES = 10


def read_idx(path):
    """A u8 IDX file in gzip."""
    data = gzip.decompress(pathlib.Path(path).read_bytes())
    rank = data[3]
    if data[:3] != b"\0\0\x08":
        raise SystemExit(f"{path}: not an IDX file of u8")
    shape = struct.unpack(f">{rank}I", data[4:4 + 4 * rank])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape).copy()


def read(folder, part):
    """Pictures [N, 28, 28] and labels [N] of "train" or "t10k"."""
    return (read_idx(f"{folder}/{part}-images-idx3-ubyte.gz"), read_idx(f"{folder}/{part}-labels-idx1-ubyte.gz"))


def write_idx(path, array):
    """The same bytes for the same array: no name, no time."""
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    pathlib.Path(path).write_bytes(gzip.compress(header + array.tobytes(), 9, mtime=0))


def balanced(labels, per_class):
    """Indices of the first pictures of each class, in file order."""
    return np.sort(np.concatenate([np.flatnonzero(labels == label)[:per_class] for label in range(NUM_CLASSES)]))


def write_slice(folder, name, images, labels, chosen):
    write_idx(folder / f"{name}-images-idx3-ubyte.gz", images[chosen])
    write_idx(folder / f"{name}-labels-idx1-ubyte.gz", labels[chosen])
    print(f"{name}: {len(chosen)} pictures, per class {np.bincount(labels[chosen]).tolist()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--data", default=FOLDER)
    args = parser.parse_args()
    images, labels = read(args.data, "t10k")
    write_slice(args.output, "fashion-500", images, labels, balanced(labels, 50))
    images, labels = read(args.data, "train")
    write_slice(args.output, "fashion-calibration-256", images, labels, np.arange(256))


if __name__ == "__main__":
    main()
