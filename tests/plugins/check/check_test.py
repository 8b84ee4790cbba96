#!/usr/bin/env python3
"""Runs nccl_net_check on Heddle's plugin over one provider or another.

check_test.py DRIVER PLUGIN EMULATED_EFA check WAY GROUPED [BEHAVIOUR,... [ARGUMENT ...]]
check_test.py DRIVER PLUGIN EMULATED_EFA versions WAY
check_test.py DRIVER PLUGIN EMULATED_EFA seeds FIRST LAST
check_test.py DRIVER PLUGIN EMULATED_EFA faults FIRST LAST [FAULT ...]

EMULATED_EFA: the folder of that provider. WAY: tcp, sockets, or efa and a number of adapters
(efa1, efa4). GROUPED: HEDDLE_NCCL_MAX_RECVS."""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "emulated_efa"))

from fault_scripts import ADAPTERS, RECOVERED  # noqa: E402, of the folder above
from inexact_job import expect, over_emulated_efa  # noqa: E402

MOVING = ("sizes", "order", "in-flight", "send-first", "grouped", "tags", "both-close",
          "receiver-closes")
ABSENT = 77
# Machines that run tests are busy; 64 MiB are one message.
PATIENT = ("--timeout", "30")
# How a behaviour may end where no message can arrive any more: with what the plugin says, in time.
CLEAR = re.compile(r"(isend|irecv|test|connect|accept|listen|regMr): nccl(Remote|System)Error"
                   r"|gave no comm within|the other rank|is gone|left")


class Check:
    def __init__(self, driver, plugin, provider):
        self.driver, self.plugin, self.provider = driver, plugin, provider

    def environment(self, way, grouped, seed=1, script=None):
        chosen = {**os.environ, "HEDDLE_NCCL_MAX_RECVS": str(grouped), "HEDDLE_IFACE": "lo"}
        if way.startswith("efa"):
            chosen.update(over_emulated_efa(self.provider, int(way[3:]), seed, script))
        else:
            chosen["HEDDLE_PROVIDER"] = way
        return chosen

    def run(self, environment, *arguments):
        """(exit status, {behaviour: row}, what was printed)"""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.json")
            done = subprocess.run([self.driver, self.plugin, "--json", path, *arguments], text=True,
                                  env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            rows = json.loads(path.read_text())["behaviours"] if path.exists() else []
        return done.returncode, {row["name"]: row for row in rows}, done.stdout

    def good(self, what, environment, *arguments):
        status, rows, text = self.run(environment, *arguments)
        hidden = environment["HEDDLE_NCCL_MAX_RECVS"] != "1" and (
            rows.get("grouped", {}).get("result") == "skip")
        expect(status == 0 and rows and not hidden, f"{what}:\n{text}")
        return text


def only(behaviours):
    return [word for name in behaviours for word in ("--only", name)]


def has_sockets():
    """libfabric 2.0 has no such provider any more."""
    listed = subprocess.run(["fi_info", "-p", "sockets"], capture_output=True, text=True)
    return listed.returncode == 0


def check(runs, way, grouped, behaviours="", *arguments):
    if way == "sockets" and not has_sockets():
        print("SKIPPED: libfabric has no sockets provider here")
        raise SystemExit(ABSENT)
    print(runs.good(way, runs.environment(way, grouped), "--no-perf", *PATIENT,
                    *only(behaviours.split(",") if behaviours else ()), *arguments))


def versions(runs, way):
    """Each version of the interface."""
    for version in range(6, 13):
        print(runs.good(f"v{version}", runs.environment(way, 8), "--no-perf", "--api", str(version),
                        *PATIENT, *only(("properties", "one-thread", "grouped", "optional"))))


def seeds(runs, first, last):
    for seed in range(int(first), int(last) + 1):
        for adapters in (1, 4):
            start = time.monotonic()
            what = f"seed {seed}, {adapters} adapters"
            runs.good(what, runs.environment(f"efa{adapters}", 8, seed), "--no-perf", "--seed",
                      str(seed), *PATIENT, *only(MOVING))
            print(f"{what}: right in {time.monotonic() - start:.1f} s", flush=True)


def lost(chance):
    """All adapters fail, for a time or for ever."""
    how = chance.choice(("hang", "dead"))
    when = chance.choice((f"at {chance.randint(200, 1500)}ms", f"after {chance.randint(10, 300)}"))
    return (f"{how} all {when}{chance.choice(('', ' for 3s'))}\n"
            f"patience {chance.choice(('never', '1s'))}\n")


def faults(runs, first, last, *names):
    """Adapters fail by a script: messages arrive all the same, or both ends are told."""
    for seed in range(int(first), int(last) + 1):
        for name in names or (*RECOVERED, "lost"):
            start = time.monotonic()
            what = f"{name}, seed {seed}"
            chance = random.Random(f"{name} {seed}")
            text = lost(chance) if name == "lost" else RECOVERED[name](chance).of_all()
            with tempfile.NamedTemporaryFile("w", prefix="heddle-faults-") as script:
                script.write(text)
                script.flush()
                environment = dict(runs.environment(f"efa{ADAPTERS}", 8, seed, script.name),
                                   HEDDLE_RAIL_TIMEOUT="0.5", HEDDLE_TIMEOUT="10",
                                   HEDDLE_INIT_TIMEOUT="10")
                arguments = ("--no-perf", "--seed", str(seed), *PATIENT,
                             *only(("sizes", "order", "in-flight", "send-first", "grouped")))
                status, rows, printed = runs.run(environment, *arguments)
            if name == "lost":
                for row in rows.values():
                    expect(row["result"] == "pass" or CLEAR.search(row["detail"]),
                           f"{what}:\n{text}{printed}")
            else:
                expect(status == 0, f"{what}:\n{text}{printed}")
            print(f"{what}: right in {time.monotonic() - start:.1f} s "
                  f"({'; '.join(text.splitlines())})", flush=True)


def main():
    driver, plugin, provider, what, *rest = sys.argv[1:]
    {"check": check, "versions": versions, "seeds": seeds, "faults": faults}[what](
        Check(driver, plugin, provider), *rest)


main()
