"""C leaves the order of arguments, and of the elements of an initializer, to the compiler. Where two of
them have effects (they make nodes, or report what is missing), the graph or its diagnostics would depend on
it: such calls stand in statements of their own. Calls that take the state of an import or export have effects."""
import re

import tree

FOLDERS = ("frontend/onnx/",)
EFFECT = re.compile(r"\w+\((?:im|ex)\s*[,)]")
# These only read.
PURE = re.compile(r"\b(?:onnx_(?:content_of|attr|has|int|float|string|wants_output|declared|broadcast_type|type_of)|export_in(?:_type)?|export_known|is_\w+|has_\w+)\((?:im|ex)\b")
OPEN, CLOSE = "([{", ")]}"


def split(code, start):
    """Positions and texts of the parts between commas of the bracket at |start|, and where it ends."""
    depth, begin, parts = 0, start + 1, []
    for at in range(start, len(code)):
        char = code[at]
        if char in OPEN:
            depth += 1
        elif char in CLOSE:
            depth -= 1
            if not depth:
                return parts + [code[begin:at]]
        elif char == "," and depth == 1:
            parts.append(code[begin:at])
            begin = at + 1
        elif char == ";" and depth == 1:
            return []  # a block
    return []


def has_effect(part):
    return EFFECT.search(PURE.sub("", part)) is not None


def is_list(code, start):
    """Arguments of a call, or an initializer."""
    before = code[:start].rstrip()
    return code[start] == "(" and re.search(r"\w$", code[:start]) or code[start] == "{" and before.endswith(("=", ")", ",", "{"))


def check_text(path, text):
    code = tree.blank(text)
    for match in re.finditer(r"[({]", code):
        if not is_list(code, match.start()) or re.search(r"\b(?:if|for|while|switch|return)\s*$", code[:match.start()]):
            continue
        if sum(map(has_effect, split(code, match.start()))) > 1:
            yield (f"{path}:{tree.line_of(code, match.start())}: two parts of a list have effects, in an order that C leaves open: "
                   "give each a statement of its own")


def find(root):
    for path in tree.layer_files(root, [".c"]):
        if path.startswith(FOLDERS):
            yield from check_text(path, tree.read(root, path))


if __name__ == "__main__":
    tree.main(find)
