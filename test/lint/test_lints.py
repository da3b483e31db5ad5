"""Each lint finds the defect planted for it and accepts the clean twin beside it."""
import pathlib
import tempfile
import unittest

import check_calls
import check_directives
import check_format
import check_headers
import check_layering
import check_ops
import check_order
import check_sizes


class LintTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)

    def findings(self, lint, path, text, **options):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        found = list(lint.find(self.root, **options))
        file.unlink()
        return found

    def assert_clean(self, lint, path, text):
        self.assertEqual(self.findings(lint, path, text), [])

    def assert_found(self, lint, path, text, line, words):
        """One finding, at this line, that says these words."""
        found = self.findings(lint, path, text)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{path}:{line}: "), found)
        self.assertIn(words, found[0])


class Order(LintTest):
    BODY = "static void f(onnx_import *im)\n{\n    %s\n}\n"

    def found(self, text):
        self.assert_found(check_order, "frontend/onnx/a.c", self.BODY % text, 3, "have effects")

    def clean(self, text):
        self.assert_clean(check_order, "frontend/onnx/a.c", self.BODY % text)

    def test_arguments(self):
        self.found('onnx_binary(im, "add", onnx_need(im, 0), onnx_need(im, 1));')
        self.found("g(1, onnx_need(im, 0),\n        h(onnx_cast(im, x, t)));")

    def test_initializer(self):
        self.found("value *list[] = {onnx_need(im, 0), NULL, onnx_in(im, 1)};")
        self.found("f((pair){as_index(im, x), onnx_in(im, 1)});")

    def test_clean(self):
        self.clean('value *a = onnx_need(im, 0), *b = onnx_need(im, 1);\n    onnx_binary(im, "add", a, b);')
        self.clean("onnx_define(im, 0, onnx_end(im, onnx_begin(im, x)));")
        self.clean('f(onnx_int(im, "axis", 0), onnx_need(im, 0));')
        self.clean("if (!g(im, 1) || !h(im, 2)) {\n        k(im, 1);\n        k(im, 2);\n    }")

    def test_elsewhere(self):
        self.assert_clean(check_order, "ir/a.c", self.BODY % "f(g(im, 0), h(im, 1));")


class Directives(LintTest):
    RUN = "// RUN: qgc opt %s | FileCheck %s\n"

    def found(self, text, line, words):
        self.assert_found(check_directives, "test/lit/a.qir", text, line, words)

    def clean(self, text):
        self.assert_clean(check_directives, "test/lit/a.qir", text)

    def test_clean(self):
        self.clean(self.RUN + "// CHECK-LABEL: func @f\n// CHECK-COUNT-2: add\n// CHECK{LITERAL}: [[\n")
        self.clean("// RUN: qgc %s | FileCheck %s \\\n// RUN: --check-prefixes=A,B\n// A: x\n// B-NOT: y\n")
        self.clean("// RUN: qgc %s --verify-diagnostics\n%x = // expected-error@+1 {{bad}}\n")
        self.clean(self.RUN + "// CHECK: x\n// The verifier checks (C1): see there.\n")

    def test_missing_colon(self):
        self.found(self.RUN + "// CHECK: x\n// CHECK-LABEL @f\n", 3, "without its colon")

    def test_missing_colon_of_named_prefix(self):
        run = "// RUN: qgc %s | FileCheck %s --check-prefix=SUM\n"
        self.found(run + "// SUM: x\n// SUM-NEXT y\n", 3, "without its colon")

    def test_run_without_colon(self):
        self.found(self.RUN + "// RUN qgc %s\n// CHECK: x\n", 2, "'RUN' without its colon")

    def test_misspelt_suffix(self):
        self.found(self.RUN + "// CHECK-NXT: x\n", 2, "unknown directive")

    def test_unused_prefix(self):
        self.found(self.RUN + "// CHECK: x\n// OTHER-NEXT: y\n", 3, "no RUN line uses")

    def test_default_prefix_unused(self):
        run = "// RUN: qgc %s | FileCheck --check-prefix=SUM %s\n"
        self.found(run + "// SUM: x\n// CHECK: y\n", 3, "no RUN line uses")

    def test_no_run(self):
        self.found("func @f() {}\n", 1, "no RUN line")

    def test_expectation_nobody_verifies(self):
        self.found("// RUN: qgc %s\n// expected-error@+1 {{bad}}\n", 2, "--verify-diagnostics")

    def test_expectation_without_text(self):
        run = "// RUN: qgc %s --verify-diagnostics\n"
        self.found(run + "// expected-error@+1 bad\n", 2, "without its {{text}}")

    def test_unknown_expectation(self):
        run = "// RUN: qgc %s --verify-diagnostics\n"
        self.found(run + "// expected-eror {{bad}}\n", 2, "unknown expectation")

    def test_negation_that_accepts_a_crash(self):
        self.found("// RUN: ! qgc %s\n", 1, "use 'not'")

    def test_inputs_are_not_tests(self):
        self.assert_clean(check_directives, "test/lit/Inputs/a.qir", "func @f() {}\n")


