"""Holds `qgc explain --format=json` against the text of the graph: counts the ops that compute in the
text by themselves, and compares with claimed + not claimed + integer + float + gone. usage: FILE.qir [OPTION...]"""
import collections
import json
import re
import subprocess
import sys

REST = {"const", "weight", "quantize", "dequantize", "observe", "fake_quant", "fake_cast",
        "choose_qparams", "quant_stub", "dequant_stub", "call", "loop", "return"}
VALUE = r'%(?:"(?:[^"\\]|\\.)*"|[\w.$]+)'
OP = re.compile(rf"\s+(?:{VALUE}(?:, {VALUE})* = )?([a-z_0-9]+)\b")

path, *options = sys.argv[1:]
text = subprocess.run(["qgc", "opt", path], capture_output=True, text=True, check=True).stdout
found = collections.Counter(m[1] for line in text.splitlines() if (m := OP.match(line)))
expected = {op: num for op, num in found.items() if op not in REST}
done = subprocess.run(["qgc", "explain", path, "--format=json", *options], capture_output=True,
                      text=True, check=True)
lines = [json.loads(line) for line in done.stdout.splitlines()]
ops = [line for line in lines if line["kind"] == "op"]
graph = next(line for line in lines if line["kind"] == "graph")
told = collections.Counter(op["op"] for op in ops)
fates = collections.Counter(op["fate"] for op in ops)
regions = collections.Counter(op["region"] for op in ops if op["fate"] == "claimed")
assert told == expected, (told, expected)
assert sum(fates.values()) == sum(expected.values())
assert regions == {r["name"]: r["ops"] for r in lines if r["kind"] == "region"}, regions
assert graph["constants"] == found["const"] + found["weight"]
assert graph["calls"] == found["call"] + found["loop"]
assert all("how" in op for op in ops)
print(graph["form"], dict(sorted(fates.items())))
