#!/usr/bin/env python3
"""Writes pictures of several kinds and what Pillow and NumPy make of them: pictures.py FOLDER, then the driver runs, then pictures.py FOLDER check."""
import pathlib
import sys
import zlib

import numpy as np
from PIL import Image

IDENTITY = "func @main(%x: {type}) -> ({type}) {{\n  %y = identity %x\n  return %y\n}}\n"
MEAN, STD = np.float64([0.485, 0.456, 0.406]), np.float64([0.229, 0.224, 0.225])


def normal(pixels):
    return ((pixels / 255.0 - MEAN) / STD).astype(np.float32)


def shrink(picture, width, height):
    return np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR))


def middle(pixels, size):
    top, left = (round((n - size) / 2.0) for n in pixels.shape[:2])
    return pixels[top : top + size, left : left + size]


def nchw(pixels):
    return np.moveaxis(pixels, -1, 0)[None]


# name: (file, --image, graph's type, what it becomes, steps of 8 bits that resizing may be off)
CASES = {
    "plain": ("rgb.png", "dtype=u8", "u8[1,3,37,53]", lambda p: nchw(np.asarray(p)), 0),
    "default": ("rgb.png", None, "f32[1,3,37,53]", lambda p: nchw((np.asarray(p) / 255.0).astype("f4")), 0),
    "photo": ("photo.jpg", "dtype=u8,layout=nhwc", "u8[1,45,61,3]", lambda p: np.asarray(p)[None], 0),
    "bgr": ("photo.jpg", "dtype=u8,color=bgr", "u8[1,3,45,61]", lambda p: nchw(np.asarray(p)[..., ::-1]), 0),
    "gray": ("gray.png", "dtype=u8,color=gray,layout=nhw", "u8[1,20,31]", lambda p: np.asarray(p)[None], 0),
    "gray3": ("gray.png", "dtype=u8", "u8[1,3,20,31]", lambda p: nchw(np.asarray(p.convert("RGB"))), 0),
    "palette": ("palette.png", "dtype=u8", "u8[1,3,37,53]", lambda p: nchw(np.asarray(p.convert("RGB"))), 0),
    "normal": ("rgb.png", "mean=0.485/0.456/0.406,std=0.229/0.224/0.225", "f32[1,3,37,53]",
               lambda p: nchw(normal(np.asarray(p))), 0),
    "raw": ("rgb.png", "scale=1,mean=127.5", "f32[1,3,37,53]", lambda p: nchw((np.asarray(p) - 127.5).astype("f4")), 0),
    "shrunk": ("rgb.png", "dtype=u8,size=11x17", "u8[1,3,11,17]", lambda p: nchw(shrink(p, 17, 11)), 1),
    "grown": ("rgb.png", "dtype=u8,size=90", "u8[1,3,90,90]", lambda p: nchw(shrink(p, 90, 90)), 1),
    "resized": ("rgb.png", "dtype=u8,resize=24,crop=21", "u8[1,3,21,21]",
                lambda p: nchw(middle(shrink(p, 24 * 53 // 37, 24), 21)), 1),
    "cropped": ("photo.jpg", "dtype=u8,crop=20x33", "u8[1,3,20,33]",
                lambda p: nchw(np.asarray(p)[round(25 / 2) :][:20, 14:47]), 0),
}


def make(folder):
    rng = np.random.default_rng(7)
    y, x = np.mgrid[0:45, 0:61]
    smooth = np.stack([120 + 100 * np.sin(x / 9), 128 + 90 * np.cos(y / 7), 2 * x + y], -1)
    noise = rng.integers(0, 256, (37, 53, 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "rgb.png")
    Image.fromarray(noise).quantize(16).save(folder / "palette.png")
    Image.fromarray(np.clip(smooth, 0, 255).astype(np.uint8)).save(folder / "photo.jpg", quality=90)
    Image.fromarray(noise[:20, :31, 0]).save(folder / "gray.png")
    (folder / "set").mkdir()
    for i in range(5):
        Image.fromarray(rng.integers(0, 256, (12, 10, 3), dtype=np.uint8)).save(folder / "set" / f"{i}.png")
    stacked = [nchw(np.asarray(Image.open(folder / "set" / f"{i}.png"))) for i in range(5)]
    np.save(folder / "set.npy", (np.concatenate(stacked) / 255.0).astype(np.float32))
    for file in ("rgb.png", "photo.jpg"):
        data = (folder / file).read_bytes()
        (folder / f"cut.{file}").write_bytes(data[: len(data) * 2 // 3])
        (folder / f"head.{file}").write_bytes(data[:20])
    huge = bytearray((folder / "rgb.png").read_bytes())
    huge[16:24] = b"\x00\x01\x00\x00\x00\x01\x00\x00"

    huge[29:33] = zlib.crc32(huge[12:29]).to_bytes(4, "big")
    (folder / "huge.png").write_bytes(huge)
    lines = []
    for name, (file, image, type, _, _) in CASES.items():
        (folder / f"{name}.qir").write_text(IDENTITY.format(type=type))
        option = f"--image '{image}' " if image else ""
        lines.append(f"qgc run {name}.qir --input x={file} {option}-o {name}.npy")
    (folder / "commands").write_text("set -e\n" + "\n".join(lines) + "\n")


def check(folder):
    for name, (file, _, _, expected, steps) in CASES.items():
        found = np.load(folder / f"{name}.npy")
        want = expected(Image.open(folder / file))
        assert found.shape == want.shape and found.dtype == want.dtype, (name, found.shape, want.shape)
        off = np.abs(found.astype("f8") - want).max()
        assert off <= steps, (name, off)
        print(name, "is right")


folder = pathlib.Path(sys.argv[1])
check(folder) if sys.argv[2:] == ["check"] else make(folder)
