"""A grammar in a page against the parser: sentences made from it must have no syntax error.

Rules are `name ::= ...` with "literals", | ( ) ? * + and the tokens below; start=NAME of the block
names a rule that is also a --syntax of qgc opt. Whether names and types make sense is not looked at.
"""
import json
import random
import re
import subprocess

from page import PageError

SENTENCES = 150
MAX_DEPTH = 14
TOKENS = {
    "NEWLINE": ["\n"],
    "IDENT": ["relu", "x.y", "conv2d", "f32", "main"],
    "STRING": ['"a b"', '"\\"q\\n\\x41"'],
    "INT": ["0", "12", "0x7fc00001"],
    "FLOAT": ["1.5", "1e-45", "2.0e+3"],
    "VALUE": ["%x", "%3", "%a.q", '%"a b"'],
    "AT": ["@main", "@cpu.0"],
    "SCOPE": ['@"a.b"', '@""'],
}
LEXEME = re.compile(r'\s*(?:("[^"]*")|([A-Za-z_]+)|([|()?*+]))')


def parse_rules(block):
    """Name -> tree; a tree is ("word", w), ("token", t), ("name", n), ("all", [..]), ("any", [..]),
    or ("repeat", tree, least, most)."""
    rules = {}
    for part in re.split(r"\n(?=\S)", block.text.strip()):
        name, arrow, body = part.partition("::=")
        if not arrow:
            raise PageError(block.line, f"expected a rule, found: {part}")
        lexemes = lex(block, body)
        rules[name.strip()] = parse_any(lexemes)
        if lexemes:
            raise PageError(block.line, f"rule {name.strip()}: unexpected {lexemes[0]}")
    return rules


def lex(block, body):
    found, at = [], 0
    body = body.rstrip()
    while at < len(body):
        match = LEXEME.match(body, at)
        if not match:
            raise PageError(block.line, f"bad grammar text: {body[at:at + 20]}")
        found.append(match.group().strip())
        at = match.end()
    return found


def parse_any(lexemes):
    choices = [parse_all(lexemes)]
    while lexemes and lexemes[0] == "|":
        lexemes.pop(0)
        choices.append(parse_all(lexemes))
    return ("any", choices)


def parse_all(lexemes):
    items = []
    while lexemes and lexemes[0] not in "|)":
        word = lexemes.pop(0)
        if word == "(":
            item = parse_any(lexemes)
            lexemes.pop(0)
        elif word[0] == '"':
            item = ("word", word[1:-1])
        else:
            item = ("token" if word in TOKENS else "name", word)
        if lexemes and lexemes[0] in "?*+":
            mark = lexemes.pop(0)
            item = ("repeat", item, int(mark == "+"), 1 if mark == "?" else 3)
        items.append(item)
    return ("all", items)


def names_in(tree):
    if tree[0] == "name":
        return {tree[1]}
    parts = tree[1] if tree[0] in ("any", "all") else [tree[1]] if tree[0] == "repeat" else []
    return set().union(*map(names_in, parts))


def height(tree, heights):
    """Rules that the shortest sentence nests."""
    if tree[0] == "any":
        return min(height(part, heights) for part in tree[1])
    if tree[0] == "all":
        return max((height(part, heights) for part in tree[1]), default=0)
    if tree[0] == "repeat":
        return height(tree[1], heights) if tree[2] else 0
    return heights.get(tree[1], MAX_DEPTH * 9) if tree[0] == "name" else 0


def rule_heights(rules):
    heights = {}
    for _ in rules:
        for name, tree in rules.items():
            heights[name] = 1 + height(tree, heights)
    return heights


def sentence(tree, rules, heights, chance, depth=0):
    """Words of one sentence. Deep down only the shortest way is taken."""
    kind = tree[0]
    if kind == "word":
        return [tree[1]]
    if kind == "token":
        return [chance.choice(TOKENS[tree[1]])]
    if kind == "name":
        return sentence(rules[tree[1]], rules, heights, chance, depth + 1)
    if kind == "all":
        return [w for part in tree[1] for w in sentence(part, rules, heights, chance, depth)]
    deep = depth > MAX_DEPTH
    if kind == "repeat":
        times = tree[2] if deep else chance.randint(tree[2], tree[3])
        return [w for _ in range(times) for w in sentence(tree[1], rules, heights, chance, depth)]
    choices = tree[1]
    if deep:
        least = min(height(part, heights) for part in choices)
        choices = [part for part in choices if height(part, heights) == least]
    return sentence(chance.choice(choices), rules, heights, chance, depth)


def syntax_errors(path, syntax, env):
    result = subprocess.run(["qgc", "opt", path, f"--syntax={syntax}", "--split-input",
                             "--diag-format=json"], env=env, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    if result.returncode not in (0, 2, 3):  # 3: a weights file that is not there
        yield 1, f"exit code {result.returncode}"
    for line in result.stderr.splitlines():
        found = json.loads(line)
        if found["code"] in ("E0101", "E0102") and found["message"].startswith("unexpected"):
            yield found["line"], found["message"]


def check(block, directory, env):
    """The rules, once no sentence was refused."""
    rules = parse_rules(block)
    used = set().union(*map(names_in, rules.values()))
    if missing := used - rules.keys():
        raise PageError(block.line, f"no rule for {', '.join(sorted(missing))}")
    heights = rule_heights(rules)
    for start in block.attrs["start"].split(","):
        chance = random.Random(start)
        texts = [" ".join(sentence(rules[start], rules, heights, chance)) + "\n"
                 for _ in range(SENTENCES)]
        path = directory / ".sentences"
        path.write_text("// -----\n".join(texts), encoding="utf-8")
        for line, message in syntax_errors(path, start, env):
            near = path.read_text(encoding="utf-8").splitlines()[line - 1]
            raise PageError(block.line, f"qgc refuses a sentence of '{start}': {message} in: {near[:200]}")
    return rules
