"""Functions over 80 lines or nested deeper than 4, files over 1000 lines. Tables (.def) are exempt; a
flat function may say NOLINT(readability-function-size) with its reason."""
import re

import tree

MAX_FUNCTION = 80
MAX_NESTING = 4
MAX_FILE = 1000
EXEMPTION = "NOLINT(readability-function-size)"
# The start of a definition at the left margin: a name, parameters, and then the brace.
HEAD = re.compile(r"^[A-Za-z_][^;{}=#]*?\b(\w+)\s*\(", re.MULTILINE)
BLOCK_BEFORE = re.compile(r"(\)\s|\belse\s*|\bdo\s*|[;{}:]\s*)$")


def matching_brace(code, start):
    """(offset of the brace that closes the one at start, deepest block nesting inside)."""
    stack, deepest = [], 0  # True for a block
    for offset in range(start, len(code)):
        if code[offset] == "{":
            # Initializers and compound literals are not nesting.
            before = code[max(start, offset - 40):offset]
            stack.append(not stack or (stack[-1] and bool(BLOCK_BEFORE.search(before))))
            deepest = max(deepest, sum(stack) - 1)
        elif code[offset] == "}":
            stack.pop()
            if not stack:
                return offset, deepest
    return len(code) - 1, deepest


def functions(code):
    """(name, offset of the head, offset of the closing brace, nesting) of each definition."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), code,
                  flags=re.MULTILINE)
    offset = 0
    while match := HEAD.search(code, offset):
        opening = code.find("{", match.end())
        between = code[match.end():opening] if opening >= 0 else ";"
        if re.search(r"[;=]", between):
            offset = match.end()
            continue
        closing, nesting = matching_brace(code, opening)
        yield match.group(1), match.start(), closing, nesting
        offset = closing


def check_functions(path, text):
    code = tree.blank(text)
    for name, start, end, nesting in functions(code):
        if EXEMPTION in text[start:end]:
            continue
        lines = tree.line_of(code, end) - tree.line_of(code, start) + 1
        where = f"{path}:{tree.line_of(code, start)}"
        if lines > MAX_FUNCTION:
            yield f"{where}: {name} has {lines} lines; {MAX_FUNCTION} is the limit"
        if nesting > MAX_NESTING:
            yield f"{where}: {name} nests {nesting} deep; {MAX_NESTING} is the limit"


def find(root):
    for path in tree.files(root, [".c", ".h", ".re", ".y", ".py", ".cmake"]):
        text = tree.read(root, path)
        if text.count("\n") > MAX_FILE:
            yield f"{path}:1: {text.count(chr(10))} lines; {MAX_FILE} is the limit"
        if path.endswith((".c", ".h")):
            yield from check_functions(path, text)


if __name__ == "__main__":
    tree.main(find)
