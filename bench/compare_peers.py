#!/usr/bin/env python3
"""Runs Heddle and other libraries in turn, in one sitting, and tabulates the medians.

    ninja -C build peers && bench/compare_peers.py --build build --csv docs/performance/peers.csv \\
        --markdown peers.md

One round launches every library once, for all sizes; the rounds follow each other, so that what
disturbs the machine disturbs all of them. Every row is the median of its rounds. `load` is the
share of the processors that other programs used meanwhile, its median over the launches.

The peers run with malloc told to keep its memory: they allocate scratch as large as the message in
every call, and above 32 MiB would otherwise be measuring page faults.
"""

import argparse
import collections
import csv
import dataclasses
import os
import pathlib
import platform
import re
import statistics
import sys

from peers.running import KEEP_HEAP, ROW, launch
from pictures import size_text

OPEN_MPI = "mpirun.openmpi --allow-run-as-root --oversubscribe -np {n} {bind}"
MPICH = "mpirun.mpich -np {n} {mpich_bind}"
TCP = {"HEDDLE_SHM": "0", "HEDDLE_PROVIDER": "tcp", "HEDDLE_IFACE": "lo"}


@dataclasses.dataclass(frozen=True)
class Library:
    name: str
    command: str
    environment: dict = dataclasses.field(default_factory=dict)
    op: str = "{op}"
    ops: tuple = ("allreduce", "allgather", "reduce_scatter")


GROUPS = {
    "shared memory": [
        Library("heddle", OPEN_MPI + " {b}/peer_heddle"),
        Library("Open MPI, CMA", OPEN_MPI + " --mca pml ob1 --mca btl vader,self {b}/peer_openmpi"),
        Library("Open MPI, no CMA", OPEN_MPI + " --mca pml ob1 --mca btl vader,self "
                "--mca btl_vader_single_copy_mechanism none {b}/peer_openmpi"),
        Library("MPICH", MPICH + " {b}/peer_mpich"),
    ],
    "tcp": [
        Library("heddle", OPEN_MPI + " {b}/peer_heddle", TCP),
        Library("Gloo ring", "{b}/peer_gloo -n {n} --iface lo"),
        Library("Gloo bcube", "{b}/peer_gloo -n {n} --iface lo", op="allreduce_bcube",
                ops=("allreduce",)),
        Library("Gloo halving", "{b}/peer_gloo -n {n} --iface lo", op="allreduce_hd",
                ops=("allreduce",)),
        Library("Open MPI, tcp", OPEN_MPI + " --mca pml ob1 --mca btl tcp,self "
                "--mca btl_tcp_if_include lo {b}/peer_openmpi"),
        Library("Open MPI, libfabric", OPEN_MPI + " --mca pml cm --mca mtl ofi "
                "--mca mtl_ofi_provider_include tcp;ofi_rxm {b}/peer_openmpi",
                {"FI_TCP_IFACE": "lo"}),
    ],
}

LIMIT = re.compile(r"^(\w+) ([\d.]+)$", re.M)
FIELDS = "group ranks op library round bytes time_us busbw wrong iterations load".split()


# ---- running ----------------------------------------------------------------------------------

def command_of(library, ranks, op, arguments, build):
    # Ranks on cores of their own where there are enough; else free to move.
    alone = ranks <= os.cpu_count()
    words = library.command.split()
    text = {"n": ranks, "b": build / "bench" / "peers",
            "bind": "--bind-to core" if alone else "--bind-to none --mca mpi_yield_when_idle 1",
            "mpich_bind": "-bind-to core" if alone else ""}
    command = [part for word in words for part in word.format(**text).split()]
    return command + ["-b", arguments.min, "-e", arguments.max, "-f", str(arguments.factor),
                      "-t", str(arguments.budget), "--op", library.op.format(op=op)]


