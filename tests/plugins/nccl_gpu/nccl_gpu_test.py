#!/usr/bin/env python3
"""Real NCCL through the plugin: two processes on one GPU that take each other for two hosts
(NCCL_HOSTID), all-reduces of 8 B to 256 MiB, every value checked; and the same over NCCL's own
sockets beside it. The two share a GPU by turns, so the times compare the two networks and say
nothing of either alone.

nccl_gpu_test.py PROGRAM PLUGIN [--provider tcp] [--interface lo] [--emulated-efa FOLDER]
                 [--most BYTES] [--seconds N]

Ends with 77 and the reason where there is no GPU.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANKS = 2
SKIPPED = 77
# Two "hosts", so that neither NVLink nor shared memory is tried; one kernel of few blocks each, so
# that both fit the GPU at once.
COMMON = {
    "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NVLS_ENABLE": "0",
    "NCCL_MNNVL_ENABLE": "0", "NCCL_PROTO": "Simple", "NCCL_MAX_CTAS": "2",
    "NCCL_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET,GRAPH",
    "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0],
    "IPATH_NO_BACKTRACE": "1", "HFI_NO_BACKTRACE": "1",
}


def environments(options):
    """Name of NCCL's network -> what to set for it."""
    heddle = {"NCCL_NET": "Heddle", "NCCL_NET_PLUGIN": str(options.plugin),
              "HEDDLE_PROVIDER": options.provider, "HEDDLE_IFACE": options.interface}
    if options.emulated_efa:
        heddle |= {"FI_PROVIDER_PATH": options.emulated_efa, "HEDDLE_PROVIDER": "efa"}
    return {"Heddle": heddle, "Socket": {"NCCL_NET": "Socket", "NCCL_NET_PLUGIN": "none"}}


def start(options, settings, rank, folder):
    words = [options.program, "--rank", str(rank), "--ranks", str(RANKS),
             "--id-file", f"{folder}/id", "--most", str(options.most)]
    # NCCL writes its log where the results go, unless it has a file.
    environment = os.environ | COMMON | settings | {
        "NCCL_HOSTID": f"heddle-test-host-{rank}", "NCCL_DEBUG_FILE": f"{folder}/{rank}.log"}
    with open(f"{folder}/{rank}.out", "wb") as out, open(f"{folder}/{rank}.err", "wb") as err:
        return subprocess.Popen(words, env=environment, stdout=out, stderr=err,
                                start_new_session=True)


def end(process):
    """Kills the process's own session: NCCL's kernels may never end by themselves."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def text_of(path):
    return path.read_text(errors="replace") if path.exists() else ""


def run(options, name, settings):
    """Rows {bytes, wrong, seconds} of one network, and whether it moved GPU memory directly; or
    fails with all that was said."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        limit = time.monotonic() + options.seconds
        processes = [start(options, settings, rank, folder) for rank in range(RANKS)]
        try:
            while any(one.poll() is None for one in processes) and time.monotonic() < limit:
                if any(one.poll() not in (None, 0) for one in processes):
                    limit = min(limit, time.monotonic() + 5)  # the other hears of it, or not
                time.sleep(0.05)
            codes = [one.poll() for one in processes]
        finally:
            for one in processes:
                end(one)
        said = "\n".join(f"--- {path.name}\n{text_of(path)}" for path in sorted(folder.iterdir())
                         if path.suffix in (".out", ".err", ".log"))
        if codes != [0] * RANKS:
            sys.exit(f"{name}: exit codes {codes} (None: killed after {options.seconds} s)\n{said}")
        log = text_of(folder / "0.log")
        for wanted in (rf"via NET/{name}/\d", r"nNodes 2 localRanks 1"):
            if not re.search(wanted, log):
                sys.exit(f'{name}: NCCL\'s log has no "{wanted}"\n{said}')
        rows = [json.loads(line) for line in text_of(folder / "0.out").splitlines()
                if line.startswith("{")]
        return rows, "/GDRDMA" in log


def report(options, results):
    rows = {name: {row["bytes"]: row for row in found} for name, (found, _) in results.items()}
    by = "emulated efa" if options.emulated_efa else options.provider
    print(f"All-reduce of floats, 2 processes by turns on one GPU, over {by}"
          f" on {options.interface or 'any interface'}")
    for name, (_, direct) in results.items():
        print(f"{name}: {'GPU memory directly (GDRDMA)' if direct else 'through host memory'}")
    print(f"{'bytes':>10}  {'Heddle us':>12} {'GB/s':>8}  {'Socket us':>12} {'GB/s':>8}"
          f"  {'ratio':>6}")
    for size, ours in sorted(rows["Heddle"].items()):
        theirs = rows["Socket"][size]
        cells = [f"{row['seconds'] * 1e6:12.1f} {size / row['seconds'] / 1e9:8.3f}"
                 for row in (ours, theirs)]  # busbw = algbw with two ranks
        print(f"{size:10}  {cells[0]}  {cells[1]}  {theirs['seconds'] / ours['seconds']:6.2f}")
    wrong = [row for found in rows.values() for row in found.values() if row["wrong"]]
    sizes = {name: max(found, default=0) for name, found in rows.items()}
    if wrong or any(size != options.most for size in sizes.values()):
        sys.exit(f"wrong: {wrong}, largest sizes: {sizes}")
    print("every value right")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("plugin", type=Path)
    parser.add_argument("--provider", default="tcp")
    parser.add_argument("--interface", default="lo", help="HEDDLE_IFACE; '' is any")
    parser.add_argument("--emulated-efa", help="the folder of the emulated provider")
    parser.add_argument("--most", type=int, default=256 << 20, help="bytes of the largest size")
    parser.add_argument("--seconds", type=float, default=120, help="that one network may take")
    options = parser.parse_args()
    probe = subprocess.run([options.program, "--probe"], capture_output=True, text=True,
                           timeout=60, check=False)
    if probe.returncode == SKIPPED:
        print(probe.stdout.strip())
        sys.exit(SKIPPED)
    if probe.returncode != 0:
        sys.exit(f"the probe ended with {probe.returncode}: {probe.stdout}{probe.stderr}")
    if not options.plugin.exists():
        sys.exit(f"{options.plugin} is not there")
    report(options, {name: run(options, name, settings)
                     for name, settings in environments(options).items()})


main()
