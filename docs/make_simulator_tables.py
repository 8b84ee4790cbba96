#!/usr/bin/env python3
"""Writes the tables of docs/simulator.md, between its "generated" marks, from heddle-sim's output.

    docs/make_simulator_tables.py build/tools/heddle-sim           # writes
    docs/make_simulator_tables.py build/tools/heddle-sim --check   # fails when the page is old
"""

import argparse
import copy
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

DOCS = pathlib.Path(__file__).resolve().parent
PAGE = DOCS / "simulator.md"
PRESET = DOCS.parent / "src/topology/presets/p4d.24xlarge.json"
with open(DOCS / "machines/p4d-published.csv") as summary:  # adapters -> average, maximum
    SUMMARY = {int(row["adapters"]): (float(row["mean_busbw"]), float(row["max_busbw"]))
               for row in csv.DictReader(summary)}
MEBIBYTE = 1 << 20


class Simulator:
    def __init__(self, program):
        self.program = program
        self.folder = tempfile.TemporaryDirectory()

    def rows(self, machine, adapters):
        path = pathlib.Path(self.folder.name) / "machine.json"
        path.write_text(json.dumps(machine))
        result = subprocess.run([self.program, "all_reduce", "--machine", str(path), "--hosts", "2",
                                 "--adapters", str(adapters), "--json"],
                                capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(result.stderr)
        return json.loads(result.stdout)["results"]


def published():
    with open(DOCS / "machines/p4d-4efa-allreduce.csv") as file:
        return [(int(row["size_bytes"]), float(row["oop_time_us"]), float(row["ip_time_us"]))
                for row in csv.DictReader(file)]


def off(simulated, measured):
    return (simulated / measured - 1) * 100


def rows_table(simulator, machine):
    lines = ["| bytes | published out-of-place, in-place (us) | simulated (us) | off by | "
             "published busbw (GB/s) | simulated busbw (GB/s) | protocol, channels |",
             "| ---: | ---: | ---: | ---: | ---: | ---: | --- |"]
    for (size, outside, inside), row in zip(published(), simulator.rows(machine, 4)):
        busbw = size / outside * 1e-3 * 2 * 15 / 16
        lines.append(f"| {size} | {outside:.1f}, {inside:.1f} | {row['time']:.1f} | "
                     f"{off(row['time'], outside):+.1f} % | {busbw:.2f} | {row['bus_bw']:.2f} | "
                     f"{row['protocol']}, {row['channels']} |")
    return lines


def summary_of(rows):
    busbw = [row["bus_bw"] for row in rows]
    return sum(busbw) / len(busbw), max(busbw)


def summary_table(simulator, machine):
    lines = ["| adapters | published average, maximum (GB/s) | simulated average, maximum (GB/s) | "
             "off by |", "| ---: | ---: | ---: | ---: |"]
    for adapters, (mean, most) in SUMMARY.items():
        now = summary_of(simulator.rows(machine, adapters))
        lines.append(f"| {adapters} | {mean}, {most} | {now[0]:.2f}, {now[1]:.2f} | "
                     f"{off(now[0], mean):+.1f} %, {off(now[1], most):+.1f} % |")
    return lines


def worst_errors(simulator, machine):
    """The largest errors, in percent: below 1 MiB, from 1 MiB up, and of the summary."""
    small = large = 0
    rows = {adapters: simulator.rows(machine, adapters) for adapters in SUMMARY}
    for (size, outside, inside), row in zip(published(), rows[4]):
        worst = max(abs(off(row["time"], outside)), abs(off(row["time"], inside)))
        if size < MEBIBYTE:
            small = max(small, worst)
        else:
            large = max(large, worst)
    summary = max(abs(off(now, known)) for adapters, both in SUMMARY.items()
                  for now, known in zip(summary_of(rows[adapters]), both))
    return small, large, summary


def numbers(value, path=""):
    """Yields (path, object, key) of every number with an origin."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from numbers(item, f"{path}[{i}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}" if path else key
            if isinstance(item, dict) and "origin" in item:
                yield here, item
            else:
                yield from numbers(item, here)


def origins_table(machine):
    lines = ["| parameter | value | origin |", "| --- | ---: | --- |"]
    return lines + [f"| `{path}` | {str(item['value']).lower()} | {item['origin']} |"
                    for path, item in numbers(machine)]


def cell(errors, bars=(30, 15, 20)):
    return ", ".join(f"**{error:.1f}**" if error > bar else f"{error:.1f}"
                     for error, bar in zip(errors, bars))


def sensitivity_table(simulator, machine):
    lines = ["| parameter | as it is | 20 % less | 20 % more |", "| --- | --- | --- | --- |",
             f"| none | {cell(worst_errors(simulator, machine))} | | |"]
    for index, (path, item) in enumerate(numbers(machine)):
        value = item["value"]
        fixed = path.endswith(("count", "direct_from", "switches"))
        if fixed or isinstance(value, bool) or value == 0:
            continue
        cells = []
        for factor in (0.8, 1.2):
            moved = copy.deepcopy(machine)
            new = list(numbers(moved))[index][1]
            new["value"] = value * factor
            if isinstance(value, int):
                new["value"] = round(value * factor)
            if path.endswith("wire_efficiency"):
                new["value"] = min(new["value"], 1)
            cells.append(cell(worst_errors(simulator, moved)))
        lines.append(f"| `{path}` | {value} | {cells[0]} | {cells[1]} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    simulator = Simulator(options.program)
    machine = json.loads(PRESET.read_text())
    tables = {"rows": rows_table(simulator, machine), "summary": summary_table(simulator, machine),
              "origins": origins_table(machine),
              "sensitivity": sensitivity_table(simulator, machine)}
    old = PAGE.read_text()
    new = old
    for name, lines in tables.items():
        mark = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not mark.search(new):
            sys.exit(f"{PAGE.name} has no place for the table {name}")
        new = mark.sub(lambda m: m[1] + "\n".join(lines) + "\n" + m[2], new)
    if options.check and new != old:
        sys.exit(f"{PAGE.name} is not what heddle-sim says now: run docs/make_simulator_tables.py")
    if not options.check:
        PAGE.write_text(new)


main()
