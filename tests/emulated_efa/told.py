#!/usr/bin/env python3
"""Whatever is printed of the emulated EFA says that it is emulated: heddle-info, the metrics.

usage: told.py FOLDER_OF_PROVIDER HEDDLE_INFO ALL_REDUCE_PERF
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main():
    provider, info, program = sys.argv[1:]
    real = dict(os.environ, HEDDLE_IFACE="lo")
    emulated = dict(real, FI_PROVIDER_PATH=provider, HEDDLE_EMULATED_EFA_IFACE="lo",
                    HEDDLE_SHM="0", HEDDLE_PROVIDER="efa", HEDDLE_EMULATED_EFA="2")

    def output(environment, *command):
        done = subprocess.run([str(word) for word in command], env=environment, text=True,
                              capture_output=True, timeout=60)
        if done.returncode != 0:
            sys.exit(f"FAILED: {command}: {done.stdout}{done.stderr}")
        return done.stdout

    def expect(text, *patterns):
        for pattern in patterns:
            if not re.search(pattern, text, re.MULTILINE):
                sys.exit(f"FAILED: no '{pattern}' in:\n{text}")

    expect(output(emulated, info), "^  efa .* chosen, EMULATED$",
           "^  adapter +rdmap16s27,.* EMULATED$", "^  device memory +no$")
    page = json.loads(output(emulated, info, "--json"))
    adapters = [(provider["name"], adapter["emulated"]) for provider in page["providers"]
                for adapter in provider["adapters"]]
    if {name for name, is_emulated in adapters if is_emulated} != {"efa"} or len(adapters) < 3:
        sys.exit(f"FAILED: emulated are {adapters}")
    if "EMULATED" in output(real, info):
        sys.exit("FAILED: heddle-info says EMULATED where nothing is")

    with tempfile.TemporaryDirectory() as folder:
        job = dict(emulated, HEDDLE_METRICS_FILE=f"{folder}/%p.prom")
        output(job, program, "-g", 2, "-b", "8", "-e", "8", "-n", 1)
        files = sorted(Path(folder).glob("*.prom"))
        expect(files[0].read_text(), r'^heddle_rail_links{.*provider="efa \(EMULATED\)"')
        expect(output(real, info, "--metrics", *files), r"^  efa \(EMULATED\) rail rdmap16s27 ")

        # A launcher that sets the variables and starts one process, which forks its ranks.
        launcher = "sh -c 'while [ $1 = -x ]; do export $2; shift 2; done; exec \"$@\"' sh"
        table = output(emulated, ROOT / "bench/heddle-compare", "--mpirun", launcher, "--build",
                       Path(info).parents[1], "--adapters", "2", "-b", "8", "-e", "8", "-n", "1",
                       "-o", folder)
        expect(table, r"^## all_reduce, 2 adapters a host \(EMULATED: ", "^# Summary: EMULATED: ")
        results = json.loads(Path(folder, "results.json").read_text())
        if results["emulated"] is not True:
            sys.exit("FAILED: heddle-compare's JSON does not say emulated")


main()
