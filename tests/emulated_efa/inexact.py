#!/usr/bin/env python3
"""Sums that depend on their order have the same bits whatever the order of delivery.

usage: inexact.py FOLDER_OF_PROVIDER SEEDS INEXACT_PROGRAM

SEEDS: how many; the first is 1. Adapters and fabrics change with the seed. The same bits as over
tcp, too.
"""
import sys

from inexact_job import Job, expect, expect_same, over_emulated_efa, over_tcp

ADAPTERS = (4, 1, 3, 8)
FABRICS = ("efa", "efa", "efa-direct")


def order_shows(wanted):
    """Else the test could not fail: an algorithm is an order, and no two have the same bits."""
    algorithms = {key[1] for key in wanted}
    counts = {key[3] for key in wanted}
    expect(len(algorithms) > 2 and len(counts) > 2, f"few of {algorithms} or {counts}")
    for count in counts:
        bits = {tuple(value for key, value in sorted(wanted.items())
                      if key[1:] == (algorithm, "all-reduce", count))
                for algorithm in algorithms}
        expect(len(bits) > 1, f"no order shows in an all-reduce of {count}")


def main():
    provider, seeds, program = sys.argv[1:]
    wanted = over_tcp(program)
    order_shows(wanted)
    for seed in range(1, int(seeds) + 1):
        settings = over_emulated_efa(provider, ADAPTERS[seed % len(ADAPTERS)], seed,
                                     fabric=FABRICS[seed % len(FABRICS)])
        expect_same(Job(program, settings).hashes(f"seed {seed}"), wanted, f"seed {seed}")
    print(f"{len(wanted)} results, the same bits with {seeds} seeds as over tcp")


main()
