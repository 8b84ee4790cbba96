#!/usr/bin/env python3
"""Links and hosts that are not as they should be, in an emulated cluster (tests/netns/cluster).

links_test.py PROGRAM HEDDLE_INFO RANK_PROGRAM
all_reduce_perf, the program, checks every element of every result.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster_job import CLUSTER, Job, PROGRAM, RAILS, cluster, expect, run

RATE = "400mbit"
HEDDLE_INFO, RANK_PROGRAM = sys.argv[2:4]


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


def rail_bytes(folder):
    """Rail -> bytes that both hosts sent over it."""
    shown = subprocess.run([HEDDLE_INFO, "--metrics", *Path(folder).glob("*.prom")], check=True,
                           capture_output=True, text=True).stdout
    sent = {}
    for rail, gigabytes in re.findall(r"rail (r\d) +([\d.]+) GB sent", shown):
        sent[rail] = sent.get(rail, 0) + float(gigabytes)
    return sent


def equal_rails_carry_equal_parts():
    """Case rail-balance: within 10 % of each other; an interface with addresses of several kinds
    is one rail."""
    for host in range(2):
        cluster("exec", host, "ip", "addr", "add", f"fd00:77::{host + 1}/64", "dev", "r0")
    with tempfile.TemporaryDirectory() as folder:
        job = Job(30, HEDDLE_METRICS_FILE=f"{folder}/%h.prom")
        expect(job.end(120) == 0 and job.rows_are_right(), "four rails", job)
        sent = rail_bytes(folder)
        expect(len(sent) == RAILS and max(sent.values()) < 1.1 * min(sent.values()),
               f"bytes of equal rails: {sent}", job)


def slow_rail_carries_its_part():
    """Case rail-balance: one rail with a quarter of the speed of the others."""
    for host in range(2):
        cluster("rate", host, "r2", "100mbit")
    with tempfile.TemporaryDirectory() as folder:
        job = Job(30, HEDDLE_METRICS_FILE=f"{folder}/%h.prom")
        expect(job.end(120) == 0 and job.rows_are_right(), "a slow rail", job)
        sent = rail_bytes(folder)
        others = min(sent[rail] for rail in sent if rail != "r2")
        expect(0.1 * others < sent["r2"] < 0.5 * others, f"bytes with a slow r2: {sent}", job)
    give_rails_back()


def long_packets_vanish_from_the_start():
    swallow_long_packets("r3")
    job = Job(5)
    expect(job.end(120) == 0 and job.rows_are_right(), "3 of 4 rails", job)
    expect(re.search("rail r3 .*does not answer", job.text()), "it is not said", job)
    give_rails_back()


def long_packets_vanish_later():
    job = Job(1000000)
    job.wait_for("all-reduce of")
    swallow_long_packets("r1")
    job.wait_for("rail r1 .*is given up")
    job.wait_for(r"\n +2097152 ", len(re.findall(r"\n +2097152 ", job.text())) + 2)
    job.stop()
    expect(job.rows_are_right(), "wrong values", job)
    give_rails_back()


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
    job = Job(1000000, HEDDLE_TIMEOUT="5")
    job.wait_for(r"\n +2097152 ", 2)
    stopped = ranks_of_host(1)
    expect(len(stopped) == 1, f"ranks of host 1: {stopped}", job)
    os.kill(stopped[0], signal.SIGSTOP)
    start = time.monotonic()
    try:
        job.wait_for(r"all-reduce #\d+ .* failed: .*rank 1", seconds=40)
        expect(time.monotonic() - start < 30, "it is told late", job)
    finally:
        os.kill(stopped[0], signal.SIGCONT)
    expect(job.end(60) != 0, "a job with a hung rank ends well", job)


def providers_differ():
    job = Job(2, on_host_1="HEDDLE_PROVIDER=sockets", HEDDLE_PROVIDER="tcp")
    expect(job.end(120) != 0, "ranks with different providers run", job)
    expect(re.search("HEDDLE_PROVIDER.*(tcp.*sockets|sockets.*tcp)", job.text()),
           "no error names both providers", job)


def rails_have_ipv6_only():
    for host in range(2):
        for k in range(RAILS):
            cluster("exec", host, "ip", "addr", "flush", "dev", f"r{k}")
            cluster("exec", host, "ip", "addr", "add", f"fd00:77:{k}::{host + 1}/64", "dev",
                    f"r{k}", "nodad")
    job = Job(5, HEDDLE_LOG="info")
    expect(job.end(120) == 0 and job.rows_are_right(), "IPv6", job)
    expect("ranks meet at [fd00:77::1]" in job.text() and "10.77." not in job.text(),
           "something went over IPv4", job)


def no_usable_interface():
    """A host that only has loopback: an error on both hosts, not a job that hangs."""
    for device in ["eth0"] + [f"r{k}" for k in range(RAILS)]:
        cluster("exec", 1, "ip", "link", "set", device, "down")
    with tempfile.TemporaryDirectory() as folder:
        words = ["env", "HEDDLE_INIT_TIMEOUT=3", RANK_PROGRAM]
        ranks = [subprocess.Popen(
            CLUSTER.words("exec", rank, *words, rank, 2, f"{folder}/id"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(2)]
        told = [rank.communicate(timeout=60)[0] for rank in ranks]
    if any(rank.returncode == 0 for rank in ranks) or "missing: 1" not in told[0] or \
            "cannot be reached" not in told[1]:
        raise SystemExit(f"FAILED: a host without a network:\n{told[0]}\n{told[1]}")
    print(*told, sep="", flush=True)


run([equal_rails_carry_equal_parts, slow_rail_carries_its_part, long_packets_vanish_from_the_start,
     long_packets_vanish_later, a_peer_hangs, providers_differ,
     rails_have_ipv6_only, no_usable_interface],
    "--mtu", 9000, "--rate", RATE)
