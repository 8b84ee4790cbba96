#!/usr/bin/env python3
"""What README.md and docs/ tell a reader to type or to open is there."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)")
PROGRAM = re.compile(r"\bbuild/((?:bench|tools|src|tests)/[\w/.-]+)")
SCRIPT = re.compile(r"(?:^|\s)((?:tests|docker|bench|\.ci)/[\w/.-]+|\./dev)(?=\s|$)")


def dev_commands():
    text = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  ([a-z]+) ", text, re.MULTILINE))


def is_built(program):
    """Whether some CMakeLists.txt or its folder's sources make a program of that path."""
    folder, name = program.rsplit("/", 1)
    return any((ROOT / place / f"{name}{end}").exists() or name in listing.read_text()
               for place in (folder, "bench") for end in (".cpp",)
               for listing in [ROOT / place / "CMakeLists.txt"] if listing.exists())


def faults(document, commands):
    text = document.read_text()
    for link in LINK.findall(text):
        if not (document.parent / link).exists():
            yield f"links {link}, which is not there"
    for language, body in FENCE.findall(text):
        if language not in ("", "sh", "bash", "console"):
            continue
        for line in body.splitlines():
            for used in re.findall(r"\./dev (\w+)", line):
                if used not in commands:
                    yield f"says ./dev {used}; there are {sorted(commands)}"
            for program in PROGRAM.findall(line):
                if not is_built(program):
                    yield f"says build/{program}, which nothing builds"
            for script in SCRIPT.findall(line):
                if not (ROOT / script).exists():
                    yield f"says {script}, which is not there"


def main():
    commands = dev_commands()
    bad = not {"bench", "test"} <= commands
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")),
                 *sorted((ROOT / "docker").glob("*.md"))]
    for document in documents:
        for fault in faults(document, commands):
            print(f"{document.relative_to(ROOT)}: {fault}")
            bad = True
    return 1 if bad else 0


sys.exit(main())
