#!/usr/bin/env python3
"""heddle-sim from the shell: the table, the summary, JSON, traces, and wrong command lines."""

import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
P4D = ["all-reduce", "--machine", "p4d.24xlarge", "--hosts", "2"]
SMALL = ["-b", "8", "-e", "1M", "-f", "2"]
MACHINE = """{"name": "loom", "ranks_per_host": 2,
"inner": {"bandwidth_gb_per_s": 10, "latency_us": 1}, "rank": {"move_us": 0.1,
"copy_bandwidth_gb_per_s": 9, "reduce_bandwidth_gb_per_s": 9},
"software": {"choices": [{"algorithm": "ring"}]}}
"""
# One-shot between two ranks.
SCHEDULE = """{"heddle_schedule": 1, "collective": "all-reduce", "ranks": 2, "channels": 1,
"pieces": 1, "lanes": [
[[{"piece": 0, "from": ["input 0"], "to": ["peer 1"]},
  {"piece": 0, "from": ["input 0", "peer 1"], "to": ["output 0"], "completes": true}]],
[[{"piece": 0, "from": ["input 0"], "to": ["peer 0"]},
  {"piece": 0, "from": ["peer 0", "input 0"], "to": ["output 0"], "completes": true}]]]}
"""
failures = []


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60)


def expect(what, condition):
    if not condition:
        failures.append(what)


def rows(text):
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


def table():
    result = run(*P4D, "--adapters", "4", *SMALL)
    found = rows(result.stdout)
    expect("exit status of the table", result.returncode == 0)
    expect("sizes 8 to 1 MiB", [int(row[0]) for row in found] == [8 << i for i in range(18)])
    expect("13 columns, as the benchmarks print", all(len(row) == 13 for row in found))
    heads = [line for line in result.stdout.splitlines() if line.startswith("#")]
    expect("marked simulated in its head", "SIMULATED" in heads[0] and "simulated" in heads[5])
    expect("the average is marked", any("Avg bus" in h and "simulated" in h for h in heads))
    again = run("all_reduce", *P4D[1:], "--adapters", "4", *SMALL)
    expect("the same again, by the other spelling", again.stdout == result.stdout)


def summary():
    result = run(*P4D, "--compare", *SMALL)
    found = rows(result.stdout)
    expect("three rows, as published", [row[0] for row in found] == ["4", "1", "0"])
    expect("nothing published of other sizes", all(row[3:] == ["-"] * 4 for row in found))
    one = run(*P4D, "--compare", *SMALL, "--channels", "1", "--algorithm", "halving_doubling")
    expect("algorithms by either spelling", one.returncode == 0)


def skipped():
    """What --compare has no row for, it says why."""
    p3 = run("all-reduce", "--machine", "p3.8xlarge", "--hosts", "2", "--compare", *SMALL)
    expect("one row of p3.8xlarge", [row[0] for row in rows(p3.stdout)] == ["1"])
    expect("not 4 adapters", "# 4 adapters: skipped; a host of p3.8xlarge has 1\n" in p3.stdout)
    expect("not 0 adapters",
           '# 0 adapters: skipped; the machine file of p3.8xlarge has no "host_network"\n'
           in p3.stdout)
    expect("nothing is skipped of p4d", "skipped" not in run(*P4D, "--compare", *SMALL).stdout)


