#!/usr/bin/env python3
"""Jobs that may not lock the memory that they need, over the emulated EFA, which refuses it: each
rank ends and says what the limit is and how to raise it, wherever the memory runs out.

memlock_test.py RANK_PROGRAM FOLDER_OF_PROVIDER
"""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "netns"))
from rank_processes import ends_of_ranks, expect_of_each  # noqa: E402

PROGRAM, PROVIDER = sys.argv[1:3]
RANKS = 3
TOLD = 64  # KiB


def job(mebibytes):
    """The stand-in goes by its script, what the library says by the process's own limit."""
    with tempfile.NamedTemporaryFile("w", suffix=".script") as script:
        script.write(f"memlock {mebibytes << 20}\n")
        script.flush()
        settings = {"FI_PROVIDER_PATH": PROVIDER, "HEDDLE_PROVIDER": "efa", "HEDDLE_SHM": "0",
                    "HEDDLE_EMULATED_EFA": "2", "HEDDLE_EMULATED_EFA_SCRIPT": script.name,
                    "HEDDLE_TIMEOUT": "10", "HEDDLE_INIT_TIMEOUT": "10"}
        return ends_of_ranks(
            PROGRAM, [settings] * RANKS,
            lambda rank, words: ["sh", "-c", f'ulimit -S -l {TOLD} && exec "$0" "$@"', *words])


def main():
    wanted = f"may lock {TOLD} KiB (ulimit -l); raise that with"
    # Too little for bounce buffers, for any pipe, for all pipes, for messages from user buffers.
    for mebibytes in (1, 2, 4, 16):
        ends = job(mebibytes)
        expect_of_each(ends, lambda status, text: status == 1 and wanted in text,
                       f"memlock of {mebibytes} MiB")
        print(f"{mebibytes} MiB:", ends[0][1], flush=True)
    expect_of_each(job(64), lambda status, text: status == 0 and "right" in text,
                   "memlock of 64 MiB")


main()
