"""Calls that library code must not make: memory outside the arena, ending the process, writing to
the terminal, text conversions that follow the locale, hidden jumps."""
import re

import tree

# What is called, where it is nevertheless allowed, what to do instead.
RULES = [
    (r"malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|strdup|strndup|v?asprintf"
     r"|getline|getdelim|open_memstream|free",
     ["base/arena.c", "runtime/tensor.c"], "take memory from base/arena.h"),
    (r"exit|_exit|quick_exit|abort", ["base/arena.c"], "report a diagnostic and return"),
    (r"printf|vprintf|puts|putchar|perror", [], "report a diagnostic"),
    (r"strtod|strtof|strtold|atof|atoi|atol|setlocale|scanf|fscanf|sscanf",
     [], "use base/number.h; the locale must not matter"),
    (r"setjmp|longjmp|sigsetjmp|siglongjmp", [], "return qgc_result"),
    (r"strtok|rand|srand|localtime|gmtime", [], "it has hidden state: not thread-safe"),
]
STDERR = ["base/arena.c"]  # the assert
# Single calls that are right: (file, call, why).
ALLOWED = [
    ("base/number.c", "strtof", "digits without a decimal point read alike in every locale"),
    ("base/number.c", "strtod", "digits without a decimal point read alike in every locale"),
]


def check_text(path, text):
    code = tree.blank(text)
    for calls, places, advice in RULES:
        if path in places:
            continue
        for match in re.finditer(rf"(?<![\w.>])({calls})\s*\(", code):
            call = match.group(1)
            if (path, call) not in {row[:2] for row in ALLOWED}:
                yield f"{path}:{tree.line_of(code, match.start())}: calls {call}: {advice}"
    if path not in STDERR:
        for match in re.finditer(r"\b(stderr|stdout)\b", code):
            yield f"{path}:{tree.line_of(code, match.start())}: uses {match.group()}: report a diagnostic"


def find(root):
    for path in tree.layer_files(root, [".c", ".h", ".def", ".re", ".y"]):
        yield from check_text(path, tree.read(root, path))


if __name__ == "__main__":
    tree.main(find)