def schedules(folder):
    """A file's schedule takes what the algorithm takes whose lanes it has."""
    loom, mine = folder / "loom.json", folder / "mine.json"
    loom.write_text(MACHINE)
    mine.write_text(SCHEDULE)
    machine = ("all-reduce", "--machine", str(loom))
    own = run(*machine, *SMALL, "--schedule", str(mine))
    expect(f"a schedule runs: {own.stderr}", own.returncode == 0 and len(rows(own.stdout)) == 18)
    known = run(*machine, *SMALL, "--algorithm", "one-shot")
    expect("as one-shot", rows(own.stdout) == rows(known.stdout))
    expect("and not as a ring", rows(own.stdout) != rows(run(*machine, *SMALL).stdout))
    expect("the footer names the file", f"{mine} on 1 channel" in own.stdout)
    few = run(*P4D, *SMALL, "--schedule", str(mine))
    expect("fewer ranks than there are", "the first 2 of 2 hosts x 8 ranks" in few.stdout)
    data = json.loads(run(*P4D, *SMALL, "--schedule", str(mine), "--json").stdout)
    expect("JSON says how many", data["ranks"] == 2)
    expect("and what ran", data["results"][0]["algorithm"] == str(mine))
    many = folder / "many.json"
    many.write_text(SCHEDULE.replace('"peer 1"', '"peer 7"'))
    wrong_cases = {
        ("all-gather", *machine[1:], "--schedule", str(mine)): "is for all-reduce, and all-gather",
        (*machine, "--schedule", str(many)): "peer 7",
        (*machine, "--schedule", str(folder / "none.json")): "none.json",
        (*machine, "--schedule", str(mine), "--algorithm", "ring"): "excludes",
        (*machine, "--schedule", str(mine), "--scaling"): "excludes",
    }
    loom.write_text(MACHINE.replace('"ranks_per_host": 2', '"ranks_per_host": 1'))
    wrong_cases[(*machine, "--schedule", str(mine))] = "is for 2 ranks; 1 host of 1 ranks has 1"
    for arguments, told in wrong_cases.items():
        result = run(*arguments)
        expect(f"{arguments} fails and says {told}: {result.stderr}",
               result.returncode != 0 and told in result.stderr and result.stdout == "")


def machine_readable(folder):
    result = run(*P4D, "-b", "1K", "-e", "1M", "-f", "4", "--json")
    data = json.loads(result.stdout)
    expect("JSON says simulated", data["simulated"] is True)
    sizes = [row["size"] for row in data["results"]]
    expect("JSON rows", sizes == [1 << i for i in range(10, 21, 2)])
    path = folder / "trace.json"
    result = run(*P4D, "-b", "1M", "-e", "1M", "--trace", str(path))
    trace = json.loads(path.read_text())
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    names = {event["args"]["name"] for event in trace["traceEvents"]
             if event["name"] == "thread_name"}
    expect("a thread for every rank", {f"rank {r} channel 0" for r in range(16)} <= names)
    expect("a thread for every rail and direction",
           {f"rail {a} {d}" for a in range(4) for d in ("sends", "receives")} <= names)
    expect("spans do not overlap", not overlaps(spans))
    expect("says simulated", "simulated" in path.read_text())


def overlaps(spans):
    last = {}
    for span in sorted(spans, key=lambda s: s["ts"]):
        key = span["pid"], span["tid"]
        if span["ts"] < last.get(key, 0) - 1e-6:
            return True
        last[key] = span["ts"] + span["dur"]
    return False


def measured_machine():
    """The committed file of heddle-tune is read, and what it says is what counts."""
    path = pathlib.Path(__file__).resolve().parents[2] / "docs/machines/two-core-vm.json"
    machine = json.loads(path.read_text())
    expect("numbers say where they are from",
           "measured by heddle-tune on two-core-vm" in machine["inner"]["latency_us"]["origin"])
    result = run("all-reduce", "--machine", str(path), "-b", "1M", "-e", "1M", "--algorithm",
                 "ring", "--channels", "1", "--json")
    expect(f"the measured machine is read: {result.stderr}", result.returncode == 0)
    row, = json.loads(result.stdout)["results"]
    # Of two ranks, each sends the other the whole, over the bus that both share.
    bus = 2 * row["size"] / (machine["inner"]["bandwidth_gb_per_s"]["value"] * 1e9) * 1e6
    expect(f"the bus and little else: {row['time']} beside {bus}", bus <= row["time"] < 1.5 * bus)


