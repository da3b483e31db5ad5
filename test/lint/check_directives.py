"""Lit files whose checks do not run: a directive without its colon, an unknown suffix, a prefix that
no RUN line uses, expectations that nobody verifies, no RUN line at all, '!' where 'not' is meant."""
import re

import tree

SUFFIXES = r"NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+"
LIT_KEYWORDS = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "DEFINE", "REDEFINE", "END", "COM", "NOTE"}
COMMENT = re.compile(r"\s*(?://|#|;)\s*(.*)")
EXPECTED = re.compile(r"\bexpected-(\w+)\s*(@\S+)?\s*(\{\{)?")
SEVERITIES = {"error", "warning", "note", "remark"}


def run_lines(text):
    """Commands of the RUN lines, continuation lines joined."""
    joined = re.sub(r"\\\n[^\n]*?RUN:", " ", text)
    return re.findall(r"\bRUN:(.*)", joined)


def used_prefixes(commands):
    """Prefixes that FileCheck is asked for, over all RUN lines."""
    prefixes = set()
    for command in commands:
        for call in re.findall(r"\bFileCheck\b([^|;&]*)", command):
            named = re.findall(r"--?check-prefix(?:es)?[= ]\s*(\S+)", call)
            for names in named or ["CHECK"]:
                prefixes.update(names.strip("'\"").split(","))
    return prefixes


def split_directive(word, prefixes):
    """(prefix, suffix) where word begins like a directive; suffix may be unknown."""
    for prefix in sorted(prefixes | {"CHECK"}, key=len, reverse=True):
        if word == prefix or word.startswith(prefix + "-"):
            return prefix, word[len(prefix) + 1:]
    known = re.fullmatch(rf"(.+?)-({SUFFIXES})", word)
    return known.groups() if known else (word, "")


def check_comment(comment, prefixes):
    """The message for a comment line, or None."""
    match = re.match(r"([A-Z][A-Z0-9_-]*)(\{[A-Z]+\})?\s*(:?)", comment)
    if not match:
        return None
    word, _, colon = match.groups()
    if word in LIT_KEYWORDS:
        return f"'{word}' without its colon" if word == "RUN" and not colon else None
    prefix, suffix = split_directive(word, prefixes)
    if not colon:
        is_directive = prefix in prefixes | {"CHECK"}
        return f"directive '{word}' without its colon" if is_directive else None
    if suffix and not re.fullmatch(SUFFIXES, suffix):
        return f"unknown directive '{word}:'"
    if prefix not in prefixes:
        return f"no RUN line uses the prefix '{prefix}'"
    return None


def check_expected(line, commands):
    for severity, _, braces in EXPECTED.findall(line):
        if severity not in SEVERITIES:
            return f"unknown expectation 'expected-{severity}'"
        if not braces:
            return f"'expected-{severity}' without its {{{{text}}}}"
        if not any("--verify-diagnostics" in command for command in commands):
            return f"'expected-{severity}', but no RUN line has --verify-diagnostics"
    return None


def check_file(path, text):
    commands = run_lines(text)
    prefixes = used_prefixes(commands)
    if not commands:
        yield f"{path}:1: no RUN line"
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT.match(line)
        message = comment and check_comment(comment.group(1), prefixes)
        if message or (message := check_expected(line, commands)):
            yield f"{path}:{number}: {message}"
        if re.search(r"\bRUN:.*(^|[|;&:{(]|\s)!\s", line):
            yield f"{path}:{number}: '!' accepts a crash: use 'not'"


def find(root):
    for path in tree.files(root, [".qir", ".qcfg", ".test"], ["test/lit/"]):
        if "/Inputs/" not in path:
            yield from check_file(path, tree.read(root, path))


if __name__ == "__main__":
    tree.main(find)
