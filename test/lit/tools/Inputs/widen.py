"""Every activation's scale ten times too large: widen.py IN OUT, beside IN, whose weights it reads."""
import pathlib
import re
import sys

source, target = sys.argv[1:]
text = pathlib.Path(source).read_text(encoding="utf-8")
text = re.sub(r'^weights self "(\w+)"', rf'weights "{pathlib.Path(source).stem}.\1.safetensors"', text, flags=re.M)
text = re.sub(r"(quantize [^\n]*\{scale = )([-+.e\d]+)([,}])",
              lambda match: f"{match.group(1)}{float(match.group(2)) * 10:.9g}{match.group(3)}", text)
pathlib.Path(target).write_text(text, encoding="utf-8")
