"""bench/heddle-compare from the shell, over emulated adapters and tiny sizes.

    heddle_compare.py BUILD_FOLDER

Exits with 77 where network namespaces cannot be made.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
TOOL = pathlib.Path(__file__).resolve().parents[2] / "bench" / "heddle-compare"


def run(*arguments, cwd=None):
    # By its first line: the system's Python has the system's matplotlib.
    return subprocess.run([TOOL, "--build", BUILD, *arguments], cwd=cwd, capture_output=True,
                          text=True)


def expect(truth, what, done):
    if not truth:
        sys.exit(f"FAILED: {what}\n{done.stdout}{done.stderr}")


def refused(words, *arguments):
    done = run(*arguments)
    expect(done.returncode != 0 and words in done.stderr, f"{arguments} says {words}", done)


def check_files(folder, done):
    document = json.loads((folder / "results.json").read_text())
    expect(document["emulated"] is True, "the JSON says emulated", done)
    expect([row["adapters"] for row in document["summary"]] == [4, 1, 0], "its summary", done)
    expect(all(row["maximum_busbw"] > 0 for row in document["summary"]), "bandwidths", done)
    with open(folder / "results.csv") as file:
        rows = list(csv.DictReader(file))
    expect(all("EMULATED" in row["what"] and float(row["wrong"]) == 0 for row in rows), "CSV", done)
    # Two sizes, both halves, three numbers of adapters.
    expect(len(rows) == 12, f"{len(rows)} rows of CSV", done)
    wanted = {"results.json", "results.csv", "results.svg", "results.png"}
    expect({path.name for path in folder.iterdir()} == wanted, f"the files {wanted}", done)
    for name in wanted:
        expect(str(folder / name) in done.stdout, f"says that it wrote {name}", done)


def main():
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
    if probe.returncode != 0:
        print(f"SKIPPED: no network namespaces can be made here: {probe.stderr.strip()}")
        sys.exit(77)
    refused("allowed are all_reduce", "--collectives", "all_redcue", "--emulated")
    refused("--mpirun is needed", "--adapters", "0")
    with tempfile.TemporaryDirectory() as name:
        (pathlib.Path(name) / "file").touch()
        refused("--output", "--emulated", "-o", f"{name}/file")
        folder = pathlib.Path(name) / "made" / "results"
        done = run("--emulated", "--adapters", "0,1,4", "--collectives", "all-reduce", "-b", "8",
                   "-e", "1K", "-f", "128", "-n", "1", "-o", str(folder))
        expect(done.returncode == 0, "exit status", done)
        for adapters in (4, 1, 0):
            expect(f"## all_reduce, {adapters} adapters a host (EMULATED" in done.stdout,
                   f"the table of {adapters} adapters", done)
        expect(done.stdout.count("Out of bounds values : 0 OK") == 3, "three right tables", done)
        expect("# Summary: EMULATED" in done.stdout, "the summary", done)
        check_files(folder, done)


main()
