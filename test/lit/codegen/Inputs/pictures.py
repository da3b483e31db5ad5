#!/usr/bin/env python3
"""The first COUNT pictures of an IDX file as bytes (PREFIX.raw) and as an array (PREFIX.npy).

usage: pictures.py IMAGES.gz COUNT PREFIX"""
import gzip
import struct
import sys

with gzip.open(sys.argv[1]) as file:
    _, _, height, width = struct.unpack(">4i", file.read(16))
    count = int(sys.argv[2])
    data = file.read(count * height * width)
head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({count}, {height}, {width}), }}"
head += " " * (-(10 + len(head) + 1) % 64) + "\n"
with open(sys.argv[3] + ".raw", "wb") as out:
    out.write(data)
with open(sys.argv[3] + ".npy", "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
