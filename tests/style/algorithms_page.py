#!/usr/bin/env python3
"""docs/algorithms.md and its diagrams are what the algorithms say today, and the schedule that
docs/schedules.md shows is right: algorithms_page.py PATH_OF_HEDDLE_SCHEDULE."""
import filecmp
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def differences(tool, folder):
    subprocess.run([sys.executable, "-B", ROOT / "docs" / "make_algorithms_page.py", tool, folder],
                   check=True, stdout=subprocess.DEVNULL)
    made = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    kept = [path.relative_to(ROOT / "docs")
            for path in (ROOT / "docs/images/algorithms").iterdir()]
    wrong = [f"docs/{path} is made by nothing" for path in kept if path not in made]
    for path in made:
        other = ROOT / "docs" / path
        if not other.is_file() or not filecmp.cmp(folder / path, other, shallow=False):
            wrong.append(f"docs/{path} is out of date: run docs/make_algorithms_page.py {tool}")
    return wrong


def example_fails(tool, folder):
    text = (ROOT / "docs" / "schedules.md").read_text()
    example = folder / "example.json"
    example.write_text(re.search(r"```json\n(.*?)```", text, re.S).group(1))
    checked = subprocess.run([tool, "--check", example], capture_output=True, text=True)
    return [] if checked.returncode == 0 else ["docs/schedules.md: " + checked.stderr.strip()]


with tempfile.TemporaryDirectory() as scratch:
    faults = differences(sys.argv[1], Path(scratch)) + example_fails(sys.argv[1], Path(scratch))
print("\n".join(faults) or "the page is current")
sys.exit(1 if faults else 0)
