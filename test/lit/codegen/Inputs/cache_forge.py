"""cache_forge.py ENTRY names|text|half: the entry's object becomes another whose size and hash are right: an ELF file without the
functions that are looked for, no ELF file, half of one."""
import ctypes
import ctypes.util
import struct
import sys


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
xxhash.XXH3_128bits.restype = Hash
xxhash.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

with open(sys.argv[1], "rb") as entry:
    header, body = bytearray(entry.read(64)), entry.read()
body = {"names": body.replace(b"kernel", b"colone"), "text": b"no object " * 50, "half": body[: len(body) // 2]}[sys.argv[2]]
value = xxhash.XXH3_128bits(body, len(body))
header[24:32] = struct.pack("<Q", len(body))
header[32:48] = struct.pack("<QQ", value.low, value.high)
with open(sys.argv[1], "wb") as entry:
    entry.write(header + body)
