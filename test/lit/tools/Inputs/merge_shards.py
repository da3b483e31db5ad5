"""merge_shards.py DIRECTORY: any split of the samples into shards, merged in any order and by any tree,
gives the bytes of one run. Seeds are fixed."""
import pathlib
import random
import subprocess
import sys

import npy

SAMPLES, WIDTH = 80, 6
GRAPH = """form prepared
func @main(%x: f32[N,6]) -> (f32[N,6]) {
  %x.o = observe %x {spec = u8.affine.hist}
  %a = call @f %x.o : f32[N,6]
  %b = call @f %a : f32[N,6]
  return %b
}
func @f(%y: f32[N,6]) -> (f32[N,6]) {
  %t = mul %y, %y
  %t.o = observe %t {spec = i8.sym.hist}
  %r = sub %t.o, %y
  %r.o = observe %r {spec = i8.sym.minmax}
  return %r.o
}
"""


def value(random_state):
    kind = random_state.random()
    if kind < 0.1:
        return 0.0
    if kind < 0.13:
        return random_state.choice([float("nan"), float("inf"), -float("inf"), -0.0])
    return random_state.gauss(0, 1) * 10 ** random_state.uniform(-6, 3)


def qgc(*arguments):
    subprocess.run(["qgc", *map(str, arguments), "--quiet"], check=True)


def calibrate(folder, name, samples):
    npy.write(folder / f"{name}.npy", (len(samples), WIDTH), [v for s in samples for v in s])
    qgc("calibrate", folder / "p.qir", "--data", folder / f"{name}.npy", "-o", folder / f"{name}.qir")
    return folder / f"{name}.qir"


def merge_all(folder, files, state):
    """Merges random groups until one file is left."""
    count = 0
    while len(files) > 1:
        size = state.randint(2, len(files))
        group = state.sample(files, size)
        count += 1
        out = folder / f"m{count}.qir"
        qgc("stats", "merge", *group, "-o", out)
        files = [f for f in files if f not in group] + [out]
    return files[0]


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "p.qir").write_text(GRAPH)
    for seed, shards in enumerate([1, 2, 3, 7, 64]):
        state = random.Random(seed)
        samples = [[value(state) for _ in range(WIDTH)] for _ in range(SAMPLES)]
        whole = calibrate(folder, "whole", samples)
        state.shuffle(samples)
        cuts = sorted(state.sample(range(1, SAMPLES), shards - 1))
        parts = [samples[a:b] for a, b in zip([0] + cuts, cuts + [SAMPLES])]
        files = [calibrate(folder, f"part{i}", part) for i, part in enumerate(parts)]
        merged = merge_all(folder, files, state)
        if merged.read_bytes() != whole.read_bytes():
            sys.exit(f"{shards} shards give other bytes")
    print("pass")


main()
