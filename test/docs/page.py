"""A documentation page as a test: its fenced blocks, and what is wrong with its form."""
import dataclasses
import pathlib
import re
import shlex

# Info string: KIND [WORD | NAME=VALUE]...  What each kind means stands in docs/testing.md.
KINDS = {
    "sh": {"exit", "manual", "root", "tree"},
    "text": set(),
    "qir": {"file", "fragment", "new"},
    "qcfg": {"file"},
    "qpat": {"file"},
    "c": {"file", "new", "append", "into", "before"},
    "cmake": {"file"},
    "ebnf": {"start"},
    "figure": set(),
}
FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})(.*)$")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


class PageError(Exception):
    """A block that failed: where, and why."""

    def __init__(self, line, message):
        super().__init__(message)
        self.line = line


@dataclasses.dataclass
class Block:
    kind: str
    attrs: dict
    line: int  # of the opening fence
    text: str
    indent: int
    last_line: int  # of the closing fence
    output: "Block | None" = None  # sh: the text block behind it

    def is_tree(self):
        """Part of a worked example: applied to a copy of the source tree."""
        return bool(self.attrs.keys() & {"new", "append", "into", "tree"})


def parse_info(info, line):
    words = shlex.split(info)
    if not words:
        raise PageError(line, "a block without an info string")
    kind, attrs = words[0], {}
    if kind not in KINDS:
        raise PageError(line, f"unknown kind of block '{kind}'; known: {', '.join(KINDS)}")
    for word in words[1:]:
        name, _, value = word.partition("=")
        if name not in KINDS[kind]:
            raise PageError(line, f"a block of kind {kind} has no attribute '{name}'")
        attrs[name] = value
    return kind, attrs


def find_blocks(text):
    """Yields every fenced block; the lines outside go to |prose| of the caller as (number, line)."""
    lines = text.splitlines()
    blocks, prose, number = [], [], 0
    while number < len(lines):
        match = FENCE.match(lines[number])
        if not match:
            prose.append((number + 1, lines[number]))
            number += 1
            continue
        indent, fence, info = match.groups()
        kind, attrs = parse_info(info.strip(), number + 1)
        end = number + 1
        closing = re.compile(rf"^ {{0,3}}{fence[0]}{{{len(fence)},}}\s*$")
        while end < len(lines) and not closing.match(lines[end]):
            end += 1
        if end == len(lines):
            raise PageError(number + 1, "the block is not closed")
        body = "".join(line.removeprefix(indent) + "\n" for line in lines[number + 1:end])
        blocks.append(Block(kind, attrs, number + 1, body, len(indent), end + 1))
        number = end + 1
    return blocks, prose


def attach_outputs(blocks, prose):
    """A text block belongs to the sh block directly before it."""
    written = [number for number, line in prose if line.strip()]
    for previous, block in zip([None] + blocks, blocks):
        if block.kind != "text":
            continue
        between = previous and any(previous.last_line < n < block.line for n in written)
        if not previous or previous.kind != "sh" or between:
            raise PageError(block.line, "a text block must stand directly behind a sh block; a "
                            "picture is a figure")
        previous.output = block


def check_prose(prose, directory):
    """Indented code would escape the test; links must lead somewhere."""
    blank = True
    for number, line in prose:
        if blank and line.startswith("    "):
            raise PageError(number, "indented code is not tested: put it in a fenced block")
        blank = not line.strip()
        for target in LINK.findall(line):
            if "://" not in target and not (directory / target).exists():
                raise PageError(number, f"the link leads nowhere: {target}")


def read(path):
    """The page's blocks, with outputs attached. PageError where the form is wrong."""
    path = pathlib.Path(path)
    blocks, prose = find_blocks(path.read_text(encoding="utf-8"))
    attach_outputs(blocks, prose)
    check_prose(prose, path.parent)
    return [block for block in blocks if block.kind != "text"]
