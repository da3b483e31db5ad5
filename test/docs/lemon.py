"""The parser's grammar against the one in a page: sentences made from frontend/grammar.y must be
sentences of the page's rules. The other direction is in grammar.py."""
import random
import re

import grammar

SENTENCES = 300
START = {"module": "items", "rules": "rules", "patterns": "patterns"}
RULE = re.compile(r"^(\w+)(?:\(\w\))?\s*::=([^.\n]*)\.", re.MULTILINE)
# Tokens that are not written like their name in lower case.
SPELLING = {
    "LPAREN": "(", "RPAREN": ")", "LBRACKET": "[", "RBRACKET": "]", "LBRACE": "{", "RBRACE": "}",
    "COMMA": ",", "COLON": ":", "DOT": ".", "EQUAL": "=", "FATARROW": "=>", "ARROW": "->",
    "PLUS": "+", "MINUS": "-", "STAR": "*", "SLASH": "/", "PIPE": "|", "QUESTION": "?",
    "UNDERSCORE": "_",
}


def read_rules(text):
    """Rules as grammar.py has them; words are token names. Error recovery is left out."""
    found = [(name, re.sub(r"\(\w\)", "", body).split()) for name, body in RULE.findall(text)]
    names = {name for name, _ in found}
    rules = {}
    for name, symbols in found:
        if "error" in symbols:
            continue
        items = [("name" if symbol in names else "word", symbol) for symbol in symbols]
        rules.setdefault(name, ("any", []))[1].append(("all", items))
    return rules


def fits(tree, token):
    """Whether the terminal |tree| of the page stands for the token |token| of the parser."""
    kind, word = tree
    if kind == "token":
        return word == token
    if word == SPELLING.get(token, token.lower()):
        return True
    return word.isalpha() and token == "IDENT"  # "self", "at": words in one place


def ends(tree, rules, tokens, at, memo):
    """Positions where a part of |tree| that begins at |at| can end."""
    key = (id(tree), at)
    if key not in memo:
        memo[key] = set()
        memo[key] = compute_ends(tree, rules, tokens, at, memo)
    return memo[key]


def compute_ends(tree, rules, tokens, at, memo):
    kind = tree[0]
    if kind in ("word", "token"):
        return {at + 1} if at < len(tokens) and fits(tree, tokens[at]) else set()
    if kind == "name":
        return ends(rules[tree[1]], rules, tokens, at, memo)
    if kind == "any":
        return set().union(*(ends(part, rules, tokens, at, memo) for part in tree[1]))
    if kind == "all":
        reached = {at}
        for part in tree[1]:
            reached = set().union(*(ends(part, rules, tokens, at, memo) for at in reached))
        return reached
    _, part, least, most = tree
    found, reached = set() if least else {at}, {at}
    for _ in range(1 if most == 1 else len(tokens)):
        reached = set().union(*(ends(part, rules, tokens, at, memo) for at in reached)) - found
        if not reached:
            break
        found |= reached
    return found


def first_difference(page_rules, parser_text):
    """A sentence of the parser that the page does not have, or None."""
    parser_rules = read_rules(parser_text)
    heights = grammar.rule_heights(parser_rules)
    for start, symbol in START.items():
        chance = random.Random(start)
        for _ in range(SENTENCES):
            tokens = grammar.sentence(parser_rules[symbol], parser_rules, heights, chance)
            if len(tokens) not in ends(page_rules[start], page_rules, tokens, 0, {}):
                return f"{start}: {' '.join(tokens)}"
    return None
