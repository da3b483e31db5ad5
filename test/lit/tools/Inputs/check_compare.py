"""Holds `qgc compare` against the definitions: check_compare.py DIRECTORY

The graphs are quantize and dequantize of y = 2 x; every number of the row of y is computed here, from the
definitions in include/qgc/compare.h, with Python's floats.
"""
import csv
import json
import math
import struct
import subprocess
import sys

import npy

SCALE, ZERO_POINT = 0.125, 10
SAMPLES, WIDTH, BINS = 7, 6, 64


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def inputs():
    state = 12345
    for _ in range(SAMPLES * WIDTH):
        state = (state * 1103515245 + 12345) % 2**31
        yield f32(state / 2**31 * 24 - 6)


def graphs(here):
    head = "func @main(%x: f32[N,6]) -> (f32[N,6]) {\n  %k = const 2.0 : f32[]\n  %y = mul %x, %k : f32[N,6]\n"
    step = f"{{scale = {SCALE}, zero_point = {ZERO_POINT}}}"
    with open(f"{here}/a.qir", "w", encoding="utf-8") as out:
        out.write(f"{head}  return %y\n}}\n")
    with open(f"{here}/b.qir", "w", encoding="utf-8") as out:
        out.write(f"form quantized\n{head}  %y.q = quantize %y {step} : u8[N,6]\n"
                  f"  %y.dq = dequantize %y.q {step}\n  return %y.dq\n}}\n")


def histogram(values, low, width):
    bins = [0] * BINS
    for value in values:
        bins[min(max(int((value - low) // width), 0), BINS - 1)] += 1
    return bins


def db(signal, error):
    return 10 * math.log10(signal / error)


def expected(a):
    b = [(min(max(round(v / SCALE) + ZERO_POINT, 0), 255) - ZERO_POINT) * SCALE for v in a]
    errors = [q - v for q, v in zip(b, a)]
    low, high = -ZERO_POINT * SCALE - SCALE / 2, (255 - ZERO_POINT) * SCALE + SCALE / 2
    inside = [min(max(v, low), high) for v in a]
    signal, error = sum(v * v for v in a), sum(e * e for e in errors)
    row = {"count": len(a), "mse": error / len(a), "l1": sum(map(abs, errors)) / len(a),
           "max_abs": max(map(abs, errors)), "max_rel": max(abs(e) / abs(v) for e, v in zip(errors, a)),
           "max_steps": max(map(abs, errors)) / SCALE, "sqnr": db(signal, error),
           "cosine": sum(v * q for v, q in zip(a, b)) / math.sqrt(signal * sum(q * q for q in b)),
           "clipped": sum((i - v)**2 for i, v in zip(inside, a)) / len(a),
           "rounded": sum((q - i)**2 for q, i in zip(b, inside)) / len(a), "inherited": 0,
           "clipped_share": sum(i != v for i, v in zip(inside, a)) / len(a), "broken": 0,
           "min_a": min(a), "max_a": max(a), "min_b": min(b), "max_b": max(b), "step": SCALE, "zero_point": ZERO_POINT}
    channels = sorted(db(sum(v * v for v in a[c::WIDTH]), sum(e * e for e in errors[c::WIDTH])) for c in range(WIDTH))
    row["channel_sqnr"], row["worst_channel_sqnr"] = channels[WIDTH // 2], channels[0]
    start, width = min(a + b), (max(a + b) - min(a + b)) / BINS
    p, q = histogram(a, start, width), histogram(b, start, width)
    total = len(a) + BINS / 2
    row["kl"] = sum((x + .5) / total * math.log((x + .5) / (y + .5)) for x, y in zip(p, q))
    return row, errors


def check_close(name, found, wanted, tolerance=1e-6):
    if abs(found - wanted) > tolerance * max(1, abs(wanted)):
        sys.exit(f"{name}: found {found}, expected {wanted}")


def check(here, extra):
    files = ["-o", f"{here}/r.csv", "-o", f"{here}/r.json"]
    subprocess.run(["qgc", "compare", f"{here}/a.qir", f"{here}/b.qir", "--data", f"{here}/x.npy", "--worst", "7",
                    "--by", "mse", *files, *extra], check=True, stdout=subprocess.DEVNULL)
    a = [f32(2 * x) for x in inputs()]
    wanted, errors = expected(a)
    with open(f"{here}/r.csv", encoding="utf-8", newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["value"] == "@main.%y")
    with open(f"{here}/r.json", encoding="utf-8") as file:
        report = json.load(file)
    json_row = next(row for row in report["values"] if row["value"] == "@main.%y")
    for name, value in wanted.items():
        # a bin of the record may lie across two of the 64
        check_close(f"csv {name}", float(row[name]), value, 0.05 if name == "kl" else 1e-6)
        check_close(f"json {name}", json_row[name], float(row[name]))
    parts = sum(json_row[name] for name in ("clipped", "rounded", "inherited", "mixed"))
    check_close("parts", parts, json_row["mse"], 1e-8)
    by_sample = [sum(e * e for e in errors[i * WIDTH:][:WIDTH]) / WIDTH for i in range(SAMPLES)]
    worst = sorted(range(SAMPLES), key=lambda i: -by_sample[i])
    found = report["worst"][0]["samples"]
    if [sample["sample"] for sample in found] != worst:
        sys.exit(f"worst samples: found {found}, expected {worst}")
    for sample in found:
        check_close("sample", sample["mse"], by_sample[sample["sample"]])


def main():
    here = sys.argv[1]
    graphs(here)
    npy.write(f"{here}/x.npy", (SAMPLES, WIDTH), list(inputs()))
    for extra in ([], ["--batch", "3"], ["--engine", "ref", "--batch", "4"], ["--engine-b", "ref"]):
        check(here, extra)
    print("pass")


main()