class Headers(LintTest):
    def test_clean(self):
        text = "#ifndef A_H\n#define A_H\n#include <stddef.h>\nsize_t f(void);\n#endif\n"
        self.assert_clean(check_headers, "base/a.h", text)
        self.assert_clean(check_headers, "include/qgc/a.h", text)

    def test_missing_include(self):
        text = "#ifndef A_H\n#define A_H\nuint8_t f(void);\n#endif\n"
        self.assert_found(check_headers, "base/a.h", text, 1, "alone as c11")

    def test_missing_guard(self):
        self.assert_found(check_headers, "base/a.h", "struct s { int i; };\n", 1, "alone as c11")

    def test_public_header_that_is_not_cpp(self):
        text = "#ifndef A_H\n#define A_H\nint f(int class);\n#endif\n"
        self.assert_found(check_headers, "include/qgc/a.h", text, 1, "alone as c++17")


class Layering(LintTest):
    def found(self, path, include, words):
        self.assert_found(check_layering, path, f"// x\n#include {include}\n", 2, words)

    def clean(self, path, include):
        self.assert_clean(check_layering, path, f"#include {include}\n")

    def test_clean(self):
        self.clean("base/a.c", '"qgc/base.h"')
        self.clean("passes/a.c", '"ir/graph.h"')
        self.clean("runtime/interp_run.c", '"ir/view.h"')
        self.clean("runtime/ref/conv.c", '"ir/view.h"')
        self.clean("codegen/llvm/a.c", "<llvm-c/Core.h>")
        self.clean("runtime/npz.c", "<zip.h>")
        self.clean("tools/qgc.c", '"qgc/qgc.h"')
        self.clean("test/unit/dim.c", '"ir/dim.h"')
        self.clean("ir/a.c", "<sys/mman.h>")
        self.assert_clean(check_layering, "ir/a.c", '// #include "frontend/parse.h"\n')

    def test_upward(self):
        self.found("base/a.c", '"ir/graph.h"', "may include")
        self.found("ir/a.c", '"frontend/parse.h"', "may include")
        self.found("passes/a.c", '"frontend/parse.h"', "may include")
        self.found("frontend/lex.re", '"passes/manager.h"', "may include")

    def test_runtime_sees_ir_through_one_header(self):
        self.found("runtime/ref/conv.c", '"ir/graph.h"', "may include")
        self.found("runtime/tensor.c", '"ir/view.h"', "may include")

    def test_clients_see_the_public_api(self):
        self.found("tools/qgc.c", '"base/arena.h"', "may include")
        self.found("test/unit/graph.c", '"ir/graph.h"', "may include")
        self.found("include/qgc/a.h", '"base/arena.h"', "may include")

    def test_llvm(self):
        self.found("runtime/a.c", "<llvm-c/Core.h>", "LLVM belongs to")

    def test_third_party_below(self):
        self.found("base/a.c", "<jansson.h>", "stands on the C library")


class Calls(LintTest):
    def found(self, path, call, words):
        self.assert_found(check_calls, path, f"void f(void)\n{{\n    {call};\n}}\n", 3, words)

    def clean(self, path, call):
        self.assert_clean(check_calls, path, f"void f(void)\n{{\n    {call};\n}}\n")

    def test_clean(self):
        self.clean("base/arena.c", "p = malloc(3)")
        self.clean("ir/a.c", "/* free(p) */ qgc_free(p); arena->free(p); g(\"exit(1)\")")
        self.clean("tools/qgc.c", "exit(1)")
        self.clean("base/number.c", "strtof(digits, NULL)")

    def test_memory(self):
        self.found("ir/a.c", "p = calloc(3, 4)", "arena")
        self.found("runtime/a.c", "free(p)", "arena")

    def test_ending_the_process(self):
        self.found("passes/a.c", "abort()", "diagnostic")

    def test_terminal(self):
        self.found("passes/a.c", "printf(\"x\")", "diagnostic")
        self.found("passes/a.c", "fputs(\"x\", stderr)", "diagnostic")

    def test_locale(self):
        self.found("frontend/lex.re", "x = strtod(s, NULL)", "locale")