def other_collectives():
    names = ("all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter",
             "all_to_all")
    for name in names:
        result = run(name, "--machine", "trn1.32xlarge", "-b", "1M", "-e", "4M")
        expect(f"{name}: three rows", len(rows(result.stdout)) == 3)


def scaling():
    result = run("all_reduce", "--machine", "p4d.24xlarge", "--scaling", "-e", "4K",
                 "--algorithm", "tree", "--channels", "1")
    ranks = [int(row[0]) for row in rows(result.stdout)]
    expect("8 to 16384 ranks", ranks == [8 << i for i in range(12)])
    expect("marked simulated", "SIMULATED" in result.stdout)


def crowded(folder):
    """More chunks in a message than its slot has room for."""
    loom = folder / "crowded.json"
    loom.write_text(MACHINE.replace('"ranks_per_host": 2', '"ranks_per_host": 16384').replace(
        '"choices": [{"algorithm": "ring"}]', '"slot_bytes": 262144'))
    result = run("all-gather", "--machine", str(loom), "--scaling", "--algorithm", "pat")
    expect(f"16,384 ranks are too many for pat: {result.stderr}",
           result.returncode == 0 and "too many" in result.stdout)


def wrong(folder):
    broken = folder / "broken.json"
    broken.write_text('{"name": "x",\n "ranks_per_host": 1,\n "rank": {},\n "inner": 5}\n')
    unknown = folder / "unknown.json"
    unknown.write_text(MACHINE.replace('"ring"', '"rnig"'))
    machine = ("all-reduce", "--machine", "p4d.24xlarge")
    cases = {
        ("all-reduce", "--machine", "p9"): "p4d.24xlarge",
        ("all-reduce", "--machine", str(broken)): "broken.json:",
        ("all-reduce", "--machine", str(unknown)):
            'unknown.json:4: software.choices[0].algorithm: "rnig" is not known',
        ("all-reduced", "--machine", "p4d.24xlarge"): "all-reduce",
        (*P4D, "--algorithm", "rnig"): "ring",
        (*machine, "--algorithm", "rnig", "--scaling"): "ring",
        (*P4D, "--algorithm", "pairwise"): "has no all-reduce",
        (*P4D, "--adapters", "5"): "has 4",
        ("all-reduce", "--machine", "p3.8xlarge", "--adapters", "0"): "host_network",
        (*P4D, "--trace", str(folder), "-e", "8"): "cannot write",
        (*P4D, "-b", "0"): "minbytes",
        (*P4D, "-b", "1E"): "minbytes",
        (*P4D, "-e", "1E"): "maxbytes",
        (*P4D, "-b", "1M", "-e", "8"): "larger than -e",
        (*P4D, "--compare", "--json"): "excludes",
        (*machine, "--compare", "--scaling"): "excludes",
        (*machine, "--scaling", "--json"): "excludes",
        (*machine, "--hosts", "1000000"): "allowed are up to 131072",
        (*machine, "--hosts", "10000", "--algorithm", "ring"): "allowed are up to 2e+08",
        (*machine, "--hosts", "2048", "--algorithm", "one-shot"): "pipes; allowed are up to 3e+07",
    }
    for arguments, told in cases.items():
        result = run(*arguments)
        expect(f"{arguments} fails and says {told}",
               result.returncode != 0 and told in result.stderr)
        expect(f"{arguments} prints nothing else", result.stdout == "" or "-e" in arguments)
    expect("help", run("--help").returncode == 0 and "--scaling" in run("--help").stdout)


with tempfile.TemporaryDirectory() as name:
    table()
    summary()
    skipped()
    schedules(pathlib.Path(name))
    machine_readable(pathlib.Path(name))
    measured_machine()
    other_collectives()
    scaling()
    crowded(pathlib.Path(name))
    wrong(pathlib.Path(name))
for failure in failures:
    print(f"failed: {failure}")
sys.exit(1 if failures else 0)
