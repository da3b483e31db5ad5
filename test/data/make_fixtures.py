#!/usr/bin/env python3
"""Makes the files of this folder with NumPy and the standard library. Run it after a change and commit
the outcome; with --check FILE.npz|.npy|.safetensors it prints what a file holds instead, for looking at
what qgc wrote."""
import gzip
import json
import pathlib
import struct
import sys
import warnings
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).parent
NPY_TYPES = "f4 f2 f8 i1 u1 i2 u2 i4 u4 i8 u8 b1".split()
SAFE_TYPES = {"F32": "f4", "F16": "f2", "BF16": "u2", "F64": "f8", "I8": "i1", "U8": "u1", "I16": "i2",
              "U16": "u2", "I32": "i4", "U32": "u4", "I64": "i8", "U64": "u8", "BOOL": "b1"}


def counting(kind, shape):
    """Elements 0, 1, 2, ... in row-major order (modulo 2 for bool)."""
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return (values % 2 if kind == "b1" else values).astype(kind)


def make_npy():
    for kind in NPY_TYPES:
        np.save(HERE / f"{kind}.npy", counting(kind, (2, 3)))
    np.save(HERE / "scalar.npy", np.float32(2.5))
    np.save(HERE / "empty.npy", np.zeros((0, 3), "f4"))
    np.save(HERE / "vector.npy", counting("f4", (10,)))
    np.save(HERE / "big_endian.npy", counting("f4", (2, 3)).astype(">f4"))
    np.save(HERE / "fortran.npy", np.asfortranarray(counting("i4", (2, 3, 4))))
    np.save(HERE / "fortran_big.npy", np.asfortranarray(counting("i2", (3, 5)).astype(">i2")))
    for version in (2, 3):
        with open(HERE / f"version{version}.npy", "wb") as out:
            np.lib.format.write_array(out, counting("f4", (2, 3)), version=(version, 0))
    np.save(HERE / "complex.npy", np.zeros(2, "c8"))
    np.save(HERE / "record.npy", np.zeros(2, [("a", "f4"), ("b", "i4")]))


def put(archive, name, data):
    info = zipfile.ZipInfo(name)  # dated 1980: the same bytes each time
    info.compress_type = archive.compression
    archive.writestr(info, data)


def patch_size(name, size):
    """Overwrites the uncompressed size in the directory entry of the only file."""
    data = bytearray((HERE / name).read_bytes())
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24:directory + 28] = struct.pack("<I", size)
    (HERE / name).write_bytes(data)