class Sizes(LintTest):
    @staticmethod
    def function(lines, body="    x++;\n", note=""):
        return f"static int f(int x)\n{{\n{note}" + body * (lines - 3 - bool(note)) + "}\n"

    def test_clean(self):
        self.assert_clean(check_sizes, "ir/a.c", self.function(80))
        note = "    // NOLINT(readability-function-size): one row per op\n"
        self.assert_clean(check_sizes, "ir/a.c", self.function(90, note=note))
        table = "static const struct row rows[] = {\n" + "    {1, 2},\n" * 200 + "};\n"
        self.assert_clean(check_sizes, "ir/a.c", table)
        self.assert_clean(check_sizes, "ir/ops.def", "x\n" * 2000)

    def test_long_function(self):
        self.assert_found(check_sizes, "ir/a.c", "int g;\n" + self.function(81), 2, "f has 81 lines")

    def test_long_function_after_another(self):
        text = self.function(10) + "\n" + self.function(100)
        self.assert_found(check_sizes, "ir/a.c", text, 12, "f has 100 lines")

    def test_brace_in_a_literal(self):
        body = "    c = '{';\n    s = \"{\";\n"
        text = self.function(20, body) + self.function(100)
        self.assertEqual(len(self.findings(check_sizes, "ir/a.c", text)), 1)

    def test_nesting(self):
        def nested(depth):
            return ("int f(int x)\n{\n" + "    if (x) {\n" * depth + "        x++;\n"
                    + "    }\n" * depth + "}\n")
        self.assert_clean(check_sizes, "ir/a.c", nested(4))
        self.assert_found(check_sizes, "ir/a.c", nested(5), 1, "nests 5 deep")

    def test_initializers_do_not_nest(self):
        body = "    s = (struct s){{{{{{1}}}}}};\n"
        self.assert_clean(check_sizes, "ir/a.c", self.function(10, body))

    def test_long_file(self):
        self.assert_found(check_sizes, "ir/a.c", "int x;\n" * 1001, 1, "1001 lines")


class Ops(LintTest):
    ROW = ('#define FAMILY "x"\nQGC_OP(HINGE, "hinge", infer_hinge, ref_hinge,\n'
           '    .summary = "max(0, 1 - x).",\n    .rules = "(C1) x is \\"far\\".\\n"\n'
           '             "(C2) x is near.",\n    .example = "%y = hinge %x : f32[2]")\n')
    TEST = ("func @f(%x: f32[2]) -> (f32[2]) {\n  %y = hinge %x // hinge\n  return %y\n}\n"
            "// expected-note@+1 {{rule hinge_c1}}\n// expected-note@+1 {{rule hinge_c2}}\n")

    def lint(self, row, test):
        file = self.root / "test/lit/ops/hinge.qir"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(test, encoding="utf-8")
        return self.findings(check_ops, "ir/ops/x.def", row)

    def found(self, row, test, words):
        found = self.lint(row, test)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith("ir/ops/x.def:2: "), found)
        self.assertIn(words, found[0])

    def test_clean(self):
        self.assertEqual(self.lint(self.ROW, self.TEST), [])

    def test_op_without_test(self):
        self.found(self.ROW, self.TEST.replace("= hinge", "= other"), "uses hinge")

    def test_rule_without_test(self):
        self.found(self.ROW, self.TEST.replace("hinge_c2", "hinge_c22"), "expects rule hinge_c2")

    def test_rows(self):
        self.found(self.ROW.replace("(C2)", "(C3)"), self.TEST + "rule hinge_c3", "[1, 3]")
        self.found(self.ROW.replace(".summary", ".detail"), self.TEST, "no summary")
        self.found(self.ROW.replace("= hinge", "= hinges"), self.TEST, "no example")

    def test_diagnostics(self):
        row = 'QGC_DIAG(X_Y, "E0999", ERROR, "x", "y")\n'
        self.assert_found(check_ops, "include/qgc/diags.def", row, 1, "nothing reports X_Y")
        file = self.root / "ir/a.c"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("/* QGC_D_X_Y */\n", encoding="utf-8")
        self.assert_found(check_ops, "include/qgc/diags.def", row, 1, "nothing reports X_Y")
        file.write_text("int i = QGC_D_X_Y;\n", encoding="utf-8")
        self.assert_clean(check_ops, "include/qgc/diags.def", row)


class Format(LintTest):
    def test_clean(self):
        self.assert_clean(check_format, "base/a.c", "int x;\n")

    def test_unformatted(self):
        self.assert_found(check_format, "base/a.c", "int y;\nint   x;\n", 2, "not formatted")


if __name__ == "__main__":
    unittest.main()
