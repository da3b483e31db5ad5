"""difference.py A.npy B.npy LIMIT: fails where two f32 arrays differ in shape, or by more than LIMIT
anywhere. Prints the largest difference. The standard library only."""
import ast
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + size].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    body = data[10 + size:]
    return header["shape"], struct.unpack(f"<{len(body) // 4}f", body)


(shape_a, a), (shape_b, b) = read(sys.argv[1]), read(sys.argv[2])
largest = max(abs(x - y) for x, y in zip(a, b))
print(f"largest difference {largest:g}")
sys.exit(shape_a != shape_b or not largest <= float(sys.argv[3]))
