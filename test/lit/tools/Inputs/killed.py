"""killed.py DIRECTORY NAME: runs that write a file again and again, with NAME.so preloaded, killed after random
times."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import npy

GRAPH = """form prepared
func @main(%x: f32[N,6]) -> (f32[N,6]) {
  %x.o = observe %x {spec = u8.affine.hist}
  %t = mul %x.o, %x.o
  %t.o = observe %t {spec = i8.sym.hist}
  return %t.o
}
"""
KILLS = 30


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def main():
    folder = pathlib.Path(sys.argv[1]) / sys.argv[2]
    folder.mkdir()
    environment = dict(os.environ, LD_PRELOAD=f"{folder}.so")
    state = random.Random(5)
    (folder / "p.qir").write_text(GRAPH)
    npy.write(folder / "x.npy", (150, 6), [state.gauss(0, 1) for _ in range(900)])
    command = ["qgc", "calibrate", folder / "p.qir", "--data", folder / "x.npy", "--resume", folder / "s.qir",
               "--checkpoint", "1", "-o", folder / "out.qir"]
    start = time.monotonic()
    subprocess.run(command, check=True, env=environment)
    usual = time.monotonic() - start
    whole = (folder / "out.qir").read_bytes()
    kills = seen = 0
    for _ in range(KILLS):
        process = subprocess.Popen(command, env=environment)
        time.sleep(state.uniform(0, usual))
        process.send_signal(signal.SIGKILL)
        kills += process.wait() != 0
        left = [name for name in names(folder) if ".tmp-" in name]
        seen += bool(left)
        if (folder / "out.qir").read_bytes() != whole:
            sys.exit("a part of the output is there")
        subprocess.run(["qgc", "opt", folder / "s.qir", "-o", "/dev/null"] if (folder / "s.qir").exists() else
                       ["true"], check=True)
    subprocess.run(command, check=True, env=environment)
    if names(folder) != ["out.qir", "p.qir", "x.npy"] or (folder / "out.qir").read_bytes() != whole:
        sys.exit(f"left after {kills} kills: {names(folder)}")
    if not kills:
        sys.exit("no run was killed")
    if seen:
        print("temporary files seen")
    print(f"{kills} kills, {seen} with a temporary file", file=sys.stderr)
    print("pass")


main()
