#!/usr/bin/env python3
"""Runs a program's tests where each of four ranks has a host of its own: vanish.py PROGRAM TESTS.
Exits with 77 where namespaces cannot be made."""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "netns"))
import cluster_job  # noqa: E402


def hosts_vanish():
    environment = {**os.environ, "TEST_CLUSTER": cluster_job.CLUSTER.name}
    if subprocess.run(sys.argv[1:], env=environment, check=False).returncode != 0:
        raise SystemExit("FAILED")


cluster_job.run([hosts_vanish], "--hosts", "4", "--rails", "1")
