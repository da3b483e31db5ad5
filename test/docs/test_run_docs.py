"""The runner finds the defect planted in a page and accepts its clean twin."""
import os
import pathlib
import tempfile
import unittest

import grammar
import lemon
import page as pages
import run_docs

BUILD = pathlib.Path(os.environ["QGC_BUILD_DIR"]).resolve()
QIR = "```qir file=a.qir\nfunc @f(%x: f32[2]) -> (f32[2]) {\n  return %x\n}\n```\n"
GRAMMAR = ('```ebnf start=rules\nrules ::= (IDENT word* ("=>" IDENT)? NEWLINE)*\n'
           "word ::= IDENT | STRING | INT{}\n```\n")


class Pages(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.page = pathlib.Path(directory.name) / "page.md"

    def run_page(self, text, update=False):
        self.page.write_text(text, encoding="utf-8")
        return run_docs.run_page(self.page, BUILD, update)

    def clean(self, text):
        self.assertIsNone(self.run_page(text))

    def found(self, text, line, words):
        message = self.run_page(text)
        self.assertIsNotNone(message)
        self.assertTrue(message.startswith(f"{self.page}:{line}: "), message)
        self.assertIn(words, message)

    def test_files_and_commands(self):
        self.clean(QIR + "\n```sh\nqgc opt a.qir | head -n 1\n```\n\n```text\n"
                   "func @f(%x: f32[2]) -> (f32[2]) {\n```\n")
        self.clean("```sh exit=3\nexit 3\n```\n")
        self.clean("````figure\n```\n````\n~~~sh\ntrue\n~~~\n")

    def test_output(self):
        self.found("x\n```sh\necho a; echo b >&2\n```\n```text\na\n```\n", 5, "found:\na\nb")
        self.clean("```sh\nseq 5\n```\n```text\n1\n...\n5\n```\n")
        self.found("```sh\nseq 5\n```\n```text\n1\n...\n6\n```\n", 4, "found:")
        self.found("```sh\necho a\n```\nand\n```text\na\n```\n", 5, "directly behind")
        self.found("```text\na\n```\n", 1, "directly behind")

    def test_exit_codes(self):
        self.found("```sh\nfalse\ntrue\n```\n", 1, "exit code 1")
        self.found("```sh\nfalse | true\n```\n", 1, "exit code 1")
        self.found("```sh exit=2\ntrue\n```\n", 1, "exit code 0, expected 2")

    def test_form(self):
        self.found("```\na\n```\n", 1, "without an info string")
        self.found("```bash\na\n```\n", 1, "unknown kind of block 'bash'")
        self.found("```sh quietly\na\n```\n", 1, "no attribute 'quietly'")
        self.found("a\n\n```sh\ntrue\n", 3, "not closed")
        self.found("a\n\n    qgc opt\n", 3, "indented code")
        self.found("[a](nowhere.md)\n", 1, "leads nowhere")
        self.clean("[a](page.md#x) [b](https://example.org)\n")
        self.found("```c file=../a.c\n```\n", 1, "leaves the scratch directory")

    def test_texts(self):
        self.found(QIR.replace("return", "retrun"), 1, "unknown op")
        self.clean("```qir fragment\n%y = relu %x : f32[2]\n```\n")
        self.found("```qir fragment\n%y = relu %x {alpha = 1}\n```\n", 1, "no attribute")
        self.clean("```qcfg\nop relu => float\n```\n")
        self.found("```qcfg\nop => =>\n```\n", 1, "unexpected")
        self.found("```qpat\nclaim\n```\n", 1, "unexpected")

    def test_manual(self):
        self.clean("```sh manual\n./tools/check # all\nbuild/debug/qgc docs\n```\n")
        self.found("```sh manual\n./tools/nope\n```\n", 1, "'./tools/nope'")
        self.found("```sh manual\nqgc opt\n```\n", 1, "'qgc'")

    def test_grammar(self):
        self.clean(GRAMMAR.format(""))
        self.found(GRAMMAR.format(" | VALUE"), 1, "refuses a sentence")
        self.found(GRAMMAR.format(" | thing"), 1, "no rule for thing")

    def test_grammar_of_the_parser(self):
        page = pages.Block("ebnf", {}, 1, 'module ::= "func"? IDENT\nrules ::= ("," INT)*\npatterns ::= INT',
                           0, 3)
        rules = grammar.parse_rules(page)
        parser = ("items ::= IDENT(A). { f(A, b); }\nitems ::= FUNC IDENT.\nitems ::= error NEWLINE.\n"
                  "rules ::= .\nrules(A) ::= rules(L) COMMA INT(T). [NEGATE] { A = L; }\npatterns ::= INT.\n")
        self.assertIsNone(lemon.first_difference(rules, parser))
        self.assertEqual(lemon.first_difference(rules, parser + "patterns ::= AT INT.\n"),
                         "patterns: AT INT")

    def test_update(self):
        self.assertIsNone(self.run_page("1. a\n   ```sh\n   echo b\n   ```\n   ```text\n   c\n   ```\n",
                                        update=True))
        self.assertEqual(self.page.read_text(encoding="utf-8"),
                         "1. a\n   ```sh\n   echo b\n   ```\n   ```text\n   b\n   ```\n")


if __name__ == "__main__":
    unittest.main()
