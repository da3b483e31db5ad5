"""Applies what remarks propose: quantizes GRAPH for the cpu with RULES; for each remark of partition
and annotate that names rows, quantizes again with these rows at the end, and prints whether the op is
claimed then. usage: apply_rules.py GRAPH DATA RULES SCRATCH"""
import json
import pathlib
import subprocess
import sys

graph, data, rules, scratch = sys.argv[1:]


def quantize(rules):
    done = subprocess.run(
        ["qgc", "quantize", graph, "--data", data, "--rules", rules, "--target", "cpu", "-o",
         f"{scratch}/out.qir", "--remarks=annotate,partition", "--diag-format=json"],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found = [json.loads(line) for line in done.stderr.splitlines()]
    return [d for d in found if d["severity"] == "remark"]


longer = pathlib.Path(scratch) / "longer.qcfg"
for remark in quantize(rules):
    if "rule" not in remark:
        continue
    longer.write_text(pathlib.Path(rules).read_text() + remark["rule"] + "\n")
    left = {d["value"] for d in quantize(str(longer))}
    print(remark["value"], remark["op"], remark["rule"].replace("\n", "; "), end=": ")
    print("not claimed" if remark["value"] in left else "claimed")
