"""What the lints share: the files of the tree, C text without comments, the command line."""
import argparse
import pathlib
import re
import subprocess
import sys

LAYERS = ("base", "ir", "frontend", "passes", "runtime", "codegen")


def files(root, suffixes, under=("",)):
    """Paths relative to root, sorted: tracked or new, never ignored ones."""
    root = pathlib.Path(root)
    if (root / ".git").exists():
        listing = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"],
            check=True, capture_output=True).stdout.decode()
        paths = [path for path in listing.split("\0") if path and (root / path).is_file()]
    else:
        paths = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
        paths = [path for path in paths if not re.match(r"build[/-]", path)]
    return sorted({path for path in paths
                   if path.endswith(tuple(suffixes)) and path.startswith(tuple(under))})


def layer_files(root, suffixes):
    return files(root, suffixes, [layer + "/" for layer in LAYERS])


def read(root, path):
    return (pathlib.Path(root) / path).read_text(encoding="utf-8")


NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def blank(text, keep_strings=False):
    """C text with comments (and the inside of literals) as spaces; offsets and lines stay."""
    def spaces(match):
        found = match.group()
        if found[0] in "\"'":
            return found if keep_strings else found[0] + " " * (len(found) - 2) + found[0]
        return re.sub(r"[^\n]", " ", found)
    return NOT_CODE.sub(spaces, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def main(find, *options):
    """Runs a lint: find(root, **options) yields "path:line: message"."""
    parser = argparse.ArgumentParser(description=sys.modules[find.__module__].__doc__)
    parser.add_argument("root", help="the source tree")
    for option in options:
        parser.add_argument("--" + option.replace("_", "-"), action="append", default=[])
    arguments = vars(parser.parse_args())
    findings = list(find(arguments.pop("root"), **arguments))
    print("\n".join(findings) if findings else "nothing found")
    sys.exit(1 if findings else 0)
