"""resume.py DIRECTORY: a calibration that is killed again and again, and resumed, gives the bytes of one
that is not. Moving averages too, which depend on the order."""
import pathlib
import random
import signal
import subprocess
import sys
import time

import npy

SAMPLES = 600
GRAPH = """form prepared
func @main(%x: f32[N,6]) -> (f32[N,6]) {
  %x.o = observe %x {spec = u8.affine.avg}
  %a = call @f %x.o : f32[N,6]
  %b = call @f %a : f32[N,6]
  return %b
}
func @f(%y: f32[N,6]) -> (f32[N,6]) {
  %t = mul %y, %y
  %t.o = observe %t {spec = i8.sym.hist}
  %r = tanh %t.o
  %r.o = observe %r {spec = i8.sym.minmax}
  return %r.o
}
"""


def command(folder, out):
    return ["qgc", "calibrate", folder / "p.qir", "--data", folder / "x.npy", "--batch", "3", "-o", folder / out]


def stamp(path):
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def run_and_kill(arguments, state, checkpoints):
    """Waits for so many checkpoints, then kills; False where the run was done before."""
    process = subprocess.Popen(arguments)
    last, deadline = stamp(state), time.monotonic() + 60
    while checkpoints and process.poll() is None and time.monotonic() < deadline:
        now = stamp(state)
        checkpoints -= now not in (last, None)
        last = now
        time.sleep(0.0002)
    process.send_signal(signal.SIGKILL)
    return process.wait() != 0


def main():
    folder = pathlib.Path(sys.argv[1])
    random_state = random.Random(1)
    (folder / "p.qir").write_text(GRAPH)
    npy.write(folder / "x.npy", (SAMPLES, 6), [random_state.gauss(0, 1 + i // 300) for i in range(6 * SAMPLES)])
    subprocess.run(command(folder, "whole.qir"), check=True)
    state = folder / "state.qir"
    arguments = command(folder, "resumed.qir") + ["--resume", state, "--checkpoint", "1"]
    kills = 0
    while kills < 8 and run_and_kill(arguments, state, random_state.randint(1, 12)):
        kills += 1
    if kills:
        subprocess.run(arguments, check=True)
    if not kills:
        sys.exit("no run was killed")
    if (folder / "resumed.qir").read_bytes() != (folder / "whole.qir").read_bytes():
        sys.exit(f"other bytes after {kills} kills")
    if state.exists():
        sys.exit("the state is still there")
    print("pass")


main()
