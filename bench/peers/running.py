"""How the peer programs of this folder are run, and what they print; for the scripts of bench/."""
import os
import re
import signal
import subprocess
import time

# Told to malloc: see compare_peers.py.
KEEP_HEAP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
             "MALLOC_TOP_PAD_": str(64 << 20)}
# Of bench/peers/common.hpp: op, ranks, bytes, us, algbw, busbw, wrong, iterations.
ROW = re.compile(r"^(\w+) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +(\d+)$", re.M)


def busy_seconds():
    """Processor seconds used by all programs since the machine started."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq = map(int, stat.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def launch(command, environment, limit):
    """Output, failure in words or None, and the load by others."""
    busy, own, start = busy_seconds(), own_seconds(), time.time()
    process = subprocess.Popen(command, env={**os.environ, **environment}, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    failure = None
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        failure = f"still running after {limit} s"
    if failure is None and process.returncode != 0:
        failure = f"status {process.returncode}: {errors.strip()[-400:]}"
    others = busy_seconds() - busy - (own_seconds() - own)
    return output, failure, max(0.0, others / (time.time() - start) / os.cpu_count())
