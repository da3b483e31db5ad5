"""Writes .npy files with the standard library, and graphs that give their input (or nearly) as scores."""
import struct
import sys


def npy(path, code, shape, values):
    header = str({"descr": code, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    kind = {"<f4": "f", "<i8": "q"}[code]
    data = struct.pack(f"<{len(values)}{kind}", *values)
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


here = sys.argv[1]
nan = float("nan")
samples = [
    [5, 4, 3, 2, 1, 0],    # label 0: first
    [5, 4, 3, 2, 1, 0],    # label 5: sixth
    [1, 3, 3, 0, 0, nan],  # label 2: second, the tie goes to the earlier
    [nan, 0, 0, 0, 0, 3],  # label 5: first, NaN is lowest
]
npy(f"{here}/x.npy", "<f4", (4, 6), [v for row in samples for v in row])
npy(f"{here}/y.npy", "<i8", (4,), [0, 5, 2, 5])
npy(f"{here}/short.npy", "<i8", (2,), [0, 5])
npy(f"{here}/range.npy", "<i8", (4,), [0, 6, 2, 5])
graphs = {
    # NaN becomes 0, so that errors are numbers.
    "id": "  %z = const 0.0 : f32[]\n  %n = is_nan %x\n  %y = where %n, %z, %x\n",
    # The last column is lost: sample 3 has another winner and an error of 3.
    "half": "  %z = const 0.0 : f32[]\n  %n = is_nan %x\n  %w = where %n, %z, %x\n"
            "  %m = const [[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]] : f32[1,6]\n  %y = mul %w, %m\n",
    "wide": "  %y = concat [%x, %x] {axis = 1}\n",
}
for name, body in graphs.items():
    columns = 12 if name == "wide" else 6
    with open(f"{here}/{name}.qir", "w") as out:
        out.write(f"func @main(%x: f32[N,6]) -> (f32[N,{columns}]) {{\n{body}  return %y\n}}\n")
