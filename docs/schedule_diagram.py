"""Draws a schedule as it runs: draw(title, schedule) gives an SVG of a schedule's JSON.

The lanes run in unit time: in a step every rank makes its next move, if the messages for it were
whole in an earlier step and it has a free slot of two to every receiver.
"""
import sys
from collections import defaultdict

SLOTS = 2
COLUMN, ROW, LEFT, TOP, RADIUS = 92, 40, 64, 74, 13
COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#997700", "#777777"]


class Move:
    def __init__(self, json, by_block):
        ends = lambda names: [(end.split()[0], int(end.split()[1]), end.endswith("..."))
                              for end in names]
        self.sources, self.destinations = ends(json["from"]), ends(json["to"])
        self.from_peers = [(rank, more) for kind, rank, more in self.sources if kind == "peer"]
        self.to_peers = [(rank, more) for kind, rank, more in self.destinations if kind == "peer"]
        self.keeps = any(kind == "output" for kind, _, _ in self.destinations)
        self.completes = json.get("completes", False)
        self.label, self.by_block, self.step = json["piece"], by_block, None

    def take_label(self, rank, gathers, carried):
        """Where a round has one piece, the block of the data that is moved says more."""
        if not self.by_block:
            return
        if carried is not None:
            self.label = carried
        elif self.sources[0][0] == "input":
            self.label = rank if gathers else self.sources[0][1]


class Pipe:
    def __init__(self):
        self.whole, self.parts, self.messages, self.open = [], [], 0, False

    def has_message(self):
        return bool(self.whole)

    def has_room(self):
        return self.open or self.messages < SLOTS

    def send(self, step, label, more):
        if not self.open:
            self.messages += 1
        self.parts.append((step, label))
        self.open = more
        if not more:
            self.whole, self.parts = self.whole + self.parts, []

    def receive(self, more):
        if not more:
            self.messages -= 1
        return self.whole.pop(0)


def run(schedule):
    """Gives every move its step; returns lanes, messages (from, step, to, step, label), steps."""
    by_block = schedule["pieces"] == 1 and schedule["collective"] not in ("all-reduce", "broadcast",
                                                                         "reduce")
    gathers = schedule["collective"] in ("all-gather", "gather")
    lanes = [[Move(move, by_block) for move in lanes[0]] for lanes in schedule["lanes"]]
    pipes, position, messages = defaultdict(Pipe), [0] * len(lanes), []
    for step in range(10000):
        if all(p == len(lane) for p, lane in zip(position, lanes)):
            return lanes, messages, step
        ready = []
        for rank, lane in enumerate(lanes):
            if position[rank] == len(lane):
                continue
            move = lane[position[rank]]
            if (all(pipes[source, rank].has_message() for source, _ in move.from_peers)
                    and all(pipes[rank, to].has_room() for to, _ in move.to_peers)):
                ready.append((rank, move))
        if not ready:
            sys.exit("the schedule is stuck")
        for rank, move in ready:
            move.step, carried = step, None
            position[rank] += 1
            for source, more in move.from_peers:
                sent, carried = pipes[source, rank].receive(more)
                messages.append((source, sent, rank, step, carried))
            move.take_label(rank, gathers, carried)
        for rank, move in ready:
            for to, more in move.to_peers:
                pipes[rank, to].send(step, move.label, more)
    sys.exit("the schedule does not end")


def circle(x, y, move):
    colour = COLOURS[move.label % len(COLOURS)]
    pale = "" if move.keeps else ' fill-opacity="0.25"'
    edge = ' stroke="black" stroke-width="2"' if move.completes else ""
    ink = "white" if move.keeps else "black"
    plus = "+" if len(move.sources) > 1 else ""
    return (f'<circle cx="{x}" cy="{y}" r="{RADIUS}" fill="white"/>'
            f'<circle cx="{x}" cy="{y}" r="{RADIUS}" fill="{colour}"{pale}{edge}/>'
            f'<text x="{x}" y="{y + 4}" fill="{ink}">{move.label}{plus}</text>')


def draw(title, schedule):
    lanes, messages, steps = run(schedule)
    x = lambda rank: LEFT + rank * COLUMN
    y = lambda step: TOP + step * ROW
    width, height = x(len(lanes) - 1) + LEFT, y(steps - 1) + 34
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
           f' height="{height}" font-family="sans-serif" font-size="12" text-anchor="middle">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{width / 2}" y="22" font-size="15">{title}</text>']
    for rank in range(len(lanes)):
        svg.append(f'<text x="{x(rank)}" y="48">rank {rank}</text>')
        svg.append(f'<path d="M{x(rank)} 54V{y(steps - 1) + 16}" stroke="#dddddd"/>')
    for step in range(steps):
        svg.append(f'<text x="20" y="{y(step) + 4}" fill="#888888">{step + 1}</text>')
    for source, sent, to, taken, label in messages:
        svg.append(f'<path d="M{x(source)} {y(sent)}L{x(to)} {y(taken)}" '
                   f'stroke="{COLOURS[label % len(COLOURS)]}" stroke-width="1.6" opacity="0.75"/>')
    for rank, lane in enumerate(lanes):
        svg += [circle(x(rank), y(move.step), move) for move in lane]
    return "\n".join(svg + ["</svg>", ""])
