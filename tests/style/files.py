#!/usr/bin/env python3
"""Sources are of a readable size and say nothing that belongs elsewhere."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "include", "bench", "tests", "plugins", "cmake", "docker")
SUFFIXES = {".cpp", ".hpp", ".h", ".c", ".cu", ".py", ".sh", ".cmake"}
CLANG_FORMATS = {".cpp", ".hpp", ".h", ".c", ".cu"}
MOST_LINES = 600   # a longer file holds two ideas
MOST_COLUMNS = 100  # clang-format sees to C++
README_LINES = 80  # about a page
# Spelt so that this file does not find itself.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")


def faults():
    seen = 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES and path.name != "CMakeLists.txt":
                continue
            seen += 1
            name = path.relative_to(ROOT)
            lines = path.read_text().splitlines()
            if len(lines) > MOST_LINES:
                yield f"{name}: {len(lines)} lines; at most {MOST_LINES}"
            for number, line in enumerate(lines, 1):
                if UNFINISHED.search(line):
                    yield f"{name}:{number}: unfinished: {line.strip()}"
                if len(line) > MOST_COLUMNS and path.suffix not in CLANG_FORMATS:
                    yield f"{name}:{number}: {len(line)} columns; at most {MOST_COLUMNS}"
    if seen == 0:
        yield "no source was found: this test looks in the wrong place"
    for folder in sorted(path for path in (ROOT / "src").iterdir() if path.is_dir()):
        readme = folder / "README.md"
        if not readme.exists():
            yield f"{readme.relative_to(ROOT)} is not there; each folder of src/ has one"
        elif len(readme.read_text().splitlines()) > README_LINES:
            yield f"{readme.relative_to(ROOT)} is longer than a page ({README_LINES} lines)"


def main():
    found = list(faults())
    for fault in found:
        print(fault)
    return 1 if found else 0


sys.exit(main())
