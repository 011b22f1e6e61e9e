#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count the test cases of one ctest run.

usage: count-tests.py JUNIT_FILE RESULTS_DIR

A test that left RESULTS_DIR/<name>.tap counts case by case, every other test is one case.
What cannot be counted counts as failed: a plan that was not run to its end, a test that
ctest calls failed though its TAP holds no failure (a crash, a timeout), a test that did
not run. Failures are named on stderr; stdout gets "PASSED FAILED SKIPPED".
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

LINE = re.compile(r"(not )?ok\b(?:\s+\d+)?[\s-]*(.*)")
PLAN = re.compile(r"1\.\.(\d+)")


def tap_cases(text):
    """(verdict, name) of each case; verdict is 'passed', 'failed' or 'skipped'."""
    cases, planned = [], None
    for line in text.splitlines():
        if plan := PLAN.match(line):
            planned = int(plan[1])
        elif case := LINE.match(line):
            skipped = re.search(r"#\s*skip", case[2], re.I)
            verdict = "skipped" if skipped else "failed" if case[1] else "passed"
            cases.append((verdict, case[2]))
        elif line.startswith("Bail out!"):
            cases.append(("failed", line))
    if planned is None:
        cases.append(("failed", "no TAP plan"))
    elif planned > len(cases):
        missing = planned - len(cases)
        cases += [("failed", f"a planned case that never ran ({missing} of {planned})")] * missing
    return cases


def test_cases(test, results):
    """The cases of one <testcase> of ctest's JUnit file."""
    status = test.get("status")
    if status == "disabled" or test.find("skipped") is not None and status != "notrun":
        return [("skipped", "")]
    tap = results / (test.get("name") + ".tap")
    green = status == "run"
    if not tap.exists():
        return [("passed" if green else "failed", status)]
    cases = tap_cases(tap.read_text(errors="replace"))
    if not green and not any(verdict == "failed" for verdict, _ in cases):
        cases.append(("failed", f"ended badly ({status}) though no case failed"))
    return cases


def main(junit, results):
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for test in ET.parse(junit).getroot().iter("testcase"):
        for verdict, name in test_cases(test, pathlib.Path(results)):
            count[verdict] += 1
            if verdict == "failed":
                print(f"FAILED {test.get('name')}: {name}", file=sys.stderr)
    print(count["passed"], count["failed"], count["skipped"])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
