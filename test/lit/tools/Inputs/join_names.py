"""Joins what commands wrote of one model by the names of values: join_names.py DIRECTORY STAGE...

Every name that any file has must have a row in a comparison of the float graph with a STAGE. Left out
are ops that explain calls gone: they are folded before anything is quantized."""
import csv
import json
import pathlib
import re
import sys


def json_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def rows(path):
    """The rows of one file."""
    name = path.name
    if name.endswith(".csv"):
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    if name.endswith(".jsonl"):
        return [row for row in json_lines(path) if row.get("fate") != "gone"]
    with open(path, encoding="utf-8") as file:
        whole = json.load(file)
    return whole["differences"] if "differences" in whole else whole["values"]


def names(path):
    if path.name.endswith(".txt"):  # a table: the first word of a line, quotes respected
        with open(path, encoding="utf-8") as file:
            return {match.group() for line in file if (match := re.match(r'@\S*%("(\\.|[^"])*"|\S+)', line))}
    return {row["value"] for row in rows(path) if row.get("value")}


def main(directory, *stages):
    directory = pathlib.Path(directory)
    known = {}
    for stage in stages:
        with open(directory / f"compare.{stage}.json", encoding="utf-8") as file:
            report = json.load(file)
        known[stage] = {row["value"] for row in report["values"]}
        assert known[stage] == names(directory / f"compare.{stage}.csv")
        assert report["samples"] > 0 and len(known[stage]) > 10, stage
    everything = set().union(*known.values())
    files = sorted(path for path in directory.iterdir() if path.suffix in (".csv", ".json", ".jsonl", ".txt"))
    for path in files:
        found = names(path)
        missing = sorted(found - everything)
        if missing or not found:
            sys.exit(f"{path.name}: {len(found)} names, of them missing elsewhere: {missing}")
        print(f"{path.name}: {len(found)} names, none missing")


main(*sys.argv[1:])
