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

from inexact_job import RANKS, Job, expect, expect_same, over_emulated_efa, over_tcp

ADAPTERS = 4
NAMES = ("rdmap16s27", "rdmap32s27", "rdmap144s27", "rdmap160s27")
RAIL_TIMEOUT = 0.5
DEADLINE = 4  # HEDDLE_TIMEOUT where a peer does not respond


class Fault:
    """A script, and the adapters that it makes fail for a while."""

    def __init__(self, script, fails=()):
        self.script = "patience 1s\n" + script
        self.fails = fails

    def told(self):
        """What the log must say."""
        return [rf"rail {NAMES[adapter]} to .* is {what}"
                for adapter in self.fails for what in ("given up", "back")]


def storm(chance):
    return Fault(f"again all every {chance.randint(1, 40)} for {chance.randint(1, 200)}\n"
                 f"again {chance.randrange(ADAPTERS)} at {chance.randint(100, 400)}ms "
                 f"for {chance.randint(50, 400)}ms\n")


def error(chance):
    adapter = chance.randrange(ADAPTERS)
    landed = chance.choice(("", " landed"))
    return Fault(f"error {adapter} after {chance.randint(20, 200)} for {chance.randint(1, 5)} "
                 f"code {chance.choice((7, 8, 9, 10, 13, 14, 15))}{landed} "
                 f"rank {chance.randrange(RANKS)}\n", (adapter,))


def dead(chance):
    """An adapter for a time, and sometimes another whenever its turn comes. Late enough for ranks
    to have met, and long enough for one of them to use it, on a busy machine."""
    adapters = chance.sample(range(ADAPTERS), chance.randint(1, 2))
    lines = [f"dead {adapters[0]} at {chance.randint(2500, 3100)}ms "
             f"for {chance.randint(600, 1200)}ms rank {chance.randrange(RANKS)}\n"]
    # By operations: while all wait for the first, nobody could notice that the second is away.
    lines += [f"dead {adapter} after {chance.randint(100, 300)} for {chance.randint(50, 600)}ms "
              f"rank {chance.randrange(RANKS)}\n" for adapter in adapters[1:]]
    return Fault("".join(lines), adapters)


def dead_after(chance):
    adapter = chance.randrange(ADAPTERS)
    return Fault(f"dead {adapter} after {chance.randint(20, 200)} for {chance.randint(50, 600)}ms "
                 f"rank {chance.randrange(RANKS)}\n", (adapter,))


def hang(chance):
    """Longer than an adapter is waited for."""
    adapter = chance.randrange(ADAPTERS)
    return Fault(f"hang {adapter} after {chance.randint(30, 200)} "
                 f"for {chance.randint(1500, 2000)}ms rank {chance.randrange(RANKS)}\n", (adapter,))


def slow(chance):
    adapter = chance.randrange(ADAPTERS)
    return Fault(f"delay {adapter} {chance.randint(500, 20000)}us\n")


def bandwidth(chance):
    return Fault(f"bandwidth all {chance.randint(40, 100)}MB/s\n"
                 f"bandwidth {chance.randrange(ADAPTERS)} {chance.randint(2, 20)}MB/s\n")


def unready(_):
    """What finds no posted buffer fails, as when a receiver is not asked to try again."""
    return Fault("rnr error\n")


RECOVERED = {one.__name__: one
             for one in (storm, error, dead, dead_after, hang, slow, bandwidth, unready)}


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
