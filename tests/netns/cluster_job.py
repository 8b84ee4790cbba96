"""Jobs in an emulated cluster (cluster, beside this file), for tests."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from owned_cluster import NotUp, OwnedCluster

CLUSTER = OwnedCluster("f")
RAILS = 4
SPARE = 3  # seconds over a deadline of the library until all of it is told


def cluster(*words, check=True):
    done = subprocess.run(CLUSTER.words(*words), capture_output=True, text=True, timeout=60)
    if check and done.returncode != 0:
        raise SystemExit(f"FAILED: {words}: {done.stderr}")
    return done


class Launch:
    """A program on both hosts."""

    def __init__(self, program, on_host_1="", ranks_per_host=1, **settings):
        settings = {"HEDDLE_IFACE": "^lo,eth0", "HEDDLE_LOG": "info", "HEDDLE_RAIL_TIMEOUT": "0.5",
                    **settings}
        words = []
        for name, value in settings.items():
            words += ["-x", f"{name}={value}"]
        start = f'case $(hostname) in *-1) export {on_host_1 or "_=_"};; esac; exec "$0" "$@"'
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            CLUSTER.words("mpirun", ranks_per_host, *words, "sh", "-c", start, *program),
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

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(30)

    def end(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"FAILED: still there after {seconds} s:\n{self.text()}") from None


class Job(Launch):
    """all_reduce_perf, the program, which checks every element of every result, on a rank a host.
    Prints a row for every 20 all-reduces of 2 MiB, or as is wanted."""

    def __init__(self, program, rows, on_host_1="", size=2 << 20, operations=20, **settings):
        self.row = f" +{size} "
        super().__init__([program, "-b", str(size), "-e", str(size), "-w", "1", "-n",
                          str(operations), "-c", "1", "-N", str(rows)], on_host_1, **settings)

    def rows(self):
        return [line.split() for line in self.text().splitlines() if re.match(self.row, line)]

    def wait_for_rows(self, more):
        self.wait_for("\n" + self.row, len(self.rows()) + more)

    def rows_are_right(self):
        rows = self.rows()
        return rows and all(row[8] == "0" and row[12] == "0" for row in rows)


def expect(truth, what, job):
    if not truth:
        raise SystemExit(f"FAILED: {what}:\n{job.text()}")


def run(steps, *up):
    """Brings a cluster up, runs what is given and takes it down. Exits with 77 where namespaces
    cannot be made."""
    rails = [] if "--rails" in up else ["--rails", RAILS]
    try:
        with CLUSTER.up("--hosts", 2, *rails, *up):
            for step in steps:
                print(step.__name__, flush=True)
                step()
    except NotUp as why:
        print("SKIPPED: network namespaces need root and a kernel that has them:", why)
        sys.exit(77)
