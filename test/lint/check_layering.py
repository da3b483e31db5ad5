"""#include lines that break the layering of docs/architecture.md."""
import fnmatch
import pathlib
import re

import tree

# Files -> what they may include by quotes; the first row that fits a file counts. A pattern names
# paths from the root; "qgc/*" is the public API, "./*" a header of the same directory.
RULES = [
    ("base/*", ["qgc/*", "base/*"]),
    # what a scale may be is decided once, in runtime/quant.c
    ("ir/*quant*", ["qgc/*", "base/*", "ir/*", "runtime/quant.h"]),
    ("ir/op_int*", ["qgc/*", "base/*", "ir/*", "runtime/quant.h"]),
    ("ir/*", ["qgc/*", "base/*", "ir/*"]),
    # the importer folds constants with the reference kernels
    ("frontend/onnx/*", ["qgc/*", "base/*", "ir/*", "frontend/*", "runtime/interp.h",
                         "runtime/file.h", "runtime/tensor.h"]),
    # weights are safetensors files
    ("frontend/*", ["qgc/*", "base/*", "ir/*", "frontend/*", "runtime/safetensors.h",
                    "runtime/file.h", "runtime/hash.h", "runtime/tensor.h"]),
    # claim rows are text
    ("passes/claims.[ch]", ["qgc/*", "base/*", "ir/*", "passes/*", "frontend/rules.h",
                            "frontend/parse.h"]),
    # quantizer tables too
    ("passes/quantizer.c", ["qgc/*", "base/*", "ir/*", "passes/*", "frontend/parse.h"]),
    # const-fold evaluates, convert quantizes
    # rules files and claims are text
    ("passes/rules*.[ch]", ["qgc/*", "base/*", "ir/*", "passes/*", "runtime/*", "frontend/rules.h",
                            "frontend/parse.h", "frontend/lex.h"]),
    ("passes/*", ["qgc/*", "base/*", "ir/*", "passes/*", "runtime/*"]),
    ("runtime/interp*", ["qgc/*", "base/*", "runtime/*", "ir/*"]),
    ("runtime/ref/ref.c", ["qgc/*", "base/*", "runtime/*", "ir/view.h", "ir/ops.def"]),
    ("runtime/ref/*", ["qgc/*", "base/*", "runtime/*", "ir/view.h", "ir/einsum.h",
                        "ir/nms.h", "ir/unique.h"]),
    ("runtime/*", ["qgc/*", "base/*", "runtime/*"]),
    # regions of plug-ins are read through the claim rows and views that partition formed them by
    ("codegen/foreign*", ["qgc/*", "base/*", "ir/*", "runtime/*", "codegen/*", "passes/claims.h",
                          "passes/targets.h", "passes/view.h"]),
    ("codegen/*", ["qgc/*", "base/*", "ir/*", "runtime/*", "codegen/*"]),
    ("include/qgc/*", ["qgc/*"]),
    ("tools/*", ["qgc/*", "./*"]),
    ("plugins/*", ["qgc/backend.h", "./*"]),
    ("test/plugin/*", ["qgc/backend.h"]),
    # White box where text cannot reach: memory, dimensions, numerics.
    ("test/unit/engine*", ["qgc/*", "./*", "base/*", "runtime/*", "codegen/region.h"]),
    ("test/unit/spill*", ["qgc/*", "./*", "base/*", "ir/*", "codegen/*"]),
    ("test/unit/*", ["qgc/*", "./*", "base/*", "ir/dim*.h", "runtime/*"]),
    ("test/differential/*", ["qgc/*", "./*", "base/*", "ir/*", "runtime/*", "codegen/*"]),
    ("test/fuzz/*", ["qgc/*", "./*", "base/*", "frontend/*", "runtime/*"]),
]
LLVM_ONLY_IN = "codegen/"
# Layers that stand on the C library alone.
NO_THIRD_PARTY = ("base/", "ir/", "passes/", "include/qgc/")
C_LIBRARY = set("""
    assert ctype errno fenv float inttypes limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string threads time uchar wchar wctype
    dirent dlfcn fcntl langinfo pthread sched strings sys/mman sys/stat sys/time sys/types unistd
    """.split())
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def resolve(root, path, name):
    """The included file as RULES name it."""
    beside = pathlib.Path(path).parent / name
    if "/" not in name and (pathlib.Path(root) / beside).is_file():
        return beside.as_posix()
    return name


def check_quoted(root, path, name):
    allowed = next((row for files, row in RULES if fnmatch.fnmatch(path, files)), None)
    if allowed is None:
        return None
    target = resolve(root, path, name)
    same_directory = pathlib.Path(target).parent == pathlib.Path(path).parent
    for pattern in allowed:
        if fnmatch.fnmatch(target, pattern) or (pattern == "./*" and same_directory):
            return None
    return f'includes "{target}"; it may include {", ".join(allowed)}'


def check_angled(path, name):
    if name.startswith(("llvm-c/", "llvm/")) and not path.startswith(LLVM_ONLY_IN):
        return f"includes <{name}>; LLVM belongs to {LLVM_ONLY_IN}"
    if path.startswith(NO_THIRD_PARTY) and name.removesuffix(".h") not in C_LIBRARY:
        return f"includes <{name}>; this layer stands on the C library"
    return None


def find(root):
    for path in tree.files(root, [".c", ".h", ".def", ".re", ".y"]):
        text = tree.blank(tree.read(root, path), keep_strings=True)
        for match in INCLUDE.finditer(text):
            quoted, angled = match.groups()
            message = check_quoted(root, path, quoted) if quoted else check_angled(path, angled)
            if message:
                yield f"{path}:{tree.line_of(text, match.start())}: {message}"


if __name__ == "__main__":
    tree.main(find)
