#!/usr/bin/env python3
"""Differential test: random graphs of graphs.py, `ref` against machine code, equal to the bit.

  differential.py --build build/gcc                       2,000 samples
  differential.py --build build/gcc --samples 50000 --seed 7
  differential.py --build build/gcc --op conv2d --samples 500
  differential.py --build build/gcc --mutants             planted bugs instead: each must be found

A sample is a graph, a CPU level that the host has, a way to run it (JIT on one or two threads, object file)
and optimization on or off (LLVM's passes and code generator). Each stratum of graphs.py gets the same number
of graphs; a graph runs at every level, each time another way. A table says how many samples there were of
each op, type, border and zero point at each level: "." where there can be none, 0 where there should be. Last
come "N passed, M failed" and, where a sample differs, the graph and its inputs in BUILD/differential/failed/.
"""
import argparse
import collections
from concurrent import futures
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import graphs

HOW = ["jit1", "object", "jit2"]
MODES = [(how, opt) for opt in ("on", "off") for how in HOW]


def needs_fma(op):
    """Chains of fused multiply-adds stay with the interpreter where there are none, and in no object."""
    return op in ("float conv2d", "float deep", "float depthwise", "float conv3d", "float conv_transpose", "float resize", "float linear")


def levels_of(driver):
    return subprocess.check_output([driver, "--levels"], text=True).split()


