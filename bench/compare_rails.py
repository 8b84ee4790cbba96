#!/usr/bin/env python3
"""Heddle, Open MPI and MPICH over the rails of emulated hosts, in clusters that are made afresh.

    ninja -C build peers && bench/compare_rails.py --csv rails.csv --markdown rails.md

Needs root, iperf3 and what tests/netns/cluster needs. Every cluster is two network namespaces on
this machine, joined by shaped links: all figures are EMULATED. In each the libraries run once, all
sizes, one and two ranks a host; then one rail is pulled under a running job. Peers are built and
run as by compare_peers.py; a peer may do well in one cluster and badly in the next (it may put all
its streams on half of the rails), so one cluster proves nothing.
"""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from peers.running import KEEP_HEAP, ROW, launch
from pictures import size_text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "netns"))
from owned_cluster import OwnedCluster  # noqa: E402

FIELDS = "cluster ranks_per_host library rails bytes time_us busbw wrong".split()
HOSTS = 2
# Payload of full 1500-byte frames, as iperf3 measured it over shaped rails.
TCP_SHARE = 0.956
LIBRARIES = (("heddle", 1), ("heddle", 4), ("Open MPI, tcp", 4), ("MPICH, UCX", 4))


def goodput(cluster, seconds=3):
    """GB/s of one TCP stream over one rail."""
    server = subprocess.Popen(cluster.words("exec", 1, "iperf3", "-s", "-1", "-B", "10.77.0.2"),
                              stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    text = subprocess.run(cluster.words("exec", 0, "iperf3", "-c", "10.77.0.2", "-t", seconds,
                                        "-O", 1, "-J"), check=True, capture_output=True).stdout
    server.wait(timeout=30)
    return json.loads(text)["end"]["sum_received"]["bits_per_second"] / 8e9


def interfaces(rails):
    return ",".join(f"r{k}" for k in range(rails))


def open_mpi(cluster, ranks_per_host, settings, program):
    exports = [word for name in settings for word in ("-x", name)]
    return cluster.words("mpirun", ranks_per_host, *exports, *program)


def command_of(cluster, library, rails, ranks_per_host, program, folder):
    """What runs a peer program, and its settings."""
    if library == "heddle":
        settings = {"HEDDLE_PROVIDER": "tcp", "HEDDLE_IFACE": interfaces(rails)}
        return open_mpi(cluster, ranks_per_host, settings, program), settings
    if library == "Open MPI, tcp":
        settings = dict(KEEP_HEAP)
        mca = "--mca pml ob1 --mca btl tcp,vader,self --mca mpi_yield_when_idle 1".split()
        mca += ["--mca", "btl_tcp_if_include", interfaces(rails)]
        return open_mpi(cluster, ranks_per_host, settings, mca + program), settings
    agent = pathlib.Path(folder) / "agent"  # hydra wants one word
    agent.write_text("#!/bin/sh\nexec " + " ".join(cluster.words("rsh")) + ' "$@"\n')
    agent.chmod(0o700)
    hosts = pathlib.Path(folder) / "hosts"
    hosts.write_text("".join(f"{cluster.name}-{i}:{ranks_per_host}\n" for i in range(2)))
    settings = {**KEEP_HEAP, "UCX_TLS": "tcp,self,sysv,posix", "UCX_MAX_EAGER_RAILS": "1",
                "UCX_NET_DEVICES": interfaces(rails), "UCX_MAX_RNDV_RAILS": str(rails)}
    return cluster.words("exec", 0, "mpirun.mpich", "-launcher", "ssh", "-launcher-exec", agent,
                         "-iface", "eth0", "-f", hosts, "-np", 2 * ranks_per_host,
                         *program), settings


PROGRAMS = {"heddle": "peer_heddle", "Open MPI, tcp": "peer_openmpi", "MPICH, UCX": "peer_mpich"}


def measure(cluster, number, arguments, writer, given_up):
    """A library that runs into --limit is left out of later clusters, and said so in given_up."""
    rows = []
    for ranks_per_host in arguments.ranks_per_host:
        for library, rails in LIBRARIES:
            if (library, ranks_per_host) in given_up:
                continue
            program = [str(arguments.build / "bench" / "peers" / PROGRAMS[library]),
                       "-b", arguments.min, "-e", arguments.max, "-f", str(arguments.factor),
                       "-t", str(arguments.budget), "--op", "allreduce"]
            with tempfile.TemporaryDirectory() as folder:
                command, settings = command_of(cluster, library, rails, ranks_per_host, program,
                                               folder)
                output, failure, _ = launch(command, settings, arguments.limit)
            for _, _, size, us, _, busbw, wrong, _ in ROW.findall(output):
                rows.append(dict(zip(FIELDS, (number, ranks_per_host, library, rails, int(size),
                                              float(us), float(busbw), int(wrong)))))
                writer.writerow(rows[-1])
            print(f"cluster {number + 1}/{arguments.clusters}, {ranks_per_host} a host, {library} "
                  f"on {rails}: {failure or 'ok'}", file=sys.stderr, flush=True)
            if failure and library == "heddle":
                sys.exit(f"heddle failed: {failure}")
            if failure:
                given_up[library, ranks_per_host] = failure
    return rows


def lose_a_rail(cluster, arguments):
    """A long job on four rails, one of which is pulled: GB/s before; from the pull on, what it took
    to find out included; of the last third; and wrong elements."""
    with tempfile.TemporaryDirectory() as folder:
        result_file = pathlib.Path(folder) / "result.json"
        program = [str(arguments.build / "bench" / "all_reduce_perf"), "-b", arguments.max, "-e",
                   arguments.max, "-n", "4", "-w", "1", "-N", str(arguments.cycles), "-J",
                   str(result_file)]
        command, settings = command_of(cluster, "heddle", 4, 1, program, folder)
        puller = threading.Timer(arguments.pull_after, subprocess.run,
                                 [cluster.words("link", 0, "r1", "down")])
        puller.start()
        try:
            _, failure, _ = launch(command, settings, arguments.limit)
        finally:
            puller.cancel()
            puller.join()
        subprocess.run(cluster.words("link", 0, "r1", "up"), check=True)
        if failure:
            sys.exit(f"the job that loses a rail failed: {failure}")
        halves = [row[half] for row in json.loads(result_file.read_text())["results"]
                  for half in ("out_of_place", "in_place")]
    rates = [half["bus_bw"] for half in halves]
    pulled = rates.index(min(rates))  # the operations that waited for what the rail had taken
    third = len(rates) - len(rates) // 3
    if pulled == 0 or pulled >= third:
        sys.exit(f"the rail was not pulled in time, see --cycles and --pull-after: {rates}")
    return {"before": statistics.mean(rates[:pulled]),
            "from the pull on": statistics.harmonic_mean(rates[pulled:]),
            "last third": statistics.harmonic_mean(rates[third:]),
            "wrong": sum(half["nwrong"] for half in halves)}


# ---- tables -----------------------------------------------------------------------------------


def title(library, rails):
    return f"{library}, {rails} rail{'s' if rails > 1 else ''}"


def hierarchical_limit(rate, rails, ranks_per_host):
    """GB/s of bus bandwidth when each byte crosses the rails once each way, and nothing else takes
    time: for 2 hosts x 2 ranks over 4 rails of 1 Gbit/s 4 x 0.1195 x 1.5 = 0.717."""
    unit = {"mbit": 1e-3, "gbit": 1.0}
    gigabits = float(rate[:-4]) * unit[rate[-4:]]
    ranks = HOSTS * ranks_per_host
    return rails * gigabits / 8 * TCP_SHARE * 2 * (ranks - 1) / ranks


def ratio_lines(rows, ranks_per_host, goodput, rate):
    """What the rails are worth to heddle at the largest size, by medians."""
    mine = [row for row in rows if row["ranks_per_host"] == ranks_per_host and
            row["library"] == "heddle"]
    largest = max((row["bytes"] for row in mine), default=0)
    busbw = {rails: statistics.median(found) for rails in (1, 4) if (found := [
        row["busbw"] for row in mine if (row["rails"], row["bytes"]) == (rails, largest)])}
    ratios = []
    if 1 in busbw:
        ratios.append(f"one rail / iperf3 {busbw[1] / goodput:.2f}")
    if len(busbw) == 2:
        ratios.append(f"four rails / one {busbw[4] / busbw[1]:.2f}")
    if 4 in busbw and ranks_per_host > 1 and rate != "none":
        limit = hierarchical_limit(rate, 4, ranks_per_host)
        ratios.append(f"four rails / {limit:.3f} GB/s, where each byte crosses once, "
                      f"{busbw[4] / limit:.2f}")
    return [f"heddle at {size_text(largest)}: {'; '.join(ratios)}.", ""] if ratios else []


def table_lines(rows, ranks_per_host):
    """Medians over the clusters, and in how many clusters no peer was faster."""
    busbw = {(row["library"], row["rails"], row["bytes"], row["cluster"]): row["busbw"]
             for row in rows if row["ranks_per_host"] == ranks_per_host}
    clusters = sorted({key[3] for key in busbw})
    lines = [f"### 2 hosts x {ranks_per_host} ranks, all-reduce, GB/s of bus bandwidth (emulated)",
             "", "| size | " + " | ".join(title(*one) for one in LIBRARIES) +
             " | heddle / best peer, least | ahead in |", "|---|" + "--:|" * (len(LIBRARIES) + 2)]
    for size in sorted({key[2] for key in busbw}):
        values = {one: [busbw[(*one, size, c)] for c in clusters if (*one, size, c) in busbw]
                  for one in LIBRARIES}
        cells = [f"{statistics.median(v):.3g}" if v else "-" for v in values.values()]
        ratios = []
        for c in clusters:
            best = max((busbw[(*one, size, c)] for one in LIBRARIES[2:]
                        if (*one, size, c) in busbw), default=None)
            if best is not None and ("heddle", 4, size, c) in busbw:
                ratios.append(busbw["heddle", 4, size, c] / best)
        cells.append(f"{min(ratios):.2f}" if ratios else "-")
        cells.append(f"{sum(ratio >= 1 for ratio in ratios)} of {len(ratios)}")
        lines.append(f"| {size_text(size)} | " + " | ".join(cells) + " |")
    return lines + [""]


def report(rows, goodputs, losses, given_up, rate):
    goodput_of_one = statistics.median(goodputs)
    lines = [f"EMULATED: two network namespaces on one machine; medians of {len(goodputs)} fresh "
             f"clusters. iperf3 over one rail: {goodput_of_one:.4f} GB/s (median).", ""]
    for ranks_per_host in sorted({row["ranks_per_host"] for row in rows}):
        lines += table_lines(rows, ranks_per_host)
        lines += ratio_lines(rows, ranks_per_host, goodput_of_one, rate)
    lines += [f"Left out: {library} with {ranks} ranks a host, {failure}."
              for (library, ranks), failure in given_up.items()]
    if losses:
        largest = max(row["bytes"] for row in rows)
        one = statistics.median(row["busbw"] for row in rows if row["ranks_per_host"] == 1 and
                                (row["library"], row["rails"]) == ("heddle", 1) and
                                row["bytes"] == largest)
        lines += ["### One of four rails is pulled under a running job, GB/s (emulated)", "",
                  "| cluster | before | from the pull on | / one rail | last third | / one rail | "
                  "wrong |", "|---|--:|--:|--:|--:|--:|--:|"]
        for number, loss in enumerate(losses):
            cells = [f"{loss['before']:.3f}"]
            for name in ("from the pull on", "last third"):
                cells += [f"{loss[name]:.3f}", f"{loss[name] / one:.2f}"]
            lines.append(f"| {number + 1} | " + " | ".join(cells) + f" | {loss['wrong']:.0f} |")
    return "\n".join(lines) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=lambda text: pathlib.Path(text).resolve(), default="build",
                        help="the build folder, with peers built")
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--rate", default="1gbit", help="of each rail")
    parser.add_argument("--ranks-per-host", default="1,2", type=lambda text: list(
        map(int, text.split(","))))
    parser.add_argument("--min", default="64K")
    parser.add_argument("--max", default="64M")
    parser.add_argument("--factor", type=int, default=4)
    parser.add_argument("--budget", type=float, default=0.5, help="seconds of a row")
    parser.add_argument("--limit", type=float, default=180, help="seconds of a launch")
    parser.add_argument("--losses", type=int, default=3, help="clusters in which a rail is pulled")
    parser.add_argument("--cycles", type=int, default=20, help="length of a job that loses a rail")
    parser.add_argument("--pull-after", type=float, default=5, help="seconds")
    parser.add_argument("--csv", default="rails.csv")
    parser.add_argument("--markdown", default="")
    arguments = parser.parse_args()
    if arguments.losses and 1 not in arguments.ranks_per_host:
        parser.error("--losses compares with one rank a host, see --ranks-per-host")
    return arguments


def main():
    arguments = parse_arguments()
    rows, goodputs, losses, given_up = [], [], [], {}
    with open(arguments.csv, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for number in range(arguments.clusters):
            with OwnedCluster("r").up("--hosts", HOSTS, "--rails", 4, "--rate", arguments.rate,
                                      "--host-rate", arguments.rate) as cluster:
                goodputs.append(goodput(cluster))
                rows += measure(cluster, number, arguments, writer, given_up)
                if number < arguments.losses:
                    losses.append(lose_a_rail(cluster, arguments))
            file.flush()
    text = report(rows, goodputs, losses, given_up, arguments.rate)
    print(text, end="")
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text(text)
    return 7 if any(row["wrong"] for row in rows) or any(loss["wrong"] for loss in losses) else 0


if __name__ == "__main__":
    sys.exit(main())
