#!/usr/bin/env python3
"""Closes a test run: reads CTest's JUnit report, names what failed and what was skipped and why,
and ends with the line "N passed, N failed[, N skipped]". Exits 1 when a test failed or none ran."""

import sys
import xml.etree.ElementTree as ElementTree

# CTest reports a test whose program is missing or whose fixture failed as "not run", like one that
# skipped itself; only these messages are skips.
SKIPS = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION", "Disabled")


def reason(case):
    for line in (case.findtext("system-out") or "").splitlines():
        if "SKIP" in line:
            return line.strip()
    return "no reason printed"


def main():
    try:
        cases = ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        print(f"no test report: {error}", file=sys.stderr)
        cases = []
    passed, failed, skipped = [], [], []
    for case in cases:
        skip = case.find("skipped")
        message = skip.get("message", "") if skip is not None else ""
        if case.get("status") == "run":
            passed.append(case)
        elif message.startswith(SKIPS) or case.get("status") == "disabled":
            skipped.append(case)
        else:
            failed.append((case, message or "failed"))
    for case in skipped:
        print(f"skipped: {case.get('name')}: {reason(case)}")
    for case, message in failed:
        print(f"failed: {case.get('name')}: {message}")
    line = f"{len(passed)} passed, {len(failed)} failed"
    print(f"{line}, {len(skipped)} skipped" if skipped else line, flush=True)
    return 0 if passed and not failed else 1


sys.exit(main())
