"""calibrate_memory.py DIRECTORY: peak memory with 10 samples and with 10,000, within 5 %."""
import os
import pathlib
import resource
import sys

import npy

GRAPH = """form prepared
func @main(%x: f32[N,8,32]) -> (f32[N,8,32]) {
  %x.o = observe %x {spec = u8.affine.hist}
  %y = neg %x.o
  %y.o = observe %y {spec = u8.affine.minmax}
  return %y.o
}
"""


def peak(folder, name):
    """KiB. The kernel counts the parent's memory at the fork too, so this process must stay small."""
    arguments = ["qgc", "calibrate", f"{folder}/p.qir", "--data", f"{folder}/{name}.npy", "-o", f"{folder}/{name}.qir"]
    process = os.posix_spawnp("qgc", arguments, os.environ)
    _, status, usage = os.wait4(process, 0)
    if status:
        sys.exit("qgc failed")
    return usage.ru_maxrss


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "p.qir").write_text(GRAPH)
    sample = [i / 7 - 18 for i in range(256)]
    for count in (10, 10000):
        npy.write_repeated(folder / f"n{count}.npy", (8, 32), sample, count)
    few, many = peak(folder, "n10"), peak(folder, "n10000")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if own > few * 0.9:
        sys.exit(f"this script has {own} KiB, nothing can be said about {few}")
    if many > few * 1.05:
        sys.exit(f"{few} KiB with 10 samples, {many} KiB with 10,000")
    print("pass")


main()
