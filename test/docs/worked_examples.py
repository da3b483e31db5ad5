"""Carries out the worked examples of the how-to pages on a copy of the source tree: applies their
edits, lints and builds the copy, runs the new lit tests and the pages' `sh tree` blocks.

The copy and its build stay in BUILD/test/worked-examples, so that only what changed is built again.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import page as pages
import run_docs
from page import PageError

ROOT = run_docs.ROOT
LINTS = ("format", "layering", "directives", "calls", "sizes", "ops")


def source_files():
    """Path -> bytes of everything tracked or new."""
    listing = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard"],
                             check=True, capture_output=True).stdout.decode()
    return {path: (ROOT / path).read_bytes() for path in listing.split("\0")
            if path and (ROOT / path).is_file()}


def insert_before(block, text, start):
    lines = text.splitlines(keepends=True)
    found = [number for number, line in enumerate(lines) if line.startswith(start)]
    if len(found) != 1:
        raise PageError(block.line, f"{len(found)} lines start with '{start}', expected one")
    return "".join(lines[:found[0]]) + block.text + "".join(lines[found[0]:])


def apply_edit(block, files):
    """Changes |files| as the block says; returns the path."""
    if path := block.attrs.get("new"):
        if path in files:
            raise PageError(block.line, f"{path} exists already")
        files[path] = block.text.encode()
        return path
    path = block.attrs.get("append") or block.attrs["into"]
    if path not in files:
        raise PageError(block.line, f"there is no {path}")
    text = files[path].decode()
    if "append" in block.attrs:
        files[path] = (text + block.text).encode()
    else:
        files[path] = insert_before(block, text, block.attrs["before"]).encode()
    return path


def sync(files, tree):
    """Makes |tree| hold exactly |files|; untouched files keep their time stamp."""
    for path in tree.rglob("*"):
        if path.is_file() and path.relative_to(tree).as_posix() not in files:
            path.unlink()
    for name, data in files.items():
        path = tree / name
        if path.is_file() and path.read_bytes() == data:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if (ROOT / name).is_file():
            shutil.copymode(ROOT / name, path)


def run(*command, cwd=None):
    result = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False, stdin=subprocess.DEVNULL)
    if result.returncode:
        words = " ".join(map(str, command))
        raise PageError(0, f"{words}: exit code {result.returncode}\n"
                        + result.stdout.decode("utf-8", "replace")[-8000:])


def lint(tree, edited):
    """The lints' findings in the files that the pages change; the others have tests of their own."""
    for name in LINTS:
        result = subprocess.run([sys.executable, "-B", tree / f"test/lint/check_{name}.py", tree],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        found = [line for line in result.stdout.splitlines() if line.split(":")[0] in edited]
        if found or result.returncode not in (0, 1):
            raise PageError(0, f"lint {name}:\n" + "\n".join(found) + result.stderr)


def build(tree, build_directory):
    if not (build_directory / "build.ninja").is_file():
        run("cmake", "-G", "Ninja", "-S", tree, "-B", build_directory, "-DCMAKE_BUILD_TYPE=Debug",
            "-DCMAKE_C_FLAGS_DEBUG=-O0")
    run("ninja", "-C", build_directory, "-j", "2", "qgc")


def run_tree_blocks(path, blocks, tree, build_directory, update):
    env = run_docs.environment(build_directory)
    for block in blocks:
        if block.kind != "sh" or "tree" not in block.attrs:
            continue
        output = run_docs.run_shell(block, tree, env)
        if update and block.output and not run_docs.output_fits(block.output.text, output):
            block.output.text = output
        else:
            run_docs.check_output(block, output)
    if update:
        run_docs.write_outputs(path, blocks)


def check(read_pages, directory, lit, update):
    tree, build_directory = directory / "tree", directory / "build"
    files, edited = source_files(), set()
    for blocks in read_pages.values():
        for block in blocks:
            if block.is_tree() and block.kind != "sh":
                edited.add(apply_edit(block, files))
    sync(files, tree)
    lint(tree, edited)
    build(tree, build_directory)
    tests = sorted(path for path in edited if path.startswith("test/lit/"))
    if not tests:
        raise PageError(0, "the pages add no lit test")
    run(sys.executable, lit, "-v", *(build_directory / test for test in tests))
    for path, blocks in read_pages.items():
        run_tree_blocks(path, blocks, tree, build_directory, update)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="where qgc was built")
    parser.add_argument("--lit", type=pathlib.Path, required=True, help="LLVM's lit.py")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    os.environ.pop("CC", None)
    directory = arguments.build.resolve() / "test" / "worked-examples"
    directory.mkdir(parents=True, exist_ok=True)
    try:
        read_pages = {path: pages.read(path) for path in arguments.pages}
        check(read_pages, directory, arguments.lit, arguments.update)
    except PageError as error:
        print(f"line {error.line}: {error}" if error.line else error)
        sys.exit(1)
    print("the worked examples build and pass")


if __name__ == "__main__":
    main()
