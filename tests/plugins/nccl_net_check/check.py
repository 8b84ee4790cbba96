#!/usr/bin/env python3
"""Runs nccl_net_check on the reference plugin, as it is or with a fault, and looks at the row.

check.py DRIVER PLUGIN good [ARGUMENT ...]
check.py DRIVER PLUGIN fault FAULT BEHAVIOUR TEXT   the row fails, and says TEXT
check.py DRIVER PLUGIN usage"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile


def run(driver, plugin, *arguments, fault=""):
    """(exit status, {behaviour: row}, all of the JSON, what was printed)"""
    # Faults that crash must end their process as they would without a sanitizer.
    environment = dict(os.environ, NCCL_NET_REFERENCE_FAULT=fault, ASAN_OPTIONS="handle_segv=0")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.json")
        result = subprocess.run([driver, plugin, "--json", path, *arguments], text=True,
                                env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        report = json.loads(path.read_text()) if path.exists() else {"behaviours": []}
    print(result.stdout)
    rows = {row["name"]: row for row in report["behaviours"]}
    return result.returncode, rows, report, result.stdout


def good(driver, plugin, *arguments):
    status, rows, report, text = run(driver, plugin, *arguments)
    assert status == 0, status
    assert rows and all(row["result"] in ("pass", "skip") for row in rows.values())
    if "--only" not in arguments:
        listed = subprocess.run([driver, "--list"], capture_output=True, text=True, check=True)
        assert [line.split()[0] for line in listed.stdout.splitlines()] == list(rows)
    if "--no-perf" not in arguments:
        assert all(row["half_round_trip_us"] > 0 and row["bandwidth_gbs"] > 0
                   for row in report["performance"])
        assert report["performance"][0]["bytes"] == 8
    assert report["name"] == "Reference" and report["device"].startswith("reference")
    assert "all required behaviours are right" in text


def fault(driver, plugin, name, behaviour, text):
    status, rows, _, _ = run(driver, plugin, "--no-perf", "--only", behaviour, "--timeout", "2",
                             "--peer-timeout", "1", fault=name)
    assert status == 1, status
    row = rows[behaviour]
    assert row["result"] == "FAIL", row
    assert text in row["detail"], row
    assert row["seconds"] < 30, row


def usage(driver, plugin):
    for arguments, text in (
            ([plugin, "--api", "9"], "has no ncclNetPlugin_v9"),
            ([plugin, "--api", "5"], "'5': 6 to 12 and 0 are allowed"),
            ([plugin, "--only", "nothing"], "there is no 'nothing'"),
            ([plugin, "--json", "/nowhere/x.json"], "--json: cannot write '/nowhere/x.json'"),
            ([plugin, "--json", ""], "--json: cannot write ''"),
            (["--only", "init", plugin, "--api", "9"], "has no ncclNetPlugin_v9"),
            (["nowhere"], "NCCL_NET_PLUGIN=nowhere means libnccl-net-nowhere.so"),
            ([plugin, "--ranks", "9"], "--ranks"),
            ([plugin, "--device", "7"], "device 7 is asked for"),
            (["/nowhere/libnccl-net.so"], "/nowhere/libnccl-net.so"),
            (["libm.so.6"], "exports none of"),
            ([], "PLUGIN")):
        result = subprocess.run([driver, *arguments], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        print(result.stdout)
        assert result.returncode == 2, (arguments, result.returncode)
        assert text in result.stdout, (arguments, result.stdout)


def main():
    driver, plugin, what, *rest = sys.argv[1:]
    {"good": good, "fault": fault, "usage": usage}[what](driver, plugin, *rest)


main()
