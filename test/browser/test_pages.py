"""The driver's pages in a real browser. QGC_BUILD_DIR names a build; needs Chromium (tools/setup --with chromium)."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from browser import Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = pathlib.Path(os.environ["QGC_BUILD_DIR"]).resolve() / "qgc"
INPUTS = ROOT / "test/lit/tools/Inputs"

DATA = ["--data", "models/fashion-calibration-256-images-idx3-ubyte.gz", "--batch", "32"]
# Page -> command that writes it; all together show every part that pages are made of.
PAGES = {
    "diff": ["diff", "models/resnet.onnx", "{}/quantized.qir", "-o", "{}/diff.html"],
    "report": ["quantize", "models/mobilenet.onnx", *DATA, "--target", "cpu", "-o", "{}/lowered.qir", "--report",
               "{}/report.html"],
    "check": ["check", "{}/bad.qir", "-o", "{}/check.html"],
    "compare": ["compare", "models/resnet.onnx", "{}/quantized.qir", *DATA, "--limit", "64", "-o", "{}/compare.html"],
}
# An op that is not fused, and a function that is never called.
BAD = """func @main(%x: f32[N,4]) -> (f32[N,4], f32[N,4]) {
  %w = const 0.5 : f32[4,4]
  %c = linear %x, %w
  %r = relu %c
  %s = sigmoid %c
  return %r, %s
}
func @dead(%y: f32[N,4]) -> (f32[N,4]) {
  %z = neg %y
  return %z
}
"""
# Most of it stays as it is: a run of equal rows.
STUBS = """func @main(%x: f32[N,4]) -> (f32[N,4]) {
  %w = const 0.5 : f32[4,4]
  %a = cos %x
  %b = sin %a
  %c = cos %b
  %d = sin %c
  %e = cos %d
  %f = sin %e
  %g = cos %f
  %i = sin %g
  %j = cos %i
  %k = sin %j
  %l = cos %k
  %q = quant_stub %l
  %h = linear %q, %w
  %out = dequant_stub %h
  return %out
}
"""
IS_VISIBLE = "document.querySelector('%s').checkVisibility({contentVisibilityAuto: false})"


def run(*arguments):
    """Runs the driver; 1 says that graphs differ."""
    done = subprocess.run([DRIVER, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)


class Pages(unittest.TestCase):
    """What holds for every page, and the use of the single ones."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="qgc-pages-")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        cls.browser = cls.enterClassContext(Browser())
        run("quantize", "models/resnet.onnx", *DATA, "-o", f"{cls.directory}/quantized.qir")
        (cls.directory / "bad.qir").write_text(BAD, encoding="utf-8")
        for command in PAGES.values():
            run(*(word.replace("{}", str(cls.directory)) for word in command))

    def open(self, name, width=1300, scheme="light", fragment=""):
        """Loads a page, which must be silent: no error, no request but for itself."""
        self.browser.view(width, scheme=scheme)
        self.browser.open(str(self.directory / (name + ".html")), fragment)
        self.assertEqual(self.browser.errors, [])
        self.assertEqual([url for url in self.browser.requests if not url.startswith("file://")], [])
        self.assertEqual(len(self.browser.requests), 1)

    def value(self, expression):
        return self.browser.evaluate(expression)

    def search(self, text):
        self.value("document.querySelector('#search input').value = ''")
        self.browser.click("#search input")
        self.browser.type(text)
        self.browser.wait("document.querySelector('#search output').textContent !== ''")
        return self.value("document.querySelector('#search output').textContent")

    # ---- every page ----

    def test_wide_and_narrow(self):
        for name in PAGES:
            for width in (1300, 800, 360):
                self.open(name, width)
                wide = self.value("document.scrollingElement.scrollWidth - innerWidth")
                self.assertLessEqual(wide, 0, f"{name} at {width} is {wide} pixels too wide")

    def test_narrow_tables_fold_their_rows(self):
        for name in PAGES:
            for width, displays in ((420, "flex"), (1400, "table-row")):
                self.open(name, width)
                self.value("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
                wide = self.value("[...document.querySelectorAll('tbody')].map("
                                  "(body) => body.scrollWidth - body.parentNode.parentNode.clientWidth)")
                self.assertLessEqual(max(wide, default=0), 0, f"{name} at {width}: a table is too wide")
                self.assertEqual(self.value("getComputedStyle(document.querySelector('tbody tr')).display"), displays)
            self.open(name, 420)
            labels = self.value("[...document.querySelectorAll('td.n')].map((cell) => cell.dataset.label)")
            self.assertTrue(all(labels), name)

    def test_light_and_dark(self):
        for name in PAGES:
            colors = set()
            for scheme in ("light", "dark"):
                self.open(name, scheme=scheme)
                colors.add(self.value("getComputedStyle(document.body).backgroundColor"))
                self.assertGreater(self.contrast(), 7, f"{name}, {scheme}")
            self.assertEqual(len(colors), 2, name)

    def contrast(self):
        """Of the text with its ground, as WCAG defines it."""
        luminances = []
        for what in ("color", "backgroundColor"):
            text = self.value(f"getComputedStyle(document.body).{what}")
            parts = [int(part) / 255 for part in text[text.index("(") + 1:-1].split(",")[:3]]
            linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
            luminances.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
        return (max(luminances) + 0.05) / (min(luminances) + 0.05)

    def test_sections_are_linked(self):
        for name in PAGES:
            self.open(name)
            links = self.value("[...document.querySelectorAll('nav a')].map((link) => link.hash.slice(1))")
            sections = self.value("[...document.querySelectorAll('section')].map((section) => section.id)")
            self.assertEqual(links, sections if len(sections) > 1 else [], name)

    def test_a_table_sorts(self):
        for name in PAGES:
            self.open(name)
            if not self.value("!!document.querySelector('th')"):
                continue
            column = "[...document.querySelector('tbody').rows].map((row) => row.cells[0].textContent)"
            before = self.value(column)
            self.browser.click("th")
            self.assertEqual(self.value("document.querySelector('th').ariaSort"), "ascending")
            self.browser.click("th")
            self.assertEqual(self.value("document.querySelector('th').ariaSort"), "descending")
            self.assertEqual(sorted(self.value(column)), sorted(before), name)

    # ---- two graphs side by side ----

    def closed_row(self):
        """Id of a row in a closed run of the diff page."""
        row = self.value("document.querySelector('details:not([open]) .row')?.id")
        self.assertTrue(row, "no run is folded")
        return row

    def open_same(self):
        """A page of two graphs that differ in one op."""
        text = (INPUTS / "diff_base.qir").read_text(encoding="utf-8")
        (self.directory / "other.qir").write_text(text.replace("sigmoid", "softsign"), encoding="utf-8")
        run("diff", f"{INPUTS}/diff_base.qir", f"{self.directory}/other.qir", "-o",
            f"{self.directory}/same.html")
        self.open("same")

    def test_a_run_expands(self):
        self.open_same()
        row = self.closed_row()
        self.assertFalse(self.value(IS_VISIBLE % f"#{row}"))
        self.browser.click("details:not([open]) > summary")
        self.assertTrue(self.value(IS_VISIBLE % f"#{row}"))
        self.browser.click("details[open] > summary")
        self.assertFalse(self.value(IS_VISIBLE % f"#{row}"))

    def test_search_opens_and_closes_runs(self):
        self.open_same()
        self.closed_row()
        self.assertRegex(self.search("%x.dq"), r"1 / [2-9]")
        self.assertTrue(self.value(IS_VISIBLE % ".hit"))
        self.assertIn("%x.dq", self.value("document.querySelector('.hit').textContent"))
        first = self.value("document.querySelector('.hit').id")
        self.browser.press("Enter")
        self.assertNotEqual(self.value("document.querySelector('.hit').id"), first)
        self.assertEqual(self.value("document.querySelector('#search output').textContent")[:3], "2 /")
        self.browser.press("Escape")
        self.assertFalse(self.value("!!document.querySelector('.hit, details[open]')"))

    def test_search_finds_nothing(self):
        self.open_same()
        self.assertEqual(self.search("no such value"), "none")

    def test_address_searches(self):
        self.open_same()
        self.open("same", fragment="q=leaky")
        self.assertEqual(self.value("document.querySelector('#search input').value"), "leaky")
        self.assertTrue(self.value(IS_VISIBLE % ".hit"))

    def test_a_click_on_a_value_searches_it(self):
        self.open_same()
        self.browser.click(".row.changed .v")
        self.assertEqual(self.value("document.querySelector('#search input').value"), "%y")
        self.assertEqual(self.value("[...document.querySelectorAll('tbody tr:not(.hidden)')].length"), 1)

    def test_changed_words_are_marked(self):
        self.open_same()
        words = "[...CSS.highlights.get('%s')].map((range) => range.toString())"
        self.assertEqual(self.value(words % "was"), ["sigmoid"])
        self.assertEqual(self.value(words % "is"), ["softsign"])

    def test_sides(self):
        columns = "getComputedStyle(document.querySelector('.row')).gridTemplateColumns.split(' ').length"
        self.open_same()
        self.assertEqual(self.value(columns), 2)
        self.open("same", width=420)
        self.assertEqual(self.value(columns), 1)

    def test_a_difference_leads_to_its_row(self):
        self.open("diff")
        row = self.value("document.querySelector('tbody a').hash")
        self.browser.click("tbody a")
        self.browser.wait(f"document.querySelector('{row}').getBoundingClientRect().top < innerHeight")
        self.assertTrue(self.value(IS_VISIBLE % row))

    # ---- the report ----

    def test_the_report_is_searched_and_its_runs_expand(self):
        (self.directory / "stubs.qir").write_text(STUBS, encoding="utf-8")
        run("quantize", f"{self.directory}/stubs.qir", "--data", "docs/examples/samples.npy", "-o",
            f"{self.directory}/stubs.q.qir", "--report", f"{self.directory}/stubs.html")
        self.open("stubs")
        row = self.closed_row()
        run_of_row = f"document.querySelector('#{row}').closest('details')"
        self.value(f"{run_of_row}.id = 'run'")
        self.assertFalse(self.value(IS_VISIBLE % f"#{row}"))
        self.browser.click("#run > summary")
        self.assertTrue(self.value(IS_VISIBLE % f"#{row}"))
        self.assertRegex(self.search("%h"), r"1 / [2-9]")
        self.assertTrue(self.value(IS_VISIBLE % ".hit"))
        names = "[...document.querySelectorAll('#values tbody tr:not(.hidden) .v')].map((name) => name.textContent)"
        self.assertEqual(self.value(names), ["@main.%h"])

    # ---- findings ----

    def test_a_finding_is_searched(self):
        self.open("check")
        rows = "document.querySelectorAll('#checks .scroll')[0].querySelectorAll('tbody tr:not(.hidden)').length"
        self.assertEqual(self.value(rows), 2)
        self.browser.click("#checks td .v")
        self.assertEqual(self.value(rows), 1)
        self.browser.click("#search input")
        self.browser.press("Escape")
        self.assertEqual(self.value(rows), 2)
        self.assertFalse(self.value(IS_VISIBLE % "details td"))
        self.search("squared error")
        self.assertTrue(self.value(IS_VISIBLE % "details tr:not(.hidden) td"))

    # ---- plots ----

    def test_a_plot_names_its_points(self):
        self.open("compare")
        self.assertGreater(self.value("document.querySelectorAll('.point').length"), 10)
        x, y = self.value("""(() => {
            const plot = document.querySelector("figure.line svg");
            plot.scrollIntoView({block: "center"});
            const box = plot.getBoundingClientRect();
            return [box.left + box.width / 3, box.top + box.height / 2];
        })()""")
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        label = self.value("document.querySelector('figure.line output').textContent")
        self.assertRegex(label, r"%.*: -?[0-9inf]")
        self.browser.click("figure.line svg")
        self.assertIn(self.value("document.querySelector('#search input').value"),
                      self.value("document.body.textContent"))
        self.assertTrue(self.value("!!document.querySelector('.hit')"))

    # ---- size ----

    def test_a_thousand_ops(self):
        text = subprocess.run(["python3", INPUTS / "diff_properties.py", "--text", "1000"], check=True,
                              capture_output=True, text=True).stdout
        (self.directory / "a.qir").write_text(text, encoding="utf-8")
        (self.directory / "b.qir").write_text(text.replace("alpha = 0.1", "alpha = 0.2"), encoding="utf-8")
        run("diff", f"{self.directory}/a.qir", f"{self.directory}/b.qir", "-o", f"{self.directory}/big.html")
        self.assertLess((self.directory / "big.html").stat().st_size, 5e6)
        self.open("big")
        self.assertRegex(self.search("%v700 ="), "1 / ")
        self.assertTrue(self.value(IS_VISIBLE % ".hit"))


if __name__ == "__main__":
    unittest.main()
