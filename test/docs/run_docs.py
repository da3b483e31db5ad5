"""Runs a documentation page: writes its files, runs its commands, compares their output.

    run_docs.py --build BUILD PAGE...            each page as docs/testing.md describes
    run_docs.py --build BUILD --update PAGE...   writes the real output into the page's text blocks
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import grammar
import lemon
import page as pages
from page import PageError

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Errors that a fragment of a function body has by nature: undefined values, no return.
FRAGMENT_ERRORS = {"E0201", "E0208"}
# What an sh block marked manual may call: it is not run, because it builds or installs.
MANUAL = {"cmake", "ninja", "git", "cd"}
SYNTAX = {"qir": "module", "qcfg": "rules", "qpat": "patterns"}


def environment(build):
    """What sh blocks see: the build's qgc, where sources and build are, no locale."""
    return {**os.environ, "PATH": f"{build}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C", "QGC_THREADS": "1", "QGC_CACHE": "",
            "QGC_SOURCE": str(ROOT), "QGC_BUILD": str(build)}


def run_shell(block, directory, env):
    """Runs the block; returns its output (stdout and stderr as they come)."""
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=directory, env=env,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                            stdin=subprocess.DEVNULL, check=False)
    output = result.stdout.decode("utf-8", "replace")
    expected = int(block.attrs.get("exit", 0))
    if result.returncode != expected:
        raise PageError(block.line, f"exit code {result.returncode}, expected {expected}; output:\n"
                        + output)
    return output


def output_fits(expected, output):
    """Exact, but a line `...` in |expected| stands for any lines."""
    parts = re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE)
    pattern = "(?:.*\n)*?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, output) is not None


def check_output(block, output):
    expected = block.output.text if block.output else None
    if expected is not None and not output_fits(expected, output):
        raise PageError(block.output.line, f"expected:\n{expected}found:\n{output}")


def check_manual(block):
    for line in block.text.splitlines():
        program = line.split("#")[0].split()[:1]
        for name in program:
            known = name in MANUAL or name.startswith("build/") or os.access(ROOT / name, os.X_OK)
            if not known:
                raise PageError(block.line, f"a manual block calls '{name}'; it may call files of "
                                f"the tree or of build/ and {', '.join(sorted(MANUAL))}")


def qgc_opt(block, directory, env, text, *options):
    path = directory / ".block"
    path.write_text(text, encoding="utf-8")
    return subprocess.run(["qgc", "opt", path, f"--syntax={SYNTAX[block.kind]}", *options], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True,
                          timeout=60)


def check_fragment(block, directory, env):
    text = "func @fragment() -> () {\n" + block.text + "}\n"
    result = qgc_opt(block, directory, env, text, "--diag-format=json")
    diagnostics = [json.loads(line) for line in result.stderr.splitlines()]
    errors = [d for d in diagnostics if d["severity"] == "error"]
    if result.returncode not in (0, 2) or any(d["code"] not in FRAGMENT_ERRORS for d in errors):
        raise PageError(block.line, "the fragment is not valid:\n" + result.stderr)


def check_text(block, directory, env):
    """The text parses and verifies."""
    if "fragment" in block.attrs:
        check_fragment(block, directory, env)
        return
    result = qgc_opt(block, directory, env, block.text)
    if result.returncode:
        raise PageError(block.line, "the text is not valid:\n" + result.stderr)


def write_file(block, directory):
    name = pathlib.PurePath(block.attrs["file"])
    if name.is_absolute() or ".." in name.parts:
        raise PageError(block.line, f"file={name} leaves the scratch directory")
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def check_grammar(block, directory, env):
    rules = grammar.check(block, directory, env)
    if not lemon.START.keys() <= rules.keys():
        return  # a part of the grammar
    missing = lemon.first_difference(rules, (ROOT / "frontend/grammar.y").read_text(encoding="utf-8"))
    if missing:
        raise PageError(block.line, f"the parser takes what the grammar does not have: {missing}")


def root_view(directory):
    """A directory that looks like the source tree; new files stay in the scratch directory."""
    view = directory / ".root"
    if not view.is_dir():
        view.mkdir()
        for path in ROOT.iterdir():
            (view / path.name).symlink_to(path)
    return view


def run_block(block, directory, env, update):
    if block.is_tree() or block.kind == "figure":
        return
    if "file" in block.attrs:
        write_file(block, directory)
    if block.kind in SYNTAX:
        check_text(block, directory, env)
    elif block.kind == "ebnf":
        check_grammar(block, directory, env)
    elif "manual" in block.attrs:
        check_manual(block)
    elif block.kind == "sh":
        output = run_shell(block, root_view(directory) if "root" in block.attrs else directory, env)
        if update and block.output and not output_fits(block.output.text, output):
            block.output.text = output
        else:
            check_output(block, output)


def write_outputs(path, blocks):
    """The page with the text blocks as they are now."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for block in reversed([b.output for b in blocks if b.output]):
        indented = [" " * block.indent + line for line in block.text.splitlines(keepends=True)]
        lines[block.line:block.last_line - 1] = indented
    path.write_text("".join(lines), encoding="utf-8")


def run_page(path, build, update=False):
    """None, or a message `page:line: what`."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="qgc-docs-"))
    try:
        blocks = pages.read(path)
        for block in blocks:
            run_block(block, directory, environment(build), update)
        if update:
            write_outputs(path, blocks)
        return None
    except PageError as error:
        return f"{path}:{error.line}: {error}"
    finally:
        shutil.rmtree(directory)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="where qgc was built")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    messages = [run_page(path, build, arguments.update) for path in arguments.pages]
    print("\n".join(filter(None, messages)) or f"{len(messages)} pages are true")
    sys.exit(1 if any(messages) else 0)


if __name__ == "__main__":
    main()
