#!/usr/bin/env python3
"""Sources are of a readable size, say nothing that belongs elsewhere, and name no page or file of
docs/ that is not there. Tests are named NAME_test."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "include", "bench", "tests", "plugins", "cmake", "docker", "tools", "docs", ".ci")
SUFFIXES = {".cpp", ".hpp", ".h", ".c", ".cu", ".py", ".sh", ".cmake"}
CLANG_FORMATS = {".cpp", ".hpp", ".h", ".c", ".cu"}
MOST_LINES = 600   # a longer file holds two ideas
MOST_COLUMNS = 100  # clang-format sees to C++
README_LINES = 80  # about a page
# Spelt so that this file does not find itself.
DOCUMENT = re.compile(r"\bdocs/[\w/.-]*\w")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")


def is_source(path):
    if path.suffix in SUFFIXES or path.name == "CMakeLists.txt":
        return path.is_file()
    if path.suffix or not path.is_file():
        return False
    with path.open("rb") as file:  # a script that goes without a suffix
        return file.read(2) == b"#!"


def sources():
    yield from (path for path in sorted(ROOT.iterdir()) if is_source(path))
    for folder in FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if is_source(path))


def is_there(document):
    """Whether the file is there, or files of that name with a suffix."""
    path = ROOT / document
    return path.exists() or any(path.parent.glob(path.name + ".*"))


def line_faults(line, formatted):
    if UNFINISHED.search(line):
        yield f"unfinished: {line.strip()}"
    if len(line) > MOST_COLUMNS and not formatted:
        yield f"{len(line)} columns; at most {MOST_COLUMNS}"
    for document in DOCUMENT.findall(line):
        if not is_there(document):
            yield f"names {document}, which is not there"


# Lines that must be found at fault, and files that must be looked at, so that this test cannot go
# blind.
MUST_FAIL = ("x" * (MOST_COLUMNS + 1), "// FIX" "ME", "plot.py docs/" "performance.csv out")
MUST_SEE = ("dev", "bench/heddle-compare", "tests/netns/cluster", "tools/heddle_sim.cpp",
            "docs/make_algorithms_page.py")


def faults():
    seen = set()
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        seen.add(name)
        lines = path.read_text().splitlines()
        if len(lines) > MOST_LINES:
            yield f"{name}: {len(lines)} lines; at most {MOST_LINES}"
        if name.startswith("tests/") and path.name.startswith("test_") and path.suffix == ".cpp":
            yield f"{name}: tests are called {path.stem.removeprefix('test_')}_test.cpp"
        for number, line in enumerate(lines, 1):
            for fault in line_faults(line, path.suffix in CLANG_FORMATS):
                yield f"{name}:{number}: {fault}"
    yield from (f"this test no longer looks at {name}" for name in MUST_SEE if name not in seen)
    yield from (f"this test no longer sees the fault in {line}" for line in MUST_FAIL
                if not any(line_faults(line, False)))
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
