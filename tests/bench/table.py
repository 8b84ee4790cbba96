#!/usr/bin/env python3
"""A benchmark program over some numbers of ranks: what it prints is parsed by nccl-tests' columns,
and each row must be there, be right and have bandwidths that follow from its time.

usage: table.py PROGRAM shm|tcp RANKS... [-- FLAGS...]
"""

import os
import pathlib
import subprocess
import sys

SMALL = ["-b", "4", "-e", "64K", "-f", "8", "-n", "2", "-w", "1"]
SIZES = [4 * 8**step for step in range(5)]
ROOTED = {"broadcast", "reduce", "gather", "scatter"}
SPLIT = {  # their size is that of a part for each rank
    "all_gather", "reduce_scatter", "gather", "scatter", "alltoall", "hypercube"}
# busbw over algbw of n ranks; (n - 1) / n for the rest.
FACTOR = {"all_reduce": lambda n: 2 * (n - 1) / n, "broadcast": lambda n: 1,
          "reduce": lambda n: 1, "sendrecv": lambda n: 1, "hypercube": lambda n: 1}
NO_IN_PLACE = {"alltoall", "sendrecv"}
OP = {"all_reduce": "sum", "reduce_scatter": "sum", "reduce": "sum", "sendrecv": "sum"}
# Of the printed numbers: two decimals.
ROUNDING = 0.0051


def part_of(bytes_, ranks):
    """Elements of a rank's part, of 4 bytes: nccl-tests cuts them to a multiple of 16 bytes."""
    return bytes_ // 4 // ranks // 4 * 4 if ranks > 1 else bytes_ // 4


def check_half(name, ranks, bytes_, cells):
    time, algbw, busbw, wrong = (float(cell) for cell in cells)
    assert wrong == 0, f"{wrong} wrong"
    assert time > 0, "no time"
    counted = bytes_ * (ranks - 1) / ranks if name == "hypercube" else bytes_
    # A time of few microseconds is itself rounded.
    lowest = counted / (time + ROUNDING) / 1e3 - ROUNDING
    highest = counted / (time - ROUNDING) / 1e3 + ROUNDING if time > ROUNDING else float("inf")
    assert lowest <= algbw <= highest, f"algbw {algbw} of {counted} bytes in {time} us"
    factor = FACTOR.get(name, lambda n: (n - 1) / n)(ranks)
    assert abs(busbw - factor * algbw) <= (1 + factor) * ROUNDING, \
        f"busbw {busbw} of algbw {algbw}, the factor is {factor}"
    return busbw


def check_table(name, ranks, text):
    lines = text.splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    roots = range(ranks) if name in ROOTED else [-1]
    assert len(rows) == len(roots) * len(SIZES), f"{len(rows)} rows"
    halves = []
    for row, (root, size) in zip(rows, ((root, size) for root in roots for size in SIZES)):
        assert len(row) == 13, f"{len(row)} columns: {row}"
        count = part_of(size, ranks) if name in SPLIT else size // 4
        bytes_ = count * 4 * (ranks if name in SPLIT else 1)
        assert row[:5] == [str(bytes_), str(count), "float", OP.get(name, "none"), str(root)], row
        halves.append(check_half(name, ranks, bytes_, row[5:9]))
        if name in NO_IN_PLACE:
            assert row[9:] == ["N/A"] * 4, row
        else:
            halves.append(check_half(name, ranks, bytes_, row[9:]))
    assert "# Out of bounds values : 0 OK" in lines, "no verdict"
    average = [float(line.split(":")[1]) for line in lines if "# Avg bus bandwidth" in line]
    assert len(average) == 1 and abs(average[0] - sum(halves) / len(halves)) <= ROUNDING, \
        f"average {average} of {halves}"


def run(program, transport, ranks):
    command = [program, "-g", str(ranks), *SMALL, "-r", "-1"]
    environment = dict(os.environ)
    network = "shared memory"
    if transport == "tcp":
        environment.update(HEDDLE_SHM="0", HEDDLE_PROVIDER="tcp")
        network = "libfabric provider"
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    name = pathlib.Path(program).name.removesuffix("_perf")
    try:
        if name == "hypercube" and ranks & (ranks - 1):
            assert result.returncode == 6, f"status {result.returncode}, not 6"
            assert f"{ranks} ranks; allowed: powers of two" in result.stderr
            return "refused, as it must be"
        assert result.returncode == 0, f"status {result.returncode}"
        assert ranks == 1 or f"# Network: {network}" in result.stdout, f"not over {network}"
        check_table(name, ranks, result.stdout)
        return "right"
    except AssertionError as error:
        print(result.stdout, result.stderr, sep="\n")
        sys.exit(f"FAILED: {' '.join(command)} over {transport}: {error}")


def main():
    program, transport, *ranks = sys.argv[1:]
    if transport not in ("shm", "tcp") or not ranks:
        sys.exit(__doc__)
    for number in map(int, ranks):
        print(f"{program} over {transport}, {number} ranks: {run(program, transport, number)}",
              flush=True)


main()
