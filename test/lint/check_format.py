"""C files that clang-format 19 would change; other majors format differently."""
import re
import subprocess

import tree

FORMATTER = "clang-format-19"


def find(root):
    paths = tree.files(root, [".c", ".h"])
    if not paths:
        return
    done = subprocess.run([FORMATTER, "--dry-run", *paths], cwd=root, text=True, check=False,
                          capture_output=True)
    seen = set()
    for path, line in re.findall(r"^(\S+?):(\d+):\d+: (?:warning|error):", done.stderr, re.MULTILINE):
        if path not in seen:
            seen.add(path)
            yield f"{path}:{line}: not formatted: run {FORMATTER} -i {path}"
    if done.returncode != 0 and not seen:
        yield f"{FORMATTER}: {done.stderr.strip()}"


if __name__ == "__main__":
    tree.main(find)
