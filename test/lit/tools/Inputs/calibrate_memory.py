"""calibrate_memory.py DIRECTORY: peak memory with 10 samples and with 10,000, within 5 %, of each kind of file."""
import gzip
import os
import pathlib
import resource
import struct
import sys
import zipfile

import npy

GRAPH = """form prepared
func @main(%x: f32[N,8,32]) -> (f32[N,8,32]) {
  %x.o = observe %x {spec = u8.affine.hist}
  %y = neg %x.o
  %y.o = observe %y {spec = u8.affine.minmax}
  return %y.o
}
"""


SAMPLE = [i / 7 - 18 for i in range(256)]


def write_npy(path, count):
    npy.write_repeated(path, (8, 32), SAMPLE, count)


def write_fortran(path, count):
    """Column by column: each has one element of all samples."""
    header = str({"descr": "<f4", "fortran_order": True, "shape": (count, 8, 32)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for column in range(32):
            for row in range(8):
                out.write(struct.pack("<f", SAMPLE[row * 32 + column]) * count)


def write_npz(path, count):
    write_npy(path.with_suffix(".npy"), count)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        out.write(path.with_suffix(".npy"), "x.npy")


def write_safetensors(path, count):
    """The data is not aligned."""
    header = b'{"x":{"dtype":"F32","shape":[%d,8,32],"data_offsets":[0,%d]}}' % (count, 1024 * count)
    header += b" " * (-len(header) % 4 + 1)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header)
        for _ in range(count):
            out.write(struct.pack("<256f", *SAMPLE))


def write_idx(out, count):
    out.write(struct.pack(">HBB3I", 0, 0x0D, 3, count, 8, 32))
    for _ in range(count):
        out.write(struct.pack(">256f", *SAMPLE))


def write_plain_idx(path, count):
    with open(path, "wb") as out:
        write_idx(out, count)


def write_gzip_idx(path, count):
    with gzip.open(path, "wb", 1) as out:
        write_idx(out, count)


KINDS = {
    ".npy": write_npy,
    ".fortran.npy": write_fortran,
    ".npz": write_npz,
    ".safetensors": write_safetensors,
    ".idx": write_plain_idx,
    ".idx.gz": write_gzip_idx,
}


def peak(folder, name):
    """KiB. The kernel counts the parent's memory at the fork too, so this process must stay small."""
    arguments = ["qgc", "calibrate", f"{folder}/p.qir", "--data", f"{folder}/{name}", "-o", f"{folder}/out.qir"]
    process = os.posix_spawnp("qgc", arguments, os.environ)
    _, status, usage = os.wait4(process, 0)
    if status:
        sys.exit("qgc failed")
    return usage.ru_maxrss


def check(folder, ending, write):
    for count in (10, 10000):
        write(folder / f"n{count}{ending}", count)
    few, many = peak(folder, f"n10{ending}"), peak(folder, f"n10000{ending}")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if own > few * 0.9:
        sys.exit(f"this script has {own} KiB, nothing can be said about {few}")
    if many > few * 1.05:
        sys.exit(f"{ending}: {few} KiB with 10 samples, {many} KiB with 10,000")
    result = (folder / "out.qir").read_text()
    statistics = "".join(line for line in result.splitlines(True) if line.startswith("stats"))
    print(f"{ending} {'count = 2560000' in statistics}")
    return statistics


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "p.qir").write_text(GRAPH)
    if len({check(folder, ending, write) for ending, write in KINDS.items()}) != 1:
        sys.exit("the statistics differ")
    print("pass")


main()
