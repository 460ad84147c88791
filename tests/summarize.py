#!/usr/bin/env python3
"""Adds up the tests of one or more builds from their results folders.

A results folder holds ctest.xml, what ctest ran, and for tests that are many
in one their own JUnit file, which counts instead: gtest/NAME.xml of GoogleTest
and NAME.xml of lit and of the documentation. The last line is
"N passed, N failed, N skipped"; the exit code is 1 if a test failed or a
folder has no results.

Usage: summarize.py RESULTS-FOLDER...
"""
import pathlib
import sys
import xml.etree.ElementTree as xml


class Counts:
    def __init__(self):
        self.passed, self.failures, self.skips = 0, [], []

    def add(self, case, where):
        name = f"{where}{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            self.failures.append(name)
        elif skip is not None or case.get("status") in ("notrun", "disabled"):
            why = skip.get("message") if skip is not None else None
            self.skips.append(f"{name}: {why or 'disabled'}")
        else:
            self.passed += 1


def cases_of(path):
    """The test cases of a JUnit file; none if a crash left it unfinished."""
    try:
        return list(xml.parse(path).iter("testcase"))
    except (OSError, xml.ParseError):
        return []


def detailed_cases(folder, name):
    return cases_of(folder / "gtest" / f"{name}.xml") or \
        cases_of(folder / f"{name}.xml")


def summarize(folder, counts):
    tests = cases_of(folder / "ctest.xml")
    if not tests:
        counts.failures.append(f"{folder}: not built or not run")
    for test in tests:
        details = detailed_cases(folder, test.get("name"))
        failures = len(counts.failures)
        for case in details:
            counts.add(case, f"{test.get('name')}: ")
        if not details:
            counts.add(test, "")
        elif test.find("failure") is not None and \
                len(counts.failures) == failures:
            counts.failures.append(f"{test.get('name')}: failed as a whole")


def main():
    counts = Counts()
    for folder in map(pathlib.Path, sys.argv[1:]):
        summarize(folder, counts)
    for skip in counts.skips:
        print(f"skipped: {' '.join(skip.split())}")
    for failure in counts.failures:
        print(f"failed: {failure}")
    print(f"{counts.passed} passed, {len(counts.failures)} failed, "
          f"{len(counts.skips)} skipped")
    sys.exit(bool(counts.failures))


if __name__ == "__main__":
    main()
