"""An emulated cluster (cluster, beside this file) that lives as long as the program that uses it:
also when that program is terminated, and, killed, until the next cluster is brought up."""
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

CLUSTER = Path(__file__).resolve().with_name("cluster")


class NotUp(Exception):
    pass


class OwnedCluster:
    def __init__(self, letter):
        self.name = f"{letter}{os.getpid()}"

    def words(self, *words):
        """The command line for something that the cluster shall do."""
        return [sys.executable, "-B", str(CLUSTER), "--name", self.name, *map(str, words)]

    @contextlib.contextmanager
    def up(self, *arguments):
        """Brings it up, with the arguments of `cluster up`, and down at the end of `with`."""
        # SIGTERM must not end the program before it is down.
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
        try:
            made = subprocess.run(self.words("up", "--owner", os.getpid(), *arguments),
                                  capture_output=True, text=True)
            if made.returncode != 0:
                raise NotUp(made.stderr.strip())
            yield self
        finally:
            subprocess.run(self.words("down"), check=False)
            signal.signal(signal.SIGTERM, before)
