#!/usr/bin/env python3
"""Rails that are pulled while all-reduce runs, in an emulated cluster (tests/netns/cluster).

rails_test.py PROGRAM HEDDLE_INFO     all_reduce_perf checks every element of every result
HEDDLE_TEST_SEEDS is how many adapters are pulled (20).
"""
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster_job import Job, RAILS, cluster, expect, run

HEDDLE_INFO = sys.argv[2]
PULLS = int(os.environ.get("HEDDLE_TEST_SEEDS", "20"))


def pulled_at_random_moments():
    random.seed(PULLS)
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # a rank may write at its end
    job = Job(1000000, HEDDLE_METRICS_FILE=f"{folder.name}/%h.prom")
    job.wait_for("all-reduce of")
    for pull in range(PULLS):
        host, rail = random.randrange(2), f"r{random.randrange(RAILS)}"
        time.sleep(random.random() * 0.3)
        lost = len(re.findall(rf"rail {rail} .*is given up", job.text()))
        back = len(re.findall(rf"rail {rail} .*is back", job.text()))
        cluster("link", host, rail, "down")
        job.wait_for(rf"rail {rail} .*is given up", lost + 1)
        cluster("link", host, rail, "up")
        job.wait_for(rf"rail {rail} .*is back", back + 1, 90)
        print(f"pull {pull}: {rail} of host {host} was given up and is back", flush=True)
    job.wait_for(r"\n +2097152 ", len(re.findall(r"\n +2097152 ", job.text())) + 1)
    metrics_tell_the_same(folder.name, job)
    job.stop()
    folder.cleanup()
    expect(job.rows_are_right(), "wrong values", job)


def metrics_tell_the_same(folder, job):
    """heddle-info --metrics knows what the log says: which rails were given up, and that they are
    back. The files are a second old."""
    time.sleep(2.5)
    logged = len(re.findall(r"rail r\d to .* is given up", job.text()))
    shown = subprocess.run([HEDDLE_INFO, "--metrics", *Path(folder).glob("*.prom")], check=True,
                           capture_output=True, text=True).stdout
    told = re.findall(r"rail r\d .* sent +1 of 1 link up +given up (\d+) times, back (\d+)", shown)
    expect(len(told) == 2 * RAILS, f"not all rails are up:\n{shown}", job)
    expect(sum(int(up) for up, _ in told) == logged and all(up == back for up, back in told),
           f"{logged} given up in the log, but\n{shown}", job)
    print(shown, flush=True)


def all_pulled():
    job = Job(1000000, HEDDLE_TIMEOUT="10")
    job.wait_for("all-reduce of")
    for rail in range(RAILS):
        cluster("link", 0, f"r{rail}", "down")
    start = time.monotonic()
    expect(job.end(60) != 0, "a job without adapters ends well", job)
    expect(time.monotonic() - start < 30, "a job without adapters ends late", job)
    told = " ".join(re.findall(r"(?:no adapter|nothing has been).*", job.text()))
    expect(all(f"r{rail}" in told for rail in range(RAILS)), "no error names the adapters", job)
    for rail in range(RAILS):
        cluster("link", 0, f"r{rail}", "up")


def four_here_one_there():
    job = Job(2, on_host_1="HEDDLE_RAILS=r2")
    expect(job.end(120) == 0 and job.rows_are_right(), "4 to 1 rails", job)
    expect("1 rails; without a partner are r0, r1, r3 here" in job.text(), "it is not said", job)


def networks_apart():
    """r3 of host 1 is in another network: found out at connect, said, not used."""
    cluster("exec", 1, "ip", "addr", "flush", "dev", "r3")
    cluster("exec", 1, "ip", "addr", "add", "10.99.3.2/24", "dev", "r3")
    job = Job(5)
    expect(job.end(120) == 0 and job.rows_are_right(), "3 of 4 rails", job)
    expect(re.search("rail r3 .*does not answer", job.text()), "it is not said", job)


run([four_here_one_there, pulled_at_random_moments, all_pulled, networks_apart])