def measure_limits(arguments, build):
    """Name -> value; memory rates by the size."""
    program = str(build / "bench" / "peers" / "limits")
    limits = {}
    for size in arguments.limit_sizes.split(","):
        output, failure, _ = launch([program, "memory", size], {}, 120)
        if failure:
            sys.exit(f"limits memory {size}: {failure}")
        limits[size] = {name: float(value) for name, value in LIMIT.findall(output)}
    for kind in ("tcp", "line"):
        output, failure, _ = launch([program, kind], {}, 120)
        if failure:
            sys.exit(f"limits {kind}: {failure}")
        limits.update((name, float(value)) for name, value in LIMIT.findall(output))
    return limits


def measure(arguments, build, writer):
    rows, failures = [], collections.OrderedDict()
    units = [(group, ranks, op, library)
             for group in arguments.groups.split(",") for ranks in arguments.rank_counts
             for op in arguments.ops.split(",") for library in GROUPS[group]
             if op in library.ops and re.search(arguments.only, library.name)]
    for number in range(arguments.rounds):
        for group, ranks, op, library in units:
            key = (group, ranks, op, library.name)
            if key in failures:
                continue
            command = command_of(library, ranks, op, arguments, build)
            output, failure, load = launch(command, {**KEEP_HEAP, **library.environment},
                                           arguments.limit)
            for _, _, size, us, _, busbw, wrong, iterations in ROW.findall(output):
                rows.append(dict(zip(FIELDS, (group, ranks, op, library.name, number, int(size),
                                              float(us), float(busbw), int(wrong),
                                              int(iterations), round(load, 3)))))
                writer.writerow(rows[-1])
            if failure:
                failures[key] = failure
            print(f"round {number + 1}/{arguments.rounds} {group} x{ranks} {op} {library.name}: "
                  f"{failure or 'ok'}, load {load:.2f}", file=sys.stderr, flush=True)
    return rows, failures


# ---- tables -----------------------------------------------------------------------------------

def medians(rows, column):
    """(group, ranks, op) -> library -> size -> median."""
    values = collections.defaultdict(list)
    for row in rows:
        values[row["group"], row["ranks"], row["op"], row["library"],
               row["bytes"]].append(row[column])
    table = {}
    for (group, ranks, op, library, size), each in values.items():
        place = table.setdefault((group, ranks, op), {})
        place.setdefault(library, {})[size] = statistics.median(each)
    return table


def copy_limit(rates, ranks):
    """GB/s of bus bandwidth that cores which only add and copy could reach: each block is added
    ranks - 1 times (the first into a new place) and copied ranks - 1 times."""
    seconds = 1 / rates["add3"] + (ranks - 2) / rates["add2"] + (ranks - 1) / rates["copy"]
    return 2 / ranks / seconds * (ranks - 1)


def tcp_limit(limits, ranks):
    rates = next(iter(value for value in reversed(limits.values()) if isinstance(value, dict)))
    return 2 / ranks / (2 / limits["tcp"] + 1 / rates["add2"])


def configuration_table(key, times, busbw):
    group, ranks, op = key
    libraries = list(times)
    peers = [name for name in libraries if name != "heddle"]
    lines = [f"### {group}, {op}, {ranks} ranks", "",
             "| size | " + " | ".join(f"{name}, us" for name in libraries) +
             " | heddle, GB/s | best peer / heddle |",
             "|---|" + "--:|" * (len(libraries) + 2)]
    for size in sorted({size for by_size in times.values() for size in by_size}):
        cells = [f"{times[name][size]:.4g}" if size in times[name] else "-" for name in libraries]
        ours = times.get("heddle", {}).get(size)
        best = min((times[name][size] for name in peers if size in times[name]), default=None)
        cells.append(f"{busbw['heddle'][size]:.3g}" if ours else "-")
        cells.append(f"{best / ours:.2f}" if ours and best else "-")
        lines.append(f"| {size_text(size)} | " + " | ".join(cells) + " |")
    return lines


