"""Whether two printed results have the same numbers, up to 1e-5 of each: near.py BEFORE AFTER"""
import pathlib
import re
import sys

before, after = (re.findall(r"-?\d+\.\d+(?:e-?\d+)?", pathlib.Path(name).read_text()) for name in sys.argv[1:])
if len(before) != len(after) or len(before) < 50:
    sys.exit(f"{len(before)} and {len(after)} numbers")
for x, y in zip(map(float, before), map(float, after)):
    if abs(x - y) > 1e-5 * max(1, abs(x)):
        sys.exit(f"{x} became {y}")
