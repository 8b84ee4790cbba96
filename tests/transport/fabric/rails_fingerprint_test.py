#!/usr/bin/env python3
"""Results have the same bits with a rail that is pulled as without, in an emulated cluster
(tests/netns/cluster).

rails_fingerprint_test.py RAILS_FINGERPRINT
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "netns"))
from cluster_job import Launch, cluster, expect, run  # noqa: E402

PROGRAM = sys.argv[1]
ROUNDS = 200
RANKS_PER_HOST = 2  # of two terms the order would not matter


def fingerprint(job):
    expect(job.end(120) == 0, "it fails", job)
    found = re.findall(r"fingerprint of rank \d: (\w+)", job.text())
    expect(len(found) == 2 * RANKS_PER_HOST and len(set(found)) == 1, f"they are {found}", job)
    return found[0]


def start(**settings):
    return Launch([PROGRAM, str(ROUNDS)], ranks_per_host=RANKS_PER_HOST, **settings)


def same_bits_without_a_rail():
    undisturbed = fingerprint(start())
    job = start()
    job.wait_for("round 50")
    cluster("link", 0, "r1", "down")
    job.wait_for("rail r1 .*is given up")
    cluster("link", 0, "r1", "up")
    found = fingerprint(job)
    expect(job.text().index("is given up") < job.text().rindex("round "), "pulled too late", job)
    expect(found == undisturbed, f"{found} with a rail pulled, {undisturbed} without", job)
    print(found, flush=True)


run([same_bits_without_a_rail])
