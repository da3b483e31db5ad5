"""Writes f32 .npy files with the standard library."""
import struct


def write(path, shape, values):
    write_repeated(path, shape[1:], values, 1, shape[0])


def write_repeated(path, shape, values, count, first=None):
    """The values |count| times; the first dimension is the count where it is not given."""
    shape = (first or count, *shape)
    header = str({"descr": "<f4", "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        data = struct.pack(f"<{len(values)}f", *values)
        for _ in range(count):
            out.write(data)
