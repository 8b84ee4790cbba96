"""Jobs in an emulated cluster (tests/netns/cluster), for the tests beside this file."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLUSTER = Path(__file__).resolve().parents[2] / "netns" / "cluster"
NAME = f"f{os.getpid() % 1000000}"
RAILS = 4
PROGRAM = sys.argv[1]  # all_reduce_perf, which checks every element of every result


def cluster(*words, check=True):
    done = subprocess.run([sys.executable, "-B", CLUSTER, "--name", NAME, *map(str, words)],
                          capture_output=True, text=True, timeout=60)
    if check and done.returncode != 0:
        raise SystemExit(f"FAILED: {words}: {done.stderr}")
    return done


class Job:
    """Two ranks, one a host, that print a checked table row for every 20 all-reduces."""

    def __init__(self, rows, on_host_1="", **settings):
        settings = {"HEDDLE_IFACE": "^lo,eth0", "HEDDLE_LOG": "info", "HEDDLE_RAIL_TIMEOUT": "0.5",
                    "IPATH_NO_BACKTRACE": "1", "HFI_NO_BACKTRACE": "1", **settings}
        words = []
        for name, value in settings.items():
            words += ["-x", f"{name}={value}"]
        start = f'case $(hostname) in *-1) export {on_host_1 or "_=_"};; esac; exec "$0" "$@"'
        words += ["sh", "-c", start, PROGRAM, "-b", "2M", "-e", "2M", "-w", "1", "-n", "20", "-c",
                  "1", "-N", str(rows)]
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-B", CLUSTER, "--name", NAME, "mpirun", "1", *words],
            stdout=self.log, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def text(self):
        self.log.flush()
        return os.pread(self.log.fileno(), 1 << 24, 0).decode()

    def wait_for(self, pattern, count=1, seconds=60):
        end = time.monotonic() + seconds
        while len(re.findall(pattern, self.text())) < count:
            if time.monotonic() > end or (self.process.poll() is not None and
                                          len(re.findall(pattern, self.text())) < count):
                raise SystemExit(f"FAILED: no {count} x {pattern} in {seconds} s:\n{self.text()}")
            time.sleep(0.02)

    def rows_are_right(self):
        rows = [line.split() for line in self.text().splitlines() if re.match(r" +2097152 ", line)]
        return rows and all(row[8] == "0" and row[12] == "0" for row in rows)

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(30)

    def end(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"FAILED: still there after {seconds} s:\n{self.text()}") from None


def expect(truth, what, job):
    if not truth:
        raise SystemExit(f"FAILED: {what}:\n{job.text()}")


def run(steps, *up):
    """Brings a cluster up, runs what is given and takes it down. Exits with 77 where namespaces
    cannot be made."""
    if os.geteuid() != 0 or cluster("up", "--hosts", 2, "--rails", RAILS, *up,
                                    check=False).returncode:
        print("SKIPPED: network namespaces need root and a kernel that has them")
        sys.exit(77)
    try:
        for step in steps:
            print(step.__name__, flush=True)
            step()
    finally:
        cluster("down", check=False)
