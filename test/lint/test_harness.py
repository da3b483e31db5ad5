"""The lit suite's configuration, tried on a program with planted defects in the place of the driver.
QGC_BUILD_DIR names a configured build, QGC_LIT lit.py."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void leak(int n)
{
    for (int i = 0; i < 10 * n; i++) /* the last one may stay visible in a register */
        printf("%p\n", memset(malloc(10), i, 10));
}
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "--version")) /* the configuration asks for the CPU levels */
        return 0;
    volatile int big = 0x7fffffff;
    char *memory = malloc(10);
    memset(memory, argc, 10);
    if (!strcmp(what, "overflow"))
        memory[9 + argc - 1]++;
    if (!strcmp(what, "undefined"))
        big = big + argc;
    if (!strcmp(what, "abort"))
        abort();
    printf("%d\n", memory[0]);
    free(memory);
    if (!strcmp(what, "leak"))
        leak(argc);
    return *what ? 2 : 0;
}
"""


class Harness(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.root = pathlib.Path(directory.name)
        (cls.root / "qgc.c").write_text(PROGRAM, encoding="utf-8")
        subprocess.run(["clang-19", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
                        "qgc.c", "-o", "qgc"], check=True, cwd=cls.root)
        site = pathlib.Path(os.environ["QGC_BUILD_DIR"]) / "test/lit/lit.site.cfg.py"
        text = re.sub(r'qgc_build_dir = .*', f'qgc_build_dir = "{cls.root}"', site.read_text())
        text += f'\nconfig.test_source_root = "{cls.root}/suite"\n'
        (cls.root / "suite").mkdir()
        (cls.root / "suite/lit.site.cfg.py").write_text(text)

    def passes(self, run_line):
        test = self.root / "suite/a.qir"
        test.write_text(f"// {run_line}\n// CHECK: 1\n", encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", os.environ["QGC_LIT"], "-q", self.root / "suite"],
                              capture_output=True, check=False)
        return done.returncode == 0

    def test_success(self):
        self.assertTrue(self.passes("RUN: qgc | FileCheck %s && qgc | count 1"))
        self.assertFalse(self.passes("RUN: not qgc"))

    def test_expected_failure(self):
        self.assertTrue(self.passes("RUN: not qgc refuse"))
        self.assertFalse(self.passes("RUN: qgc refuse | FileCheck %s"))

    def test_a_finding_is_no_expected_failure(self):
        for defect in ("overflow", "undefined", "leak", "abort"):
            self.assertFalse(self.passes("RUN: not qgc " + defect), defect)


if __name__ == "__main__":
    unittest.main()
