#!/usr/bin/env python3
"""Links and hosts that are not as they should be, in an emulated cluster (tests/netns/cluster).

links_test.py PROGRAM RANK_PROGRAM
all_reduce_perf, the program, checks every element of every result.
"""
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "netns"))
from cluster_job import CLUSTER, Job, RAILS, SPARE, cluster, expect, run  # noqa: E402
from rank_processes import ends_of_ranks  # noqa: E402

RATE = "400mbit"
PROGRAM, RANK_PROGRAM = sys.argv[1:3]


def give_rails_back():
    for host in range(2):
        for k in range(RAILS):
            cluster("rate", host, f"r{k}", RATE)


def swallow_long_packets(rail):
    """The network between the hosts loses what is longer than 1500 bytes and says nothing, as one
    does whose switch was forgotten when the adapters were set to 9000. A bucket drops packets that
    it could never hold."""
    for host in range(2):
        cluster("exec", host, "tc", "qdisc", "replace", "dev", rail, "root", "tbf", "rate", "1gbit",
                "burst", "1600", "limit", "1000000")


def long_packets_vanish_from_the_start():
    swallow_long_packets("r3")
    job = Job(PROGRAM, 5)
    expect(job.end(120) == 0 and job.rows_are_right(), "3 of 4 rails", job)
    expect(re.search("rail r3 .*does not answer", job.text()), "it is not said", job)
    give_rails_back()


def long_packets_vanish_later():
    job = Job(PROGRAM, 1000000)
    job.wait_for("all-reduce of")
    swallow_long_packets("r1")
    job.wait_for("rail r1 .*is given up")
    job.wait_for_rows(2)
    job.stop()
    expect(job.rows_are_right(), "wrong values", job)
    give_rails_back()


def lengths_differ():
    """One end of r2 takes jumbo frames, the other does not: TCP finds a length that suits both."""
    cluster("exec", 1, "ip", "link", "set", "r2", "mtu", 1500)
    job = Job(PROGRAM, 5)
    expect(job.end(120) == 0 and job.rows_are_right(), "r2 of different MTU", job)
    expect("WARN NET/OFI rail" not in job.text(), "a rail is not used", job)
    cluster("exec", 1, "ip", "link", "set", "r2", "mtu", 9000)


def lengths_differ_later():
    """The other end of r2 is set to short frames under a running job, whose connections have agreed
    upon long ones: either they arrive, or the rail is named."""
    job = Job(PROGRAM, 1000000)
    job.wait_for("all-reduce of")
    cluster("exec", 1, "ip", "link", "set", "r2", "mtu", 1500)
    job.wait_for_rows(5)
    job.stop()
    expect(job.rows_are_right(), "wrong values", job)
    lost = set(re.findall("rail (r[0-9]) .*is given up", job.text()))
    expect(lost <= {"r2"}, f"given up are {lost}", job)
    print("given up:", *lost, flush=True)
    cluster("exec", 1, "ip", "link", "set", "r2", "mtu", 9000)


def ranks_of_host(index):
    pids = subprocess.run(["ip", "netns", "pids", f"{CLUSTER.name}-{index}"], check=True,
                          capture_output=True, text=True).stdout.split()
    return [int(pid) for pid in pids if is_rank(pid)]


def is_rank(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode() == PROGRAM
    except OSError:
        return False


def a_peer_hangs():
    """Alive, but it does nothing: its kernel still acknowledges. Only the library's own deadline
    can tell, and it names the rank."""
    # So many that it is within one of them: the program's own barriers are MPI's, which waits.
    job = Job(PROGRAM, 1, operations=1000000, HEDDLE_TIMEOUT="5")
    job.wait_for("all-reduce of")
    time.sleep(2)
    stopped = ranks_of_host(1)
    expect(len(stopped) == 1, f"ranks of host 1: {stopped}", job)
    os.kill(stopped[0], signal.SIGSTOP)
    start = time.monotonic()
    try:
        job.wait_for(r"all-reduce #\d+ .* failed: .*rank 1", seconds=40)
        expect(time.monotonic() - start < 5 + SPARE, "it is told late", job)
    finally:
        os.kill(stopped[0], signal.SIGCONT)
    expect(job.end(60) != 0, "a job with a hung rank ends well", job)


def providers_differ():
    job = Job(PROGRAM, 2, on_host_1="HEDDLE_PROVIDER=sockets", HEDDLE_PROVIDER="tcp")
    expect(job.end(120) != 0, "ranks with different providers run", job)
    expect(re.search("HEDDLE_PROVIDER.*(tcp.*sockets|sockets.*tcp)", job.text()),
           "no error names both providers", job)


def rails_have_ipv6_only():
    for host in range(2):
        for k in range(RAILS):
            cluster("exec", host, "ip", "addr", "flush", "dev", f"r{k}")
            cluster("exec", host, "ip", "addr", "add", f"fd00:77:{k}::{host + 1}/64", "dev",
                    f"r{k}", "nodad")
    job = Job(PROGRAM, 5, HEDDLE_LOG="info")
    expect(job.end(120) == 0 and job.rows_are_right(), "IPv6", job)
    expect("ranks meet at [fd00:77::1]" in job.text() and "10.77." not in job.text(),
           "something went over IPv4", job)


def no_usable_interface():
    """A host that only has loopback: an error on both hosts, not a job that hangs."""
    for device in ["eth0"] + [f"r{k}" for k in range(RAILS)]:
        cluster("exec", 1, "ip", "link", "set", device, "down")
    settings = {"HEDDLE_INIT_TIMEOUT": "3"}
    ends = ends_of_ranks(RANK_PROGRAM, [settings] * 2,
                         lambda rank, words: CLUSTER.words("exec", rank, *words))
    (left, alone), (right, cut_off) = ends
    if 0 in (left, right) or "missing: 1" not in alone or "cannot be reached" not in cut_off:
        raise SystemExit(f"FAILED: a host without a network:\n{alone}\n{cut_off}")
    print(alone, cut_off, sep="", flush=True)


run([long_packets_vanish_from_the_start, long_packets_vanish_later, lengths_differ,
     lengths_differ_later, a_peer_hangs, providers_differ, rails_have_ipv6_only,
     no_usable_interface], "--mtu", 9000, "--rate", RATE)
