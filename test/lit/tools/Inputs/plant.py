"""Plants a fault in a graph: plant.py scale|channel|weight IN OUT VALUE [FACTOR]

scale: quantize and dequantize of VALUE with a scale FACTOR times as large.
channel: one channel of the constant VALUE FACTOR times as large, its integers as they are.
"""
import pathlib
import re
import sys


def plant_scale(text, value, factor):
    def change(match):
        return f"{match.group(1)}{float(match.group(2)) * factor:.9g}{match.group(3)}"

    name = re.escape(value)
    pattern = rf'(  %"?{name}\.(?:q|dq)(?:\.\d+)?"? = (?:de)?quantize [^\n]*\{{scale = )([-+.e\d]+)([,}}])'
    return re.subn(pattern, change, text)


def plant_channel(text, value, factor):
    def change(match):
        numbers = match.group(2).split(", ")
        numbers[1] = f"{float(numbers[1]) * factor:.9g}"
        return match.group(1) + ", ".join(numbers) + match.group(3)

    name = re.escape(value)
    return re.subn(rf'(  %"?{name}\.scale"? = const \[)([^\]]*)(\])', change, text)


def main(kind, source, target, value, factor):
    with open(source, encoding="utf-8") as file:
        text = file.read()
    stem = pathlib.Path(source).stem  # OUT lies beside IN and reads its weights
    text = re.sub(r'^weights self "(\w+)"', rf'weights "{stem}.\1.safetensors"', text, flags=re.M)
    plant = {"scale": plant_scale, "channel": plant_channel}[kind]
    text, count = plant(text, value, float(factor))
    if not count:
        sys.exit(f"{source}: nothing to plant at {value}")
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)


main(*sys.argv[1:])
