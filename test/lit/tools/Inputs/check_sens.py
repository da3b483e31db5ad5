"""check_sens.py DIRECTORY GRAPH DATA: every row of `qgc sens` is what converting that value alone gives.

The naive way: a rules file with one value, `qgc quantize`, `qgc compare` of the output with the float graph.
"""
import json
import subprocess
import sys


def run(*arguments):
    subprocess.run(["qgc", *arguments, "--quiet"], check=True, stdout=subprocess.DEVNULL)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def naive(here, graph, data, row):
    spec = "weight i8.sym.ch.minmax" if row["dtype"] == "i8" else "act u8.affine.hist"
    name = row["value"].replace("\\", "\\\\").replace('"', '\\"')
    with open(f"{here}/one.qcfg", "w", encoding="utf-8") as out:
        out.write(f'value "{name}" => {spec}\n')
    run("quantize", graph, "--data", data, "--rules", f"{here}/one.qcfg", "-o", f"{here}/one.qir")
    run("compare", graph, f"{here}/one.qir", "--data", data, "-o", f"{here}/one.json")
    return next(row for row in read(f"{here}/one.json")["values"] if row["output"])


def main(here, graph, data):
    run("sens", graph, "--data", data, "-o", f"{here}/s.json")
    rows = read(f"{here}/s.json")["values"]
    for row in rows:
        wanted = naive(here, graph, data, row)
        for name in ("mse", "sqnr", "cosine"):
            if row[name] != wanted[name]:
                sys.exit(f"{row['value']}: {name} {row[name]}, alone it is {wanted[name]}")
    order = [float("inf") if row["sqnr"] is None else row["sqnr"] for row in rows]
    if order != sorted(order):
        sys.exit(f"not worst first: {order}")
    print(f"{len(rows)} values are as alone")


main(*sys.argv[1:])
