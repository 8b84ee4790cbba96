#!/usr/bin/env python3
"""The NCCL net plugin beside libfabric itself, over tcp on the loopback interface of this machine.

usage: nccl_net_speed.py BUILD [--rounds N]

Rounds of fi_pingpong (8 bytes), of fabric_raw (RDMA writes of 4 MiB, 8 under way; from and into
eight pieces of memory as the plugin's messages, and one, which stays in caches) and of
nccl_net_check's speed table run in turn; medians and their ratios are printed, and how busy the
processors were. All run with the congestion control that the network namespace has: BBR paces
loopback by what it happened to measure, and runs differ by twice (docs/performance.md has how to
take another)."""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from peers.running import busy_seconds, launch  # noqa: E402

LOOPBACK = {"HEDDLE_IFACE": "lo", "HEDDLE_PROVIDER": "tcp", "IPATH_NO_BACKTRACE": "1",
            "HFI_NO_BACKTRACE": "1"}


def pingpong():
    """Microseconds one way of 8 bytes, by libfabric's own program."""
    port = str(random.randrange(20000, 30000))
    arguments = ["fi_pingpong", "-p", "tcp", "-e", "rdm", "-d", "lo", "-S", "8", "-I", "5000"]
    server = subprocess.Popen([*arguments, "-B", port], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        output, failure, _ = launch([*arguments, "-P", port, "127.0.0.1"], LOOPBACK, 60)
        if failure:
            raise RuntimeError(f"fi_pingpong: {failure}")
        return float(output.splitlines()[-1].split()[-2])
    finally:
        server.kill()
        server.wait()


def raw(build, pieces):
    output, failure, _ = launch([build / "bench/fabric_raw", "tcp", str(4 << 20), "300",
                                 str(pieces)], LOOPBACK, 60)
    if failure:
        raise RuntimeError(f"fabric_raw: {failure}")
    return float(output.split()[-1])


def plugin(build):
    """(microseconds one way of 8 bytes, GB/s of 4 MiB)"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.json")
        _, failure, _ = launch(
            [build / "tools/nccl_net_check",
             build / "plugins/nccl-net-ofi/libnccl-net-heddle.so", "--only", "init",
             "--json", path], LOOPBACK, 120)
        if failure:
            raise RuntimeError(f"nccl_net_check: {failure}")
        rows = {row["bytes"]: row for row in json.loads(path.read_text())["performance"]}
    return rows[8]["half_round_trip_us"], rows[4 << 20]["bandwidth_gbs"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    build = options.build.resolve()
    results = {"fi_pingpong": [], "8 B": [], "writes": [], "one piece": [], "4 MiB": []}
    busy, start = busy_seconds(), time.time()
    for turn in range(options.rounds):
        results["fi_pingpong"].append(pingpong())
        results["writes"].append(raw(build, 8))
        results["one piece"].append(raw(build, 1))
        latency, bandwidth = plugin(build)
        results["8 B"].append(latency)
        results["4 MiB"].append(bandwidth)
        if sys.stderr.isatty():
            print(f"\rround {turn + 1} of {options.rounds}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    used = (busy_seconds() - busy) / (time.time() - start) / os.cpu_count()
    middle = {name: statistics.median(values) for name, values in results.items()}
    print(f"8 B, half round trip:  plugin {middle['8 B']:.2f} us, fi_pingpong "
          f"{middle['fi_pingpong']:.2f} us: {middle['8 B'] / middle['fi_pingpong']:.2f} times")
    for name, what in (("writes", "RDMA writes alone"), ("one piece", "of one piece of memory")):
        print(f"4 MiB, one way:        plugin {middle['4 MiB']:.2f} GB/s, {what} "
              f"{middle[name]:.2f} GB/s: {middle['4 MiB'] / middle[name]:.2f} times")
    for name, values in results.items():
        print(f"  {name:12} " + " ".join(f"{value:.2f}" for value in sorted(values)))
    control = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    print(f"processors busy: {100 * used:.0f} %; tcp congestion control {control}")


if __name__ == "__main__":
    main()
