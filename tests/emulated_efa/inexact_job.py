"""Ranks of inexact_program over the emulated EFA or over tcp, for the tests beside this file."""
import atexit
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

RANKS = 3


def expect(truth, what):
    if not truth:
        raise SystemExit(f"FAILED: {what}")


def over_emulated_efa(provider, adapters, seed, script=None, fabric="efa"):
    """The environment; `provider` is the folder of libefa-fi.so."""
    settings = {"FI_PROVIDER_PATH": provider, "HEDDLE_PROVIDER": "efa",
                "HEDDLE_EMULATED_EFA": str(adapters), "HEDDLE_EMULATED_EFA_SEED": str(seed),
                "HEDDLE_EMULATED_EFA_FABRIC": fabric, "HEDDLE_EMULATED_EFA_IFACE": "lo"}
    if script is not None:
        settings["HEDDLE_EMULATED_EFA_SCRIPT"] = script
    return settings


class Job:
    """Three processes, each a rank. `endless`: they go round until end()."""

    def __init__(self, program, settings, endless=False):
        self.folder = tempfile.TemporaryDirectory()
        if not endless:
            self.stop()
        environment = {**os.environ, "HEDDLE_SHM": "0", "HEDDLE_IFACE": "lo",
                       "HEDDLE_LOG": "warn", "HEDDLE_TIMEOUT": "60", **settings}
        self.files = [open(f"{self.folder.name}/{rank}", "w+") for rank in range(RANKS)]
        # RANK: the script's lines may name one.
        self.ranks = [subprocess.Popen([program, str(rank), str(RANKS), self.folder.name],
                                       env=dict(environment, RANK=str(rank)), stdout=file,
                                       stderr=subprocess.STDOUT)
                      for rank, file in enumerate(self.files)]
        atexit.register(self.kill)  # when the test fails

    def stop(self):
        """At the end of a round."""
        Path(self.folder.name, "end").touch()

    def texts(self):
        return [Path(self.folder.name, str(rank)).read_text() for rank in range(RANKS)]

    def text(self):
        return "\n".join(self.texts())

    def wait_for(self, patterns, seconds):
        """Until the log has all of them; False when the time or the job is over before."""
        end = time.monotonic() + seconds
        while not all(re.search(pattern, self.text()) for pattern in patterns):
            if time.monotonic() > end or any(rank.poll() is not None for rank in self.ranks):
                return False
            time.sleep(0.02)
        return True

    def kill(self):
        for rank in self.ranks:
            if rank.poll() is None:
                rank.kill()
                rank.wait()

    def statuses(self, seconds):
        """All must end by then."""
        end = time.monotonic() + seconds
        try:
            return [rank.wait(max(0.01, end - time.monotonic())) for rank in self.ranks]
        except subprocess.TimeoutExpired:
            raise SystemExit(f"FAILED: still there after {seconds} s:\n{self.text()}") from None

    def hashes(self, what, seconds=120):
        """(rank, algorithm, collective, count) -> hash, when all ends well."""
        expect(self.statuses(seconds) == [0] * RANKS, f"{what}: a rank failed:\n{self.text()}")
        found = {}
        for rank, text in enumerate(self.texts()):
            for words in re.findall(r"^(\S+) (\S+) (\d+) ([0-9a-f]{16})$", text, re.MULTILINE):
                found[(rank, *words[:3])] = words[3]
        expect(found, f"{what}: no hashes:\n{self.text()}")
        self.close()
        return found

    def close(self):
        atexit.unregister(self.kill)
        for file in self.files:
            file.close()
        self.folder.cleanup()


def over_tcp(program):
    return Job(program, {"HEDDLE_PROVIDER": "tcp"}).hashes("tcp")


def expect_same(found, wanted, what):
    different = sorted(key for key in found.keys() | wanted.keys()
                       if found.get(key) != wanted.get(key))
    expect(not different, f"{what}: other bits in {different}")
