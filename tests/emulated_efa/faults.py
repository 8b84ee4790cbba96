#!/usr/bin/env python3
"""Jobs over four emulated adapters that fail by a script: the right bits, or an error in words.

usage: faults.py FOLDER_OF_PROVIDER FIRST_SEED LAST_SEED INEXACT_PROGRAM [FAULT...]

Of each fault and seed one job; the seed chooses adapters, ranks and times. An adapter that failed
is given up and, when it works again, back.
"""
import random
import re
import sys
import tempfile
import time
from pathlib import Path

from fault_scripts import ADAPTERS, RECOVERED
from inexact_job import Job, expect, expect_same, over_emulated_efa, over_tcp

RAIL_TIMEOUT = 0.5
DEADLINE = 4  # HEDDLE_TIMEOUT where a peer does not respond


def run(script, provider, program, seed, **settings):
    environment = over_emulated_efa(provider, ADAPTERS, seed, script)
    return Job(program, dict(environment, HEDDLE_RAIL_TIMEOUT=str(RAIL_TIMEOUT), **settings),
               endless=True)


def recovers(fault, what, script, provider, program, seed, wanted):
    job = run(script, provider, program, seed)
    expect(job.wait_for(fault.told(), 60),
           f"{what}: not all of {fault.told()} in 60 s:\n{fault.script}{job.text()}")
    if not fault.fails:
        time.sleep(0.5)  # all times of these scripts
    job.stop()
    expect_same(job.hashes(f"{what}:\n{fault.script}"), wanted, f"{what}:\n{fault.script}")
    return fault.script


def unresponsive(what, script, provider, program, seed):
    """Nothing comes to or from rank 1 any more: the others say so in time, and name it."""
    chance = random.Random(seed)
    text = (f"{chance.choice(('hang', 'dead'))} all at {chance.randint(1500, 2500)}ms rank 1\n"
            f"patience {chance.choice(('never', '1s'))}\n")
    script_file = Path(script)
    script_file.write_text(text)
    job = run(script, provider, program, seed, HEDDLE_TIMEOUT=str(DEADLINE))
    expect(0 not in job.statuses(DEADLINE + 20), f"{what}: a rank ends well:\n{job.text()}")
    names_it = re.compile(rf"\brank 1\b|process {job.ranks[1].pid} ")
    # A rank that was through with that communicator knows, in another, who waits for rank 1.
    hears = re.compile(r"\brank [02] .* (destroyed its communicator|holds up the others)")
    named = 0
    for rank in (0, 2):
        told = re.search(rf"^rank {rank}: .*$", job.texts()[rank], re.MULTILINE)
        expect(told and (names_it.search(told[0]) or hears.search(told[0])),
               f"{what}: rank {rank} does not name rank 1:\n{job.text()}")
        named += names_it.search(told[0]) is not None
    expect(named > 0, f"{what}: nobody names rank 1:\n{job.text()}")
    job.close()
    return text


def main():
    provider, first, last, program, *names = sys.argv[1:]
    wanted = over_tcp(program)
    for seed in range(int(first), int(last) + 1):
        for name in names or (*RECOVERED, "unresponsive"):
            what = f"{name}, seed {seed}"
            start = time.monotonic()
            with tempfile.NamedTemporaryFile("w", prefix="heddle-faults-") as script:
                if name == "unresponsive":
                    text = unresponsive(what, script.name, provider, program, seed)
                else:
                    fault = RECOVERED[name](random.Random(f"{name} {seed}"))
                    Path(script.name).write_text(fault.script)
                    text = recovers(fault, what, script.name, provider, program, seed, wanted)
            lines = "; ".join(text.splitlines())
            print(f"{what}: right in {time.monotonic() - start:.1f} s ({lines})", flush=True)


main()