class Samples:
    """The graphs of a run, and what each sample is of."""

    def __init__(self, levels, seed, samples, op):
        self.levels, self.graphs = levels, []
        strata = [s for s in graphs.strata() if op is None or s[0] == op]
        if not strata:
            sys.exit(f"no op {op!r}; there are: {', '.join(graphs.OPS)}")
        rounds = -(-samples // (len(strata) * len(levels)))
        for number in range(rounds):
            order = list(enumerate(strata))
            random.Random(f"{seed}/{number}").shuffle(order)
            for at, stratum in order:
                runs = [self.run(stratum, level, at + number + i) for i, level in enumerate(levels)]
                self.graphs.append((stratum, seed, number, runs))
        self.graphs = self.graphs[: -(-samples // len(levels))]

    def run(self, stratum, level, turn):
        how, opt = MODES[turn % len(MODES)]
        if how == "object" and needs_fma(stratum[0]) and level == "x86-64":
            how = "jit1"
        return f"{level}:{how}:{opt}"

    def write(self, path):
        with open(path, "w") as out:
            for index, (stratum, seed, number, runs) in enumerate(self.graphs):
                text, data_seed, fill = graphs.make(stratum, seed, number)
                out.write(f"// graph {index} {data_seed} {fill} {' '.join(runs)}\n{text}\n")


def run_driver(driver, path, jobs, save):
    """Lines of all parts; a part that dies is a failure of its own."""
    parts = [subprocess.Popen([driver, path, f"--part={i}/{jobs}", f"--save={save}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(jobs)]
    lines, messages = [], []
    for part in parts:
        out, err = part.communicate()
        lines += out.splitlines()
        messages += [err] if err else []
        if part.returncode not in (0, 1):
            messages.append(f"the driver ended with {part.returncode} behind {lines[-1] if lines else 'nothing'}")
            lines.append("- - died 0")
    return lines, "\n".join(messages)


# ---- tables ------------------------------------------------------------------------------------


def print_coverage(samples, counts, out):
    """op x type x border, by level and zero point."""
    levels, zeros = samples.levels, graphs.ZEROS
    print("Samples of each op, type and border at each level, by zero point (" + ", ".join(zeros) + ", or all where there is none):", file=out)
    print(f"{'':18}{'':5}{'':7}" + "".join(f"{level:>20}" for level in levels), file=out)
    empty = cells = 0
    for op, (_, dtypes, borders, op_zeros) in graphs.OPS.items():
        for dtype in dtypes:
            for border in borders:
                row = ""
                for level in levels:
                    numbers = [counts[op, dtype, border, zero, level] for zero in op_zeros]
                    empty, cells = empty + numbers.count(0), cells + len(numbers)
                    words = [str(n) for n in numbers] if op_zeros == zeros else [".", ".", ".", str(numbers[0])]
                    row += "   " + " ".join(f"{w:>3}" for w in words) + "  "
                print(f"{op:18}{dtype:5}{border:7}{row}".rstrip(), file=out)
    print(f"{cells - empty} of {cells} cells have samples, {empty} are empty", file=out)
    return empty


def print_modes(samples, modes, out):
    print(f"{'':18}" + "".join(f"{how + ', ' + opt:>14}" for how, opt in MODES), file=out)
    for level in samples.levels:
        print(f"{level:18}" + "".join(f"{modes[level, how, opt]:14}" for how, opt in MODES), file=out)


def print_summary(samples, counts):
    """One line for each op: what its table has."""
    print(f"{'op':18}{'types':22}{'cells':>12}" + "".join(f"{level:>16}" for level in samples.levels))
    for op, (_, dtypes, borders, zeros) in graphs.OPS.items():
        keys = [(op, d, b, z) for d in dtypes for b in borders for z in zeros]
        have = sum(counts[(*key, level)] > 0 for key in keys for level in samples.levels)
        per_level = [sum(counts[(*key, level)] for key in keys) for level in samples.levels]
        print(f"{op:18}{' '.join(dtypes):22}{have:>5} of {len(keys) * len(samples.levels):<4}" + "".join(f"{n:16}" for n in per_level))


# ---- runs --------------------------------------------------------------------------------------


def judge(samples, line):
    """None, or what is wrong with a line of the driver."""
    index, run, word, ref_steps, *detail = line.split(" ", 4)
    if word != "equal":
        what = f"graph {index}, {' '.join(samples.graphs[int(index)][0])}" if index != "-" else "the driver"
        return f"{word}: {what}, {run}: {' '.join(detail)}"
    stratum, level = samples.graphs[int(index)][0], run.split(":")[0]
    if int(ref_steps) and not (needs_fma(stratum[0]) and level == "x86-64"):
        return f"not compiled: graph {index}, {' '.join(stratum)}, {run}: {ref_steps} steps are the interpreter's"
    return None


def compare(options, work):
    driver = options.build / "test/differential/differential"
    samples = Samples(levels_of(driver), options.seed, options.samples, options.op)
    failed = work / "failed"
    shutil.rmtree(failed, ignore_errors=True)
    failed.mkdir(parents=True)
    samples.write(work / "graphs")
    lines, messages = run_driver(driver, work / "graphs", options.jobs, f"{failed}/graph")
    counts, modes, wrong, passed = collections.Counter(), collections.Counter(), [], 0
    for line in lines:
        problem = judge(samples, line)
        if problem:
            wrong.append(problem)
            continue
        index, run, *_ = line.split(" ", 4)
        level, how, opt = run.split(":")
        counts[(*samples.graphs[int(index)][0], level)] += 1
        modes[level, how, opt] += 1
        passed += 1
    with open(work / "coverage.txt", "w") as out:
        empty = print_coverage(samples, counts, out)
        print_modes(samples, modes, out)
    print_summary(samples, counts)
    print_modes(samples, modes, sys.stdout)
    if empty:
        print(f"{empty} cells of the table are empty")
    print(f"the whole table: {work / 'coverage.txt'}")
    if wrong:
        print("\n".join(wrong[:30]))
        print(messages[-4000:])
        print(f"graphs and inputs: {failed}; the same samples again: --seed {options.seed} --samples {options.samples}")
    is_bad = len(wrong) + (empty > 0 and options.op is None and len(samples.graphs) >= len(graphs.strata()))
    print(f"{passed} passed, {is_bad} failed")
    return 1 if is_bad else 0


def find_mutant(driver, path, name):
    """How the mutant shows, or None."""
    started = time.monotonic()
    try:
        done = subprocess.run([driver, path, f"--mutation={name}", "--stop"], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "does not end"
    lines = done.stdout.splitlines()
    after = f"after {len(lines)} samples, {time.monotonic() - started:.1f} s"
    if done.returncode == 0:
        return None
    if done.returncode != 1 or not lines:
        return f"the program dies ({done.returncode}) {after}"
    return f"{lines[-1].split(' ', 2)[2][:100]} {after}"


def mutants(options, work):
    driver = options.build / "test/differential/differential-mutants"
    samples = Samples(levels_of(driver), options.seed, options.samples, options.op)
    work.mkdir(parents=True, exist_ok=True)
    samples.write(work / "graphs.mutants")
    names = [line.split(": ", 1) for line in subprocess.check_output([driver, "--mutations"], text=True).splitlines()]
    survivors = []
    pool = futures.ThreadPoolExecutor(options.jobs)
    all_found = pool.map(lambda row: find_mutant(driver, work / "graphs.mutants", row[0]), names)
    for (name, text), found in zip(names, all_found):
        print(f"{name:28} {found or 'SURVIVES: ' + text}", flush=True)
        survivors += [] if found else [name]
    print(f"{len(names) - len(survivors)} passed, {len(survivors)} failed")
    return 1 if survivors or len(names) < 20 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/gcc")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--op", help="only this row of the table")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--mutants", action="store_true")
    options = parser.parse_args()
    work = options.build / "differential"
    sys.exit(mutants(options, work) if options.mutants else compare(options, work))


if __name__ == "__main__":
    main()
