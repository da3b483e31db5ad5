"""join.py GRAPH.qir REPORT...: every identifier @func.%value that a report names is a value of the graph."""
import html
import re
import sys

NAME = r'(?:"(?:[^"\\]|\\.)*"|[\w.$:/-]+)'
IDENTIFIER = re.compile(rf"@({NAME}?)\.%({NAME})")


def values_of(path):
    """Identifiers of parameters and results."""
    names, func = set(), None
    with open(path, encoding="utf-8") as file:
        for line in file:
            head = re.match(rf"func @({NAME})\((.*)\) ->", line)
            if head:
                func = head.group(1)
                names |= {(func, name) for name in re.findall(rf"%({NAME}): ", head.group(2))}
            left = line.split(" = ")[0]
            if func and left.lstrip().startswith("%"):
                names |= {(func, name) for name in re.findall(rf"%({NAME})", left)}
    return names


def plain(name):
    """As rules spell it: without quotes."""
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name.startswith('"') else name


def identifiers_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".html"):
        text = html.unescape(text)
    if path.endswith(".json"):
        text = text.replace('\\"', '"')
    if path.endswith(".csv"):
        text = text.replace('""', '"')
    return [(func, name.rstrip(".:")) for func, name in IDENTIFIER.findall(text)]


def main(graph, reports):
    known = {(func, plain(name)) for func, name in values_of(graph)}
    missing = 0
    for path in reports:
        names = identifiers_of(path)
        if not names:
            sys.exit(f"{path}: names nothing")
        for func, name in sorted(set(names)):
            if (func, plain(name)) not in known:
                print(f"{path}: @{func}.%{name}")
                missing += 1
    print(f"{missing} names are missing")


main(sys.argv[1], sys.argv[2:])
