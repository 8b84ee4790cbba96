#!/usr/bin/env python3
"""Case rail-balance: who carries how much of 256 MiB, in an emulated cluster (tests/netns/cluster).

rail_balance_test.py PROGRAM HEDDLE_INFO

What one all-reduce takes is set by the rail that is done last, and its part of the bytes says when
that is: so the parts are looked at, which a machine with other things to do does not change much.
"""
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "netns"))
from cluster_job import Job, RAILS, cluster, expect, run  # noqa: E402

PROGRAM, HEDDLE_INFO = sys.argv[1:3]
RATE = 400  # Mbit/s: the machine has time to spare


def rail_bytes(folder):
    """Rail -> bytes that both hosts sent over it."""
    shown = subprocess.run([HEDDLE_INFO, "--metrics", *Path(folder).glob("*.prom")], check=True,
                           capture_output=True, text=True).stdout
    sent = {}
    for rail, gigabytes in re.findall(r"rail (r\d) +([\d.]+) GB sent", shown):
        sent[rail] = sent.get(rail, 0) + float(gigabytes)
    return sent


def sent_by_rail(what, size, speed):
    """Rail -> bytes, of a job whose rails are worth `speed` GB/s together."""
    with tempfile.TemporaryDirectory() as folder:
        job = Job(PROGRAM, 1, size=size, operations=1, HEDDLE_METRICS_FILE=f"{folder}/%h.prom")
        expect(job.end(120) == 0 and job.rows_are_right(), what, job)
        sent = rail_bytes(folder)
    expect(len(sent) == RAILS, f"{what}: bytes by rail are {sent}", job)
    busbw = statistics.mean(size / float(row[us]) / 1e3 for row in job.rows() for us in (5, 9))
    parts = " ".join(f"{part:.3f}" for part in sent.values())
    print(f"{what}: {parts} GB; {busbw:.3f} GB/s (emulated), "
          f"{busbw / speed:.0%} of the rails'", flush=True)
    return sent


def equal_rails_carry_equal_parts():
    """Within 10 % of each other; an interface with addresses of several kinds is one rail."""
    for host in range(2):
        cluster("exec", host, "ip", "addr", "add", f"fd00:77::{host + 1}/64", "dev", "r0")
    sent = sent_by_rail("equal rails", 64 << 20, RAILS * RATE / 8e3)
    if max(sent.values()) > 1.1 * min(sent.values()):
        raise SystemExit(f"FAILED: bytes of equal rails: {sent}")


def a_slow_rail_carries_its_part():
    """A rail with a quarter of the speed of the others, whose part is 1 of 13. At 80 % of the sum
    of speeds it is done last with 1.25 of 13."""
    for host in range(2):
        cluster("rate", host, "r2", f"{RATE // 4}mbit")
    sent = sent_by_rail("a slow rail", 256 << 20, (RAILS - 0.75) * RATE / 8e3)
    part = sent["r2"] / sum(sent.values())
    if not 0.8 / 13 < part < 1.25 / 13:
        raise SystemExit(f"FAILED: the slow r2 carried {part:.3f} of {sent}, not 1 of 13")


run([equal_rails_carry_equal_parts, a_slow_rail_carries_its_part], "--rate", f"{RATE}mbit")
