#!/usr/bin/env python3
"""What heddle-sim predicts beside what a benchmark measured, as a table.

    heddle-tune ... -o machine.json
    mpirun ... all_reduce_perf -b 1M -e 64M -f 4 -J measured.json      # HEDDLE_ALGO=ring
    bench/tune/predicted.py machine.json measured.json --algorithm ring

The algorithm and the channels must be those of the measured run. Prints a Markdown table; ends with
status 1 when a size is off by more than --bar.
"""

import argparse
import json
import os
import subprocess
import sys


def simulated(arguments, results):
    sizes = [row["size"] for row in results]
    command = [arguments.sim, arguments.collective, "--machine", arguments.machine, "--json"]
    if arguments.algorithm:
        command += ["--algorithm", arguments.algorithm]
    if arguments.channels:
        command += ["--channels", str(arguments.channels)]
    rows = {}
    for size in sizes:  # one by one: the sizes need not be a factor apart
        done = subprocess.run(command + ["-b", str(size), "-e", str(size)], check=True,
                              capture_output=True, text=True)
        rows[size] = json.loads(done.stdout)["results"][0]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("machine", help="a machine file")
    parser.add_argument("measured", nargs="+", help="a benchmark's --json; of several the medians")
    parser.add_argument("--collective", default="all_reduce")
    parser.add_argument("--algorithm")
    parser.add_argument("--channels", type=int)
    parser.add_argument("--bar", type=float, default=15, help="per cent (15)")
    parser.add_argument("--sim", default=os.path.join(os.path.dirname(__file__),
                                                      "../../build/tools/heddle-sim"))
    arguments = parser.parse_args()
    runs = []
    for path in arguments.measured:
        with open(path) as file:
            runs.append(json.load(file)["results"])
    predicted = simulated(arguments, runs[0])
    print("| bytes | measured, GB/s | predicted, GB/s (simulated) | off by |")
    print("| ---: | ---: | ---: | ---: |")
    worst = 0
    for rows in zip(*runs):
        size = rows[0]["size"]
        busbw = sorted(row["out_of_place"]["bus_bw"] for row in rows)[len(rows) // 2]
        guess = predicted[size]["bus_bw"]
        off = 100 * (guess / busbw - 1)
        worst = max(worst, abs(off))
        print(f"| {size} | {busbw:.4f} | {guess:.4f} | {off:+.1f} % |")
    return worst > arguments.bar


sys.exit(main())
