"""scale_npy.py IN FACTOR OUT: an f32 .npy file of version 1, its values multiplied."""
import struct
import sys

data = open(sys.argv[1], "rb").read()
begin = 10 + struct.unpack_from("<H", data, 8)[0]
values = struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])
scaled = struct.pack(f"<{len(values)}f", *(v * float(sys.argv[2]) for v in values))
open(sys.argv[3], "wb").write(data[:begin] + scaled)
