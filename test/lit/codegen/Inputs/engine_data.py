"""engine_data.py DIRECTORY: random inputs x1.npy and x700.npy, f32[N,96]."""
import array
import random
import sys

random.seed(1)
for rows in (1, 700):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 96), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(f"{sys.argv[1]}/x{rows}.npy", "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        out.write(array.array("f", [random.gauss(0, 1) for _ in range(rows * 96)]).tobytes())
