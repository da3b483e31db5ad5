"""Quantizes each graph of a file and counts what PyTorch's tests count.

    run_cases.py FILE DIRECTORY

Sections of FILE are separated by `// -----`. One is a graph with comments:

    // CASE 58 conv2d           what it is called
    // RULE quantizer pt2e-x    lines of a rules file; none: the graph is annotated already
    // PARTIAL                  steps that the graph holds already stay

Printed for each: `case NAME: q N, dq N, dqc N` (quantize; dequantize per tensor and per channel,
constants' among them; `choose`, `q.t` and `dq.t` behind them where ranges are chosen while running),
the observers as `  VALUE: SPEC`, and the converted graph. Or
`case NAME: refused: MESSAGE` where a step fails. Data are numbers from -1 to 1.
"""
import collections
import pathlib
import re
import struct
import subprocess
import sys
import zipfile


class Refused(Exception):
    pass


def qgc(*arguments):
    done = subprocess.run(["qgc", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode < 0 or done.returncode > 3:
        sys.exit(f"qgc ended with {done.returncode}: {done.stderr}")
    if done.returncode:
        raise Refused(re.sub(r"^.*?error: ", "", done.stderr.splitlines()[0]))
    return done.stdout


def npy(shape, seed, dtype):
    count = 1
    for size in shape:
        count *= size
    header = repr({"descr": "<" + dtype, "fortran_order": False, "shape": tuple(shape)})
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    values = [((i * 37 + seed * 11) % 101 - 50) / 50 for i in range(count)]
    if dtype == "i8":  # indices
        values = [i % 3 for i in range(count)]
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{count}{'q' if dtype == 'i8' else 'f'}", *values))


def write_data(graph, path):
    """Eight samples for each parameter of @main; symbols are 1."""
    params = re.search(r"func @main\((.*?)\) ->", graph, re.S).group(1)
    with zipfile.ZipFile(path, "w") as archive:
        for seed, (name, dtype, dims) in enumerate(re.findall(r"%(\w+): (f32|i64)\[(.*?)\]", params)):
            shape = [int(d) if d.strip().isdigit() else 1 for d in dims.split(",")]
            shape[0] *= 8
            archive.writestr(name + ".npy", npy(shape, seed, "i8" if dtype == "i64" else "f4"))


def passes_of(graph, rules, directory):
    if "form prepared" in graph:
        return None
    if "form annotated" in graph:
        return "prepare"
    file = directory / "rules.qcfg"
    file.write_text("".join(rule + "\n" for rule in rules))
    partial = "{partial}" if re.search("^// PARTIAL$", graph, re.M) else ""
    return f"infer-shapes,fuse,annotate{{rules={file}}},prepare{partial}"


def run(graph, rules, directory):
    source, prepared = directory / "in.qir", directory / "prepared.qir"
    calibrated, data = directory / "calibrated.qir", directory / "data.npz"
    source.write_text(graph)
    passes = passes_of(graph, rules, directory)
    qgc("opt", source, *([f"--passes={passes}"] if passes else []), "-o", prepared)
    write_data(graph, data)
    qgc("calibrate", prepared, "--data", data, "--quiet", "-o", calibrated)
    return prepared.read_text(), qgc("opt", calibrated, "--passes=convert,dce", "--quiet")


def report(name, prepared, converted):
    steps = re.findall(r"= (quantize|dequantize) (.*)", converted)
    counts = collections.Counter()
    for step, rest in steps:
        kind = "c" if "axis =" in rest else "" if "scale =" in rest else ".t"
        counts[("q" if step == "quantize" else "dq") + kind] += 1
    counts["choose"] = len(re.findall("= choose_qparams ", converted))
    shown = ["q", "dq", "dqc", *(name for name in ("choose", "q.t", "dq.t") if counts[name])]
    print(f"case {name}:", ", ".join(f"{kind} {counts[kind]}" for kind in shown))
    for value, spec in re.findall(r"(%[\w.]+) = observe .*?spec = (.*?)(?:, axis = \d+)?\}", prepared):
        print(f"  {value}: {spec}")
    print(converted)


def main():
    file, directory = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    for section in re.split(r"^// -----$", file.read_text(), flags=re.M):
        name = re.search(r"^// CASE (.*)$", section, re.M).group(1)
        rules = [rule.replace("INPUTS", str(file.parent / "Inputs"))
                 for rule in re.findall(r"^// RULE (.*)$", section, re.M)]
        try:
            report(name, *run(section, rules, directory))
        except Refused as error:
            print(f"case {name}: refused: {error}")


main()
