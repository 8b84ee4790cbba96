#!/usr/bin/env python3
"""HEDDLE_PROVIDER=auto where one host has EFA (emulated) and the other has not: both ranks name
both providers, and what to set.

mixed_providers_test.py RANK_PROGRAM FOLDER_OF_PROVIDER
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "netns"))
from rank_processes import ends_of_ranks, expect_of_each  # noqa: E402

PROGRAM, PROVIDER = sys.argv[1:3]


def main():
    common = {"HEDDLE_PROVIDER": "auto", "HEDDLE_SHM": "0", "HEDDLE_TIMEOUT": "10"}
    for with_efa in range(2):
        of_rank = [dict(common), dict(common)]
        of_rank[with_efa]["FI_PROVIDER_PATH"] = PROVIDER
        ends = ends_of_ranks(PROGRAM, of_rank)
        expect_of_each(ends, lambda status, text: status == 1 and "provider efa (" in text and
                       ("provider net (" in text or "provider tcp (" in text) and
                       "must use the same HEDDLE_PROVIDER" in text,
                       f"rank {with_efa} alone has EFA")
        print(*(text for _, text in ends), sep="")


main()
