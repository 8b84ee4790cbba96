#!/usr/bin/env python3
"""Rails that are pulled while all-reduce runs, in an emulated cluster (tests/netns/cluster).

rails_test.py PROGRAM HEDDLE_INFO     all_reduce_perf checks every element of every result
HEDDLE_TEST_SEEDS is how many jobs of 8 pulls there are (2).
"""
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "netns"))
from cluster_job import Job, RAILS, SPARE, cluster, expect, run  # noqa: E402

PROGRAM, HEDDLE_INFO = sys.argv[1:3]
SEEDS = int(os.environ.get("HEDDLE_TEST_SEEDS", "2"))
PULLS = 8


def pulled_at_random_moments():
    for seed in range(SEEDS):
        random.seed(seed)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a rank may write
            job = Job(PROGRAM, 1000000, HEDDLE_METRICS_FILE=f"{folder}/%h.prom")
            job.wait_for("all-reduce of")
            for pull in range(PULLS):
                pull_one(job, f"seed {seed}, pull {pull}")
            job.wait_for_rows(1)
            metrics_tell_the_same(folder, job)
            job.stop()
        expect(job.rows_are_right(), f"seed {seed}: wrong values", job)
        one_line_for_each_loss(job)


def pull_one(job, name):
    """When, which rail, of which host and for how long are the seed's. Three of four times for long
    enough that it is given up; otherwise it may be or not."""
    host, rail = random.randrange(2), f"r{random.randrange(RAILS)}"
    before, after, is_noticed = random.random() * 0.3, random.random(), random.random() < 0.75
    time.sleep(before)
    lost = count(job, rail, "given up")
    cluster("link", host, rail, "down")
    if is_noticed:
        job.wait_for(rf"rail {rail} .*is given up", lost + 1)
    time.sleep(after if is_noticed else after * 0.6)
    cluster("link", host, rail, "up")
    job.wait_for_rows(1)
    end = time.monotonic() + 90
    while count(job, rail, "given up") != count(job, rail, "back"):
        expect(time.monotonic() < end, f"{name}: {rail} of host {host} is not back in 90 s", job)
        time.sleep(0.05)
    told = "is back" if count(job, rail, "given up") > lost else "was not missed"
    print(f"{name}: {rail} of host {host} {told}", flush=True)


def count(job, rail, what):
    return len(re.findall(rf"rail {rail} to .* is {what}", job.text()))


def one_line_for_each_loss(job):
    """Warned is of the loss and of the return, each once, and of nothing else."""
    state = {}
    for process, rail, text in re.findall(r"(\S+) HEDDLE WARN NET/OFI rail (r\d) (.*)", job.text()):
        is_loss = " is given up: " in text
        expect(is_loss or " is back after " in text, f"a warning: rail {rail} {text}", job)
        expect(is_loss != state.get((process, rail), False),
               f"{process} warned twice in a row: rail {rail} {text}", job)
        state[process, rail] = is_loss
    expect(state and not any(state.values()), f"warned of losses: {state}", job)


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
    job = Job(PROGRAM, 1000000, HEDDLE_TIMEOUT="10")
    job.wait_for("all-reduce of")
    for rail in range(RAILS):
        cluster("link", 0, f"r{rail}", "down")
    start = time.monotonic()
    job.wait_for(r"on rank 0 failed: ")
    took = time.monotonic() - start
    expect(took < 10 + SPARE, f"a job without adapters fails after {took:.1f} s", job)
    expect(job.end(60) != 0, "a job without adapters ends well", job)
    print(f"failed after {took:.1f} s, ended after {time.monotonic() - start:.1f} s", flush=True)
    told = " ".join(re.findall(r"(?:no adapter|nothing has been).*", job.text()))
    expect(all(f"r{rail}" in told for rail in range(RAILS)), "no error names the adapters", job)
    for rail in range(RAILS):
        cluster("link", 0, f"r{rail}", "up")


def four_here_one_there():
    job = Job(PROGRAM, 2)
    expect(job.end(120) == 0 and job.rows_are_right(), "4 to 1 rails", job)
    expect("1 rail; without a partner are r1, r2, r3 here, none there" in job.text() and
           "1 rail; without a partner are none here, r1, r2, r3 there" in job.text(),
           "it is not said", job)


def networks_apart():
    """r3 of host 1 is in another network: found out at connect, said, not used."""
    cluster("exec", 1, "ip", "addr", "flush", "dev", "r3")
    cluster("exec", 1, "ip", "addr", "add", "10.99.3.2/24", "dev", "r3")
    job = Job(PROGRAM, 5)
    expect(job.end(120) == 0 and job.rows_are_right(), "3 of 4 rails", job)
    expect(re.search("rail r3 .*does not answer", job.text()), "it is not said", job)


if "HEDDLE_TEST_SEEDS" not in os.environ:
    run([four_here_one_there], "--rails", "4,1")
    run([all_pulled, networks_apart])
run([pulled_at_random_moments])
