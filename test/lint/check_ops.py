"""Rows of the tables without their tests: an op that no lit test exercises, a labelled rule without its
negative case, a row without summary or example, a rule out of order, a diagnostic that nothing reports."""
import re

import tree

ROW = re.compile(r'^QGC_OP\((\w+),\s*"([^"]+)"', re.MULTILINE)
STRING = r'((?:\s*"(?:\\.|[^"\\])*")+)'
MNEMONIC = re.compile(r"^\s*(?:%[^=\n]*=\s*)?([A-Za-z_]\w*)\b", re.MULTILINE)
EXERCISE = ("test/lit/ops/", "test/lit/run/")
REFUSE = ("test/lit/verify/", "test/lit/ops/", "test/lit/run/")
CODE = re.compile(r"^QGC_DIAG\((\w+)", re.MULTILINE)


def rows(text):
    """(offset, mnemonic, text of the row)"""
    found = list(ROW.finditer(text))
    for match, following in zip(found, found[1:] + [None]):
        yield match.start(), match.group(2), text[match.start():following.start() if following else None]


def field(row, name):
    match = re.search(rf"\.{name}\s*={STRING}", row)
    return match.group(1) if match else ""


def lit_texts(root, places):
    return [tree.read(root, path) for path in tree.files(root, [".qir", ".test"], places)]


def code_of(text):
    """The text without comments, where words do not count."""
    return re.sub(r"//[^\n]*", "", text)


def check_row(mnemonic, row, exercised, labels):
    if not field(row, "summary"):
        yield f"{mnemonic} has no summary"
    if not re.search(rf"\b{re.escape(mnemonic)}\b", field(row, "example")):
        yield f"{mnemonic} has no example that shows it"
    if mnemonic not in exercised:
        yield f"no test in {' or '.join(EXERCISE)} uses {mnemonic}"
    numbers = [int(number) for number in re.findall(r"\(C(\d+)\)", field(row, "rules"))]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"{mnemonic}: rules are numbered {numbers}"
    for number in numbers:
        if f"{mnemonic}_c{number}" not in labels:
            yield f"no test in {' or '.join(REFUSE)} expects rule {mnemonic}_c{number}"


def check_ops(root):
    exercised = set()
    for text in lit_texts(root, EXERCISE):
        exercised.update(MNEMONIC.findall(code_of(text)))
    labels = set()
    for text in lit_texts(root, REFUSE):
        labels.update(re.findall(r"\brule ([a-z0-9_]+_c\d+)\b", text))
    for path in tree.files(root, [".def"], ["ir/ops/"]):
        text = tree.read(root, path)
        for offset, mnemonic, row in rows(text):
            for message in check_row(mnemonic, row, exercised, labels):
                yield f"{path}:{tree.line_of(text, offset)}: {message}"


def check_diagnostics(root):
    path = "include/qgc/diags.def"
    if not tree.files(root, [path]):
        return
    used = set()
    for source in tree.layer_files(root, [".c", ".h", ".y", ".re"]):
        used.update(re.findall(r"\bQGC_D_(\w+)", tree.blank(tree.read(root, source))))
    text = tree.read(root, path)
    for match in CODE.finditer(text):
        if match.group(1) not in used:
            yield f"{path}:{tree.line_of(text, match.start())}: nothing reports {match.group(1)}"


def find(root):
    yield from check_ops(root)
    yield from check_diagnostics(root)


if __name__ == "__main__":
    tree.main(find)
