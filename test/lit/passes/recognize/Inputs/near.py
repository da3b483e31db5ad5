"""usage: near.py A B RELATIVE: two outputs of `qgc run` whose numbers are near each other."""
import re
import sys


def numbers(path):
    with open(path, encoding="utf-8") as file:
        return [(line.split(" = ")[0], [float(x) for x in re.findall(r"-?[0-9.]+(?:e-?[0-9]+)?", line.split(" = ")[1].split(" : ")[0])])
                for line in file if " = " in line]


first, second, bound = numbers(sys.argv[1]), numbers(sys.argv[2]), float(sys.argv[3])
assert first and [name for name, _ in first] == [name for name, _ in second], "other values"
for (name, a), (_, b) in zip(first, second):
    scale = max(abs(x) for x in a)
    worst = max(abs(x - y) for x, y in zip(a, b, strict=True))
    assert worst <= bound * scale, f"{name}: {worst} of {scale}"
