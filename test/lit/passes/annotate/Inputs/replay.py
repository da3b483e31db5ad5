"""The change log, replayed: annotates GRAPH by each case, then the bare graph by the log alone, and
compares the two texts byte by byte; the log of the replay has the same rules as the log.
usage: replay.py SCRATCH CASES GRAPH.qir ...; CASES: presets, tables, or a number of random rules."""
import pathlib
import random
import re
import subprocess
import sys

scratch, cases, graphs = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
SPECS = ["u8.affine.hist", "i8.sym.minmax", "i8.sym.hist[-100,100]", "i16.sym.hist", "u8.affine.avg",
         "f16", "float", "i16", "i8", "u8", "fixed(0.0078125, 3, u8)", "fixed(0.5, 0, i16)"]
WEIGHTS = ["i8.sym.ch.minmax", "i8.sym.minmax[-127,127]", "i16", "float", "i16.sym.ch.minmax"]
TABLES = ["pt2e-a", "pt2e-x", "pt2e-i"]
PORTS = ["act", "in", "out", "x", "a", "b", ""]


def qgc(*arguments):
    done = subprocess.run(["qgc", "opt", *arguments], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def words(graph):
    """Names of ops, values, functions and scopes."""
    text = pathlib.Path(graph).read_text()
    found = {"op": set(), "value": set(), "scope": {"nowhere"}}
    func = ""
    for line in text.splitlines():
        if match := re.match(r"func (@\S+?)\(", line):
            func = match[1]
        if match := re.match(r'\s+(%[\w.]+|%"[^"]*") = (\w+)', line):
            found["op"].add(match[2])
            found["value"].update([match[1], f"{func}.{match[1]}"])
        if match := re.search(r'@"([^"]*)"$', line):
            found["scope"].add(match[1].split(".")[0])
    return {kind: sorted(names) for kind, names in found.items()}


def quoted(text):
    return '"' + text.replace('"', '\\"') + '"'


def random_rule(rng, names):
    select = rng.choice(["all", "op", "under", "name", "value", "value"])
    if select in ("op", "under"):
        select = f"op {rng.choice(names['op'])}" + (
            f" under {quoted(rng.choice(names['scope']))}" if select == "under" else "")
    elif select == "name":
        select = f"name {quoted(rng.choice(names['scope']))}"
    elif select == "value":
        select = f"value {quoted(rng.choice(names['value']))}"
    port = rng.choice(PORTS + ["weight", "bias"])
    specs = {"weight": WEIGHTS, "bias": ["derive", "float"]}.get(port, SPECS)
    actions = [f"{port} {rng.choice(specs)}".strip()]
    if rng.random() < 0.3:
        actions.append(f"weight {rng.choice(WEIGHTS)}")
    if rng.random() < 0.2:
        actions.append(f"in [{rng.choice(SPECS[:4])}, {rng.choice(SPECS[:4])}]")
    if rng.random() < 0.1:
        actions.append("in u8.affine.dynamic")
    return f"{select} => {', '.join(actions)}"


def random_rules(rng, names):
    """A preset, an explicit rule or tables, then rows that change it; often more than 16."""
    first = rng.choice(["preset int8", "preset int16", "preset fp16-first",
                        "all => act u8.affine.hist, weight i8.sym.ch.minmax, bias derive",
                        *(f"quantizer {table}" for table in TABLES)])
    rows = [first]
    if first.startswith("quantizer") and rng.random() < 0.5:
        rows.append(f"quantizer {rng.choice(TABLES)} op {rng.choice(['linear', 'conv2d', 'add'])}")
    rows += [random_rule(rng, names) for _ in range(rng.choice([0, 1, 3, 8, 25]))]
    if rng.random() < 0.2:
        rows.append('target "cpu" op linear under "a b"')
    return "\n".join(rows) + "\n"


def check(graph, options, name):
    log, again = scratch / "log.qcfg", scratch / "again.qcfg"
    log.unlink(missing_ok=True)
    code, annotated, errors = qgc(graph, f"--passes=annotate{{{options}changelog={log}}}")
    if code:  # rules that contradict themselves; then there is no log
        assert "error" in errors and not log.exists(), f"{name}: {errors}"
        return None
    plain = f"annotate{{{options.rstrip(',')}}}" if options else "annotate"
    assert qgc(graph, f"--passes={plain}")[1] == annotated, f"{name}: the log changes the graph"
    code, replayed, errors = qgc(graph, f"--passes=annotate{{rules={log},changelog={again}}}")
    assert not code and not errors, f"{name}: {errors}"
    assert replayed == annotated, f"{name}: the replay differs"
    code, printed, errors = qgc(str(log))
    assert not code, f"{name}: {errors}"
    code, printed_again, _ = qgc(str(again))
    if printed:  # a log without rows is a rules file without rules, not a log
        assert printed == printed_again, f"{name}: the log of the replay differs"
    canonical = scratch / "canonical.qcfg"
    canonical.write_bytes(printed)
    assert qgc(graph, f"--passes=annotate{{rules={canonical}}}")[1] == annotated, f"{name}: printed"
    return annotated.count(b"quant.")


def run(graph):
    total = replayed = ports = 0
    rng, names = random.Random(17), words(graph)
    rules = scratch / "rules.qcfg"
    if cases == "presets":
        todo = [f"preset {preset}\n" for preset in ("int8", "int16", "fp16-first")]
    elif cases == "tables":
        todo = [f"quantizer {table}\n" for table in TABLES]
    else:
        todo = [random_rules(rng, names) for _ in range(int(cases))]
    plans = [("", "default")] if cases == "presets" else []
    plans += [(f"table={table},", table) for table in TABLES if cases == "tables"]
    for options, name in plans + [(f"rules={rules},", text) for text in todo]:
        rules.write_text(name)
        found = check(graph, options, f"{graph}: {name}")
        total += 1
        replayed += found is not None
        ports += found or 0
    print(f"{pathlib.Path(graph).name}: {replayed} of {total} replayed, {ports} ports")


for item in graphs:
    run(item)
