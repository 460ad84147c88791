#!/usr/bin/env python3
"""Shows summarize.py results folders and compares what it counts."""
import pathlib
import tempfile
import unittest

import summarize

CTEST = """<testsuite>
  <testcase name="script" status="run"/>
  <testcase name="broken" status="fail"><failure message=""/></testcase>
  <testcase name="Units" status="run"/>
  <testcase name="Crash" status="fail"><failure message=""/></testcase>
  <testcase name="off" status="disabled"/>
  <testcase name="lit" status="fail"><failure message=""/></testcase>
</testsuite>"""
UNITS = """<testsuites><testsuite name="A">
  <testcase name="one" status="run"/>
  <testcase name="two" status="run"><skipped message="no data"/></testcase>
</testsuite></testsuites>"""
CRASH = "<testsuites><testsuite><testcase name='unfinished'/>"
LIT = """<testsuites><testsuite>
  <testcase name="a.mlir"/>
  <testcase name="b.mlir"><failure>text</failure></testcase>
</testsuite></testsuites>"""
PASSING_UNITS = UNITS.replace('name="A"', 'name="Crash"')


class Summarize(unittest.TestCase):
    def counts(self, **files):
        counts = summarize.Counts()
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "gtest").mkdir()
            for name, text in files.items():
                path = name.replace("_", "/") + ".xml"
                (pathlib.Path(folder) / path).write_text(text)
            summarize.summarize(pathlib.Path(folder), counts)
        return counts

    def test_details_count_instead_of_their_whole(self):
        counts = self.counts(ctest=CTEST, gtest_Units=UNITS,
                             gtest_Crash=CRASH, lit=LIT)
        self.assertEqual(counts.passed, 3)  # script, one, a.mlir
        self.assertEqual(counts.failures, ["broken", "Crash", "lit: b.mlir"])
        self.assertEqual(counts.skips, ["Units: two: no data",
                                        "off: disabled"])

    def test_failure_outside_the_cases(self):
        counts = self.counts(ctest=CTEST, gtest_Crash=PASSING_UNITS)
        self.assertIn("Crash: failed as a whole", counts.failures)

    def test_nothing_was_run(self):
        self.assertEqual(len(self.counts().failures), 1)


if __name__ == "__main__":
    unittest.main()
