#!/usr/bin/env python3
"""Draws schedules as they run: make_schedule_diagrams.py PATH_OF_HEDDLE_SCHEDULE OUTPUT_FOLDER.

Reads the lanes that heddle-schedule prints and lets them run in unit time: in a step every rank
makes its next move, if the messages for it were sent in an earlier step and it has a free slot of
two to every receiver. Needs nothing but Python.
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

SLOTS = 2
COLUMN, ROW, LEFT, TOP, RADIUS = 92, 46, 64, 74, 13
COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#997700", "#777777"]
DIAGRAMS = [("ring", "all-reduce", 4), ("two-shot", "all-reduce", 4), ("tree", "all-reduce", 7)]
MOVE = re.compile(r"\s+\d+ piece (\d+): (.*) -> (.*?)( \(completes\))?$")


def peers(ends):
    return [int(rank) for rank in re.findall(r"peer (\d+)", ends)]


def lanes_of(tool, algorithm, collective, ranks):
    text = subprocess.run([tool, algorithm, collective, str(ranks)], check=True,
                          capture_output=True, text=True).stdout
    lanes = []
    for line in text.splitlines():
        if line.startswith(algorithm):
            lanes.append([])
        elif found := MOVE.match(line):
            piece, sources, destinations, completes = found.groups()
            lanes[-1].append({"piece": int(piece), "from": peers(sources),
                              "to": peers(destinations), "keeps": "output" in destinations,
                              "reduces": "+" in sources, "completes": bool(completes)})
    return lanes


def run(lanes):
    """Gives every move its step; returns the messages as (from, step, to, step, piece)."""
    pipes, position, messages = defaultdict(list), [0] * len(lanes), []
    for step in range(10000):
        if all(p == len(lane) for p, lane in zip(position, lanes)):
            return messages, step
        ready = []
        for rank, lane in enumerate(lanes):
            if position[rank] == len(lane):
                continue
            move = lane[position[rank]]
            if (all(pipes[source, rank] for source in move["from"])
                    and all(len(pipes[rank, to]) < SLOTS for to in move["to"])):
                ready.append((rank, move))
        if not ready:
            sys.exit("the schedule is stuck")
        for rank, move in ready:
            move["step"] = step
            position[rank] += 1
            for source in move["from"]:
                messages.append((source, pipes[source, rank].pop(0), rank, step, move["piece"]))
        for rank, move in ready:
            for to in move["to"]:
                pipes[rank, to].append(step)
    sys.exit("the schedule does not end")


def draw(title, lanes):
    messages, steps = run(lanes)
    x = lambda rank: LEFT + rank * COLUMN
    y = lambda step: TOP + step * ROW
    width, height = x(len(lanes) - 1) + LEFT, y(steps - 1) + 84
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
           f' height="{height}" font-family="sans-serif" font-size="12" text-anchor="middle">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{width / 2}" y="22" font-size="15">{title}</text>']
    for rank in range(len(lanes)):
        svg.append(f'<text x="{x(rank)}" y="48">rank {rank}</text>')
        svg.append(f'<path d="M{x(rank)} 54V{y(steps - 1) + 16}" stroke="#dddddd"/>')
    for step in range(steps):
        svg.append(f'<text x="20" y="{y(step) + 4}" fill="#888888">{step + 1}</text>')
    for source, sent, to, taken, piece in messages:
        colour = COLOURS[piece % len(COLOURS)]
        svg.append(f'<path d="M{x(source)} {y(sent)}L{x(to)} {y(taken)}" stroke="{colour}" '
                   'stroke-width="1.6" opacity="0.75"/>')
    for rank, lane in enumerate(lanes):
        for move in lane:
            colour = COLOURS[move["piece"] % len(COLOURS)]
            dash = "" if move["keeps"] else ' fill-opacity="0.25"'
            ring = ' stroke="black" stroke-width="2"' if move["completes"] else ""
            ink = "white" if move["keeps"] else "black"
            svg.append(f'<circle cx="{x(rank)}" cy="{y(move["step"])}" r="{RADIUS}" fill="white"/>'
                       f'<circle cx="{x(rank)}" cy="{y(move["step"])}" r="{RADIUS}" '
                       f'fill="{colour}"{dash}{ring}/>'
                       f'<text x="{x(rank)}" y="{y(move["step"]) + 4}" fill="{ink}">'
                       f'{move["piece"]}{"+" if move["reduces"] else ""}</text>')
    legend = ["Time runs down, a step a row; a circle is a move, a line a message; the number is",
              "the piece, + reduces, pale does not keep, black edge completes the result."]
    for i, line in enumerate(legend):
        svg.append(f'<text x="{width / 2}" y="{height - 34 + 15 * i}" font-size="9" '
                   f'fill="#555555">{line}</text>')
    return "\n".join(svg + ["</svg>", ""])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tool, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for algorithm, collective, ranks in DIAGRAMS:
        title = f"{algorithm} {collective}, {ranks} ranks"
        path = folder / f"schedule_{algorithm.replace('-', '_')}.svg"
        path.write_text(draw(title, lanes_of(tool, algorithm, collective, ranks)))
        print(path)


main()
