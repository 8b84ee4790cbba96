#!/usr/bin/env python3
"""Every case from the field that the library promises to handle is a test of that name."""

import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
CASES = (
    "odd-counts", "world-of-one", "kill-stop-vanish", "mismatch", "loopback-name",
    "no-silent-fallback", "over-2^31", "stranger", "provider-lists-twice", "requested-key-zero",
    "bad-interface-name", "launcher-mismatch", "settings-table", "stale-errno",
    "read-only-inputs", "late-joiner", "rail-balance",
)
# The whole name, or the name, a colon and more words; in CMake the whole name of a test.
CATCH = re.compile(r'TEST_CASE\("([^":]+)[":]')
CTEST = re.compile(r"(?:add_test\(NAME\s+|heddle_cluster_test\()([^\s)]+)")


def names():
    for path in TESTS.rglob("*.cpp"):
        yield from CATCH.findall(path.read_text())
    for path in TESTS.rglob("CMakeLists.txt"):
        yield from CTEST.findall(path.read_text())


def main():
    found = set(names())
    missing = [case for case in CASES if case not in found]
    for case in missing:
        print(f'{case}: no TEST_CASE("{case}") or "{case}: ...", and no CTest of this name')
    return 1 if missing else 0


sys.exit(main())
