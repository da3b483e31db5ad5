"""steps.py A B N: the outputs of `qgc run` in A are in B too and differ by N at most, element by element."""
import re
import sys

LINE = re.compile(r"^(@\S+) = (.*) : (\S+)$")
NUMBER = re.compile(r"-?(?:inf|nan|[0-9][0-9.e+-]*)")


def read(path):
    values = {}
    with open(path) as file:
        for line in file:
            match = LINE.match(line)
            if match:
                values[match[1]] = (match[3], [float(n) for n in NUMBER.findall(match[2])])
    return values


def main(a, b, limit):
    left, right = read(a), read(b)
    assert left and left.keys() <= right.keys(), (sorted(left), sorted(right))
    for name, (type_, numbers) in left.items():
        other_type, others = right[name]
        assert type_ == other_type and len(numbers) == len(others), name
        worst = max((abs(x - y) for x, y in zip(numbers, others)), default=0)
        assert worst <= limit, f"{name}: {worst} apart, {limit} allowed"


main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
