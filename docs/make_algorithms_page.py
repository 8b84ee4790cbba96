#!/usr/bin/env python3
"""Writes docs/algorithms.md and its diagrams:

    docs/make_algorithms_page.py PATH_OF_HEDDLE_SCHEDULE [FOLDER]

The prose is that of the algorithms' files in src/collectives; the diagrams are drawn from the lanes
that heddle-schedule writes, run in unit time (schedule_diagram.py). Needs nothing but Python.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

from schedule_diagram import draw

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# The algorithms

Each is one file in `src/collectives/`, a pure function from (shape, rank, channel) to a lane of
moves (docs/schedules.md says what those are), and is proved by the tests for every number of ranks
from 1 to 64. `HEDDLE_ALGO` names one for all collectives that it can serve; `heddle-schedule ring
all-reduce 4` prints any of them, `--json` as a file that `HEDDLE_SCHEDULE` runs. This page is made
by `docs/make_algorithms_page.py`.

How to read the diagrams: time runs down, a step a row, in which every rank makes at most one move.
A circle is a move, a line a message. The number is the piece of the message, or the block where a
round has one piece; `+` reduces; pale does not keep the result; a black edge marks the move that
completes it.

`n` ranks, a message of `m` bytes; alpha is the price of a message, beta of a byte on the wire,
gamma of a reduced byte.
"""

# What is drawn of each file: (algorithm, collective, ranks, ranks a host).
DRAWN = {
    "ring": [("ring", "all-reduce", 4, 0), ("ring", "all-gather", 5, 0)],
    "double_binary_tree": [("tree", "all-reduce", 7, 0), ("tree", "broadcast", 8, 0)],
    "recursive_doubling": [("recursive-doubling", "all-reduce", 6, 0),
                           ("recursive-doubling", "all-gather", 4, 0)],
    "halving_doubling": [("halving-doubling", "all-reduce", 4, 0)],
    "aggregated_trees": [("pat", "all-gather", 6, 0), ("pat", "reduce-scatter", 6, 0)],
    "one_shot": [("one-shot", "all-reduce", 4, 0)],
    "two_shot": [("two-shot", "all-reduce", 4, 0)],
    "star": [("star", "all-reduce", 4, 0), ("star", "gather", 4, 0)],
    "binomial": [("binomial", "broadcast", 8, 0), ("binomial", "gather", 6, 0)],
    "chain": [("chain", "broadcast", 4, 0), ("chain", "reduce", 4, 0)],
    "pairwise": [("pairwise", "all-to-all", 4, 0)],
    "bruck": [("bruck", "all-to-all", 5, 0)],
    "hierarchical": [("hierarchical:one-shot+ring", "all-reduce", 8, 4),
                     ("hierarchical:ring+recursive-doubling", "all-reduce", 8, 2)],
}
TITLES = {"double_binary_tree": "Double binary tree", "aggregated_trees":
          "Parallel aggregated trees", "one_shot": "One-shot", "two_shot": "Two-shot",
          "bruck": "Bruck's all-to-all"}


def run(tool, *arguments):
    return subprocess.run([tool, *arguments], check=True, capture_output=True, text=True).stdout


def schedule(tool, algorithm, collective, ranks, per_host):
    return json.loads(run(tool, algorithm, collective, str(ranks), "--ranks-per-host",
                          str(per_host), "--json"))


def prose(path):
    """The comment that opens a file, as Markdown: indented lines become code blocks."""
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[3:] if line.startswith("// ") else "")
    out, indented = [], False
    for line in lines:
        code = line.startswith("  ")
        if code != indented and (code or line):
            out += ["```"] if not code else ["", "```"] if out and out[-1] else ["```"]
            indented = code
            if not code and line:
                out.append("")
        out.append(line)
    if indented:
        out.append("```")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).replace("\n\n```\n\n", "\n```\n\n").strip()


def table(listing):
    """Algorithms against collectives."""
    pairs = [line.rsplit(" ", 1) for line in listing.splitlines()]
    collectives = list(dict.fromkeys(collective for _, collective in pairs))
    rows = ["| name | " + " | ".join(collectives) + " |", "| --- |" + " --- |" * len(collectives)]
    for name in dict.fromkeys(name for name, _ in pairs):
        marks = ["yes" if [name, c] in pairs else "" for c in collectives]
        rows.append(f"| `{name}` | " + " | ".join(marks) + " |")
    return "\n".join(rows)


def section(tool, stem, drawings, images):
    title = TITLES.get(stem, stem.replace("_", " ").capitalize())
    parts = [f"## {title}", prose(ROOT / "src" / "collectives" / f"{stem}.cpp")]
    for algorithm, collective, ranks, per_host in drawings:
        hosts = f", {per_host} a host" if per_host else ""
        caption = f"{algorithm} {collective}, {ranks} ranks{hosts}"
        name = re.sub(r"[^a-z0-9]+", "_", f"{algorithm} {collective}") + ".svg"
        (images / name).write_text(
            draw(caption, schedule(tool, algorithm, collective, ranks, per_host)))
        parts.append(f"![{caption}](images/algorithms/{name})")
    return "\n\n".join(parts)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    tool = sys.argv[1]
    folder = Path(sys.argv[2]) if len(sys.argv) == 3 else ROOT / "docs"
    images = folder / "images" / "algorithms"
    images.mkdir(parents=True, exist_ok=True)
    sections = [HEAD.strip(), table(run(tool, "--list"))]
    sections += [section(tool, stem, drawings, images) for stem, drawings in DRAWN.items()]
    (folder / "algorithms.md").write_text("\n\n".join(sections) + "\n")
    print(folder / "algorithms.md")


main()