def make_npz():
    npy = (HERE / "f4.npy").read_bytes()
    arrays = {"x": counting("f4", (5, 2)), "y": counting("i8", (5,)), "flag": counting("b1", (5, 3))}
    np.savez(HERE / "stored.npz", **arrays)
    arrays["x"] = np.asfortranarray(arrays["x"])
    arrays["y"] = arrays["y"].astype(">i8")
    np.savez_compressed(HERE / "deflated.npz", **arrays)
    with zipfile.ZipFile(HERE / "bzip2.npz", "w", zipfile.ZIP_BZIP2) as out:
        put(out, "x.npy", npy)
    with zipfile.ZipFile(HERE / "other_entry.npz", "w") as out:
        put(out, "readme.txt", "text")
    warnings.simplefilter("ignore")  # of the name given twice
    with zipfile.ZipFile(HERE / "twice.npz", "w") as out:
        put(out, "x.npy", npy)
        put(out, "x.npy", npy)
    with zipfile.ZipFile(HERE / "short_entry.npz", "w", zipfile.ZIP_DEFLATED) as out:
        put(out, "x.npy", npy[:-4])
    with zipfile.ZipFile(HERE / "not_npy.npz", "w", zipfile.ZIP_DEFLATED) as out:
        put(out, "x.npy", "no array")
    with zipfile.ZipFile(HERE / "empty.npz", "w"):
        pass
    # Directories that lie: about inflated bytes, and about stored ones.
    with zipfile.ZipFile(HERE / "missing.npz", "w", zipfile.ZIP_DEFLATED) as out:
        put(out, "x.npy", npy[:-4])
    patch_size("missing.npz", len(npy))
    with zipfile.ZipFile(HERE / "two_sizes.npz", "w") as out:
        put(out, "x.npy", npy)
    patch_size("two_sizes.npz", len(npy) + 4)
    np.savez(HERE / "uneven.npz", x=counting("f4", (4, 2)), y=counting("i8", (3,)),
             flag=counting("b1", (4, 3)))
    # A bomb: a few bytes that claim a gigabyte, in the header and in the archive's directory.
    header = npy[:128].replace(b"(2, 3), }", b"(268435456,), }".ljust(9))[:128]
    with zipfile.ZipFile(HERE / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as out:
        put(out, "x.npy", header)
    patch_size("bomb.npz", 128 + (1 << 30))


def make_idx():
    images = counting("u1", (7, 2, 3))
    plain = struct.pack(">BBBBIII", 0, 0, 8, 3, *images.shape) + images.tobytes()
    (HERE / "images-idx3-ubyte").write_bytes(plain)
    (HERE / "images-idx3-ubyte.gz").write_bytes(gzip.compress(plain, mtime=0))
    (HERE / "members-idx3-ubyte.gz").write_bytes(
        gzip.compress(plain[:20], mtime=0) + gzip.compress(plain[20:], mtime=0))
    (HERE / "short-idx3-ubyte.gz").write_bytes(gzip.compress(plain[:-3], mtime=0))
    for code, kind in ((9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")):
        values = counting(kind, (2, 3)).astype(">" + kind)
        head = struct.pack(">BBBBII", 0, 0, code, 2, 2, 3)
        (HERE / f"{kind}.idx").write_bytes(head + values.tobytes())


def safetensors(entries, metadata=None):
    """As the reference library lays a file out: by falling alignment, then by name."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, kind, array in entries:
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def make_safetensors():
    order = sorted(SAFE_TYPES, key=lambda kind: -np.dtype(SAFE_TYPES[kind]).itemsize)
    entries = [(kind.lower(), kind, counting(SAFE_TYPES[kind], (2, 3))) for kind in order]
    entries.append(("scalar", "F32", np.array(2.5, "f4")))
    entries.insert(0, ("empty", "F32", np.zeros((0, 4), "f4")))
    # The scalar at the end does not lie at a multiple of 4: 24 single bytes stand before it.
    (HERE / "all.safetensors").write_bytes(safetensors(entries, metadata={"format": "pt"}))
    odd = [("a", "U8", counting("u1", (3,))), ("b", "F32", counting("f4", (2, 2)))]
    (HERE / "unaligned.safetensors").write_bytes(safetensors(odd))
    batch = [("x", "F32", counting("f4", (5, 2))), ("y", "I64", counting("i8", (5,)))]
    (HERE / "batch.safetensors").write_bytes(safetensors(batch))
    weights = [("w", "F32", np.array([[1, 2], [3, 4]], "f4")), ("b", "F32", np.array([0.5, -0.5], "f4"))]
    (HERE / "weights.safetensors").write_bytes(safetensors(weights))


def make_folder():
    folder = HERE / "parts"
    folder.mkdir(exist_ok=True)
    for i, (begin, end) in enumerate(((0, 3), (3, 3), (3, 4), (4, 10))):
        np.save(folder / f"{i}.npy", counting("f4", (10, 2))[begin:end])


def check(path):
    if path.endswith(".safetensors"):
        data = pathlib.Path(path).read_bytes()
        size, = struct.unpack("<Q", data[:8])
        for name, entry in json.loads(data[8:8 + size]).items():
            begin, end = entry["data_offsets"]
            array = np.frombuffer(data[8 + size + begin:8 + size + end], SAFE_TYPES[entry["dtype"]])
            print(name, entry["dtype"], array.reshape(entry["shape"]).tolist())
        return
    loaded = np.load(path)
    for name in getattr(loaded, "files", [""]):
        array = loaded[name] if name else loaded
        print(name, array.dtype, array.tolist())


if len(sys.argv) == 3 and sys.argv[1] == "--check":
    check(sys.argv[2])
else:
    for make in (make_npy, make_npz, make_idx, make_safetensors, make_folder):
        make()