def limit_lines(limits, busbw):
    lines = ["### Limits measured in the same sitting", ""]
    for size, rates in limits.items():
        if isinstance(rates, dict):
            lines.append(f"- {size} on all cores: copy {rates['copy']:.1f}, c = a + b "
                         f"{rates['add3']:.1f}, a += b {rates['add2']:.1f} GB/s")
    lines += [f"- tcp over loopback, both ways: {limits['tcp']:.2f} GB/s",
              f"- a cache line from core to core: {limits['line']:.2f} us", ""]
    for (group, ranks, op), by_library in busbw.items():
        ours = by_library.get("heddle", {})
        largest = max(ours, default=0)
        rates = next((value for size, value in limits.items() if isinstance(value, dict) and
                      size_text(largest).replace(" ", "").startswith(size)), None)
        if op != "allreduce" or rates is None:
            continue
        limit = copy_limit(rates, ranks) if group == "shared memory" else tcp_limit(limits, ranks)
        lines.append(f"- {group}, {ranks} ranks, {size_text(largest)}: limit {limit:.2f} GB/s, "
                     f"heddle {ours[largest]:.2f} ({100 * ours[largest] / limit:.0f} %)")
    return lines


def machine_line(rows):
    with open("/proc/cpuinfo") as info:
        model = re.search(r"model name\s*: (.*)", info.read())
    with open("/proc/sys/net/ipv4/tcp_congestion_control") as control:
        congestion = control.read().strip()
    load = statistics.median(row["load"] for row in rows) if rows else 0
    return (f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} processors, "
            f"Linux {platform.release()}, tcp congestion control {congestion}; load by other "
            f"programs {100 * load:.0f} % of the processors (median over launches).")


def report(arguments, rows, failures, limits):
    times, busbw = medians(rows, "time_us"), medians(rows, "busbw")
    lines = [machine_line(rows), "",
             f"Medians of {arguments.rounds} interleaved rounds; time is the maximum over ranks; "
             "above 1 in the last column, Heddle is the faster one.", ""]
    for key in times:
        lines += configuration_table(key, times[key], busbw[key]) + [""]
    if limits:
        lines += limit_lines(limits, busbw) + [""]
    wrong = sorted({row["library"] for row in rows if row["wrong"]})
    lines.append(f"Wrong elements: {', '.join(wrong) if wrong else 'none, in any library'}.")
    for (group, ranks, op, library), failure in failures.items():
        lines.append(f"Failed: {library}, {group}, {op}, {ranks} ranks: {failure}")
    return "\n".join(lines) + "\n", not wrong


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build", help="the build folder, with peers built")
    parser.add_argument("--groups", default=",".join(GROUPS), help="shared memory,tcp")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--ops", default="allreduce")
    parser.add_argument("--only", default=".", help="libraries whose name matches")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--min", default="8")
    parser.add_argument("--max", default="256M")
    parser.add_argument("--factor", type=int, default=8)
    parser.add_argument("--budget", type=float, default=0.1, help="seconds of a row")
    parser.add_argument("--limit", type=float, default=180, help="seconds of a launch")
    parser.add_argument("--limit-sizes", default="2M,16M,256M")
    parser.add_argument("--no-limits", action="store_true")
    parser.add_argument("--csv", default="peers.csv")
    parser.add_argument("--markdown", default="")
    arguments = parser.parse_args()
    arguments.rank_counts = [int(ranks) for ranks in arguments.ranks.split(",")]
    for group in arguments.groups.split(","):
        if group not in GROUPS:
            parser.error(f"no group {group}; there are: {', '.join(GROUPS)}")
    return arguments


def main():
    arguments = parse_arguments()
    build = pathlib.Path(arguments.build).resolve()
    if not (build / "bench" / "peers" / "peer_heddle").exists():
        sys.exit(f"{build}/bench/peers/peer_heddle is not there; build it: ninja -C {build} peers")
    limits = {} if arguments.no_limits else measure_limits(arguments, build)
    with open(arguments.csv, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        rows, failures = measure(arguments, build, writer)
    text, right = report(arguments, rows, failures, limits)
    print(text, end="")
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text(text)
    return 0 if right else 7


if __name__ == "__main__":
    sys.exit(main())
