#!/usr/bin/env python3
"""Threads against one thread: rounds of measurements, and the table that they make.

usage: scaling.py SAMPLES, a file of `peers --samples`: the table again.

The times are of the wall clock. What two threads can gain at most is measured in the same rounds: as many
peak loops at once against one, which is less than their number where cores share a clock or a core."""
import json
import statistics
import sys
import time


def repeat_for(engine, seconds):
    """As many runs as take about so long; the first one does not count."""
    engine.wall(1)
    return max(1, int(seconds / max(engine.wall(1), 1e-7)))


def measure(engines, peak, threads, rounds, burst=8e-3, pause=0.0, sleep=time.sleep):
    """A round asks each of |engines| (name -> wall(repeat), seconds of a run) in turn for a |burst| of work,
    and the peak loop (rate(threads)) alone and |threads| times at once. Between rounds a |pause| of as many times
    what a round takes: others want to work, and real-time priority ends where all of the time is taken."""
    repeats = {name: repeat_for(engine, burst) for name, engine in engines.items()}
    samples = {"threads": threads, "peaks": [], "seconds": {name: [] for name in engines}}
    for _ in range(rounds):
        start = time.monotonic()
        samples["peaks"].append([peak.rate(1), peak.rate(threads)])
        for name, engine in engines.items():
            samples["seconds"][name].append(engine.wall(repeats[name]))
        sleep(pause * (time.monotonic() - start))
    return samples


def ratio(above, below):
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def ceiling(samples):
    return ratio([many for _, many in samples["peaks"]], [one for one, _ in samples["peaks"]])


HEADER = ("graph", "qgc 1", "qgc N", "gain", "of peak", "ORT 1", "ORT N", "gain", "ORT/qgc")


def row(name, samples):
    """Milliseconds on one thread and on all, what all gain, that as a share of what peak loops gain."""
    seconds = samples["seconds"]
    gain = ratio(seconds["qgc 1"], seconds["qgc N"])
    cells = [name, *(f"{1e3 * statistics.median(seconds[e]):.3f}" for e in ("qgc 1", "qgc N"))]
    cells += [f"{gain:.2f}", f"{100 * gain / ceiling(samples):.0f} %"]
    if "ORT 1" in seconds:
        cells += [f"{1e3 * statistics.median(seconds[e]):.3f}" for e in ("ORT 1", "ORT N")]
        cells += [f"{ratio(seconds[a], seconds[b]):.2f}" for a, b in (("ORT 1", "ORT N"), ("ORT N", "qgc N"))]
    return cells


def line(cells, threads):
    first, *others = (c.replace("N", str(threads)) if c in HEADER else c for c in cells)
    return f"{first:<28}" + "".join(f"{c:>9}" for c in others)


def title(threads):
    return f"ms of a run on 1 and {threads} threads; gain: how many times as fast, and what share of what {threads} peak loops gain"


def last_line(tables):
    threads = tables[0]["threads"]
    return f"{threads} peak loops at once do {statistics.median(ceiling(s) for s in tables):.2f} times what one does"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        tables = json.load(file)
    threads = next(iter(tables.values()))["threads"]
    print(title(threads))
    print(line(HEADER, threads))
    for name, samples in tables.items():
        print(line(row(name, samples), threads))
    print(last_line(list(tables.values())))


if __name__ == "__main__":
    main()
