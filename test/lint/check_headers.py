"""Headers that do not compile alone and twice: all as C11, include/qgc/ without extensions and also
as C++17."""
import concurrent.futures
import os
import pathlib
import subprocess

import tree

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


def compile_alone(root, header, compiler, standard, options):
    """The first error line, or None."""
    include = header.removeprefix("include/")
    program = f'#include "{include}"\n#include "{include}"\n'
    language = "c++" if "++" in standard else "c"
    program += "extern int empty_unit;\n"
    done = subprocess.run(
        [compiler, "-std=" + standard, *STRICT, *options, "-x", language, "-"],
        input=program, text=True, capture_output=True, cwd=root,
        env={**os.environ, "LC_ALL": "C"}, check=False)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return f"{header}:1: does not compile alone as {standard}: {(errors or ['?'])[0]}"


def jobs(root, options):
    for header in tree.files(root, [".h"]):
        if header.startswith("include/"):
            yield header, "gcc", "c11", ["-Iinclude"]
            yield header, "g++", "c++17", ["-Iinclude"]
        else:
            yield header, "gcc", "c11", ["-D_GNU_SOURCE", "-Iinclude", "-I.", *options]


def find(root, include=()):
    options = [f"-isystem{directory}" for directory in include if pathlib.Path(directory).is_dir()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: compile_alone(root, *job), jobs(root, options))
    return [message for message in results if message]


if __name__ == "__main__":
    tree.main(find, "include")
