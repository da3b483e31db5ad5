"""compare_memory.py DIRECTORY: peak memory with 100 samples and with 10,000, within 5 %."""
import os
import pathlib
import resource
import sys

import npy

GRAPH = """func @main(%x: f32[N,8,32]) -> (f32[N,8,32]) {
  %y = neg %x
  return %y
}
"""
QUANTIZED = """form quantized
func @main(%x: f32[N,8,32]) -> (f32[N,8,32]) {
  %y = neg %x
  %y.q = quantize %y {scale = 0.2, zero_point = 100} : u8[N,8,32]
  %y.dq = dequantize %y.q {scale = 0.2, zero_point = 100}
  return %y.dq
}
"""


def peak(folder, name):
    """KiB. The kernel counts the parent's memory at the fork too, so this process must stay small."""
    arguments = ["qgc", "compare", f"{folder}/a.qir", f"{folder}/b.qir", "--data", f"{folder}/{name}.npy", "--batch", "10",
                 "-o", f"{folder}/{name}.json"]
    quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    process = os.posix_spawnp("qgc", arguments, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(process, 0)
    if status:
        sys.exit("qgc failed")
    return usage.ru_maxrss


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "a.qir").write_text(GRAPH)
    (folder / "b.qir").write_text(QUANTIZED)
    sample = [i / 7 - 18 for i in range(256)]
    for count in (100, 10000):
        npy.write_repeated(folder / f"n{count}.npy", (8, 32), sample, count)
    few, many = peak(folder, "n100"), peak(folder, "n10000")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if own > few * 0.9:
        sys.exit(f"this script has {own} KiB, nothing can be said about {few}")
    if many > few * 1.05:
        sys.exit(f"{few} KiB with 100 samples, {many} KiB with 10,000")
    print("pass")


main()
