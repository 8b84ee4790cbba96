#!/usr/bin/env python3
"""Benchmark programs over the emulated EFA: every value right under each seed's order of delivery.

usage: collectives.py FOLDER_OF_PROVIDER SEEDS RANKS PROGRAM...

SEEDS: how many; the first is 1. Adapters and fabrics change with the seed, and some seeds ask for
sends that efa-direct has no room for. A hypercube has one rank more where RANKS is no power of 2.
"""

import os
import subprocess
import sys
from pathlib import Path

# Small to large, past one packet and one stripe; with these slots also past all slots of a pipe, so
# that the longest runs in several rounds.
SIZES = ["-b", "8", "-e", "512K", "-f", "256", "-n", "1", "-w", "0"]
SLOTS = {"HEDDLE_SLOT_BYTES": "64K", "HEDDLE_SLOTS": "4"}
ADAPTERS = (4, 1, 3, 8)
FABRICS = ("both", "efa", "efa-direct", "efa", "efa-direct")


def ranks_of(program, ranks):
    alone = ranks & (ranks - 1) != 0 and Path(program).name == "hypercube_perf"
    return ranks + 1 if alone else ranks


def run(program, provider, ranks, seed):
    environment = dict(
        os.environ, **SLOTS, FI_PROVIDER_PATH=provider,
        HEDDLE_SHM="0", HEDDLE_PROVIDER="efa", HEDDLE_LOG="error",
        HEDDLE_EMULATED_EFA=str(ADAPTERS[seed % len(ADAPTERS)]),
        HEDDLE_EMULATED_EFA_SEED=str(seed), HEDDLE_EMULATED_EFA_IFACE="lo", HEDDLE_IFACE="lo",
        HEDDLE_EMULATED_EFA_FABRIC=FABRICS[seed % len(FABRICS)],
        HEDDLE_EAGER_BYTES="65536" if seed % 4 == 0 else "8192")
    command = [program, "-g", str(ranks), *SIZES]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    right = (result.returncode == 0 and "# Out of bounds values : 0 OK" in result.stdout
             and "# Network: libfabric provider efa (EMULATED)" in result.stdout
             and "EMULATED EFA" in result.stderr)
    if not right:
        print(result.stdout, result.stderr, sep="\n")
        sys.exit(f"FAILED: {' '.join(command)} with seed {seed}: status {result.returncode}")


def main():
    provider, seeds, ranks, *programs = sys.argv[1:]
    if not programs:
        sys.exit(__doc__)
    wanted = int(ranks)
    for program in programs:
        ranks = ranks_of(program, wanted)
        for seed in range(1, int(seeds) + 1):
            run(program, provider, ranks, seed)
        print(f"{program}: {ranks} ranks, right with {seeds} seeds", flush=True)


main()
