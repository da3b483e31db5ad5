"""kill_quantize.py DIRECTORY: qgc quantize --resume, killed after random times and run again, gives the bytes of
whole.qir, which one undisturbed run has made of n.qir and x.npy."""
import pathlib
import random
import signal
import subprocess
import sys
import time

folder = pathlib.Path(sys.argv[1])
arguments = ["qgc", "quantize", folder / "n.qir", "--data", folder / "x.npy", "--engine=ref", "--resume",
             folder / "k.qir", "--checkpoint", "1", "-o", folder / "killed.qir"]
state = random.Random(3)
start = time.monotonic()
subprocess.run(arguments, check=True)
usual = time.monotonic() - start
kills = 0
for _ in range(12):
    (folder / "killed.qir").unlink(missing_ok=True)
    for _ in range(3):
        process = subprocess.Popen(arguments)
        time.sleep(state.uniform(0, usual))
        process.send_signal(signal.SIGKILL)
        if process.wait():
            kills += 1
            written = folder / "killed.qir"
            if written.exists() and written.read_bytes() != (folder / "whole.qir").read_bytes():
                sys.exit("a part of the output is there")
    subprocess.run(arguments, check=True)
    if (folder / "killed.qir").read_bytes() != (folder / "whole.qir").read_bytes():
        sys.exit(f"other bytes after {kills} kills")
    if (folder / "k.qir").exists():
        sys.exit("the state is still there")
if not kills:
    sys.exit("no run was killed")
print("pass")
