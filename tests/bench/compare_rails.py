#!/usr/bin/env python3
"""The tables of bench/compare_rails.py, from rows made up here."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import compare_rails as rails  # noqa: E402


def row(cluster, library, count, busbw, size=65536, ranks_per_host=1):
    return dict(zip(rails.FIELDS, (cluster, ranks_per_host, library, count, size, 100.0, busbw, 0)))


class CompareRails(unittest.TestCase):
    def test_medians_and_in_how_many_clusters_heddle_is_ahead(self):
        rows = [row(c, "heddle", 4, busbw) for c, busbw in enumerate((0.4, 0.5, 0.45))]
        rows += [row(c, "Open MPI, tcp", 4, busbw) for c, busbw in enumerate((0.2, 0.25, 0.9))]
        rows += [row(c, "MPICH, UCX", 4, busbw) for c, busbw in enumerate((0.3, 0.1, 0.1))]
        text = "\n".join(rails.table_lines(rows, 1))
        self.assertIn("| 64 KiB | - | 0.45 | 0.25 | 0.1 | 0.50 | 2 of 3 |", text)

    def test_sizes_that_a_library_did_not_reach_are_left_open(self):
        rows = [row(0, "heddle", 4, 0.4), row(1, "MPICH, UCX", 4, 0.2)]
        text = "\n".join(rails.table_lines(rows, 1))
        self.assertIn("| 64 KiB | - | 0.4 | - | 0.2 | - | 0 of 0 |", text)

    def test_emulation_losses_and_what_was_left_out_are_told(self):
        rows = [row(0, "heddle", 1, 0.1), row(0, "heddle", 4, 0.4)]
        loss = {"before": 0.4, "from the pull on": 0.25, "last third": 0.3, "wrong": 0}
        text = rails.report(rows, [0.12], [loss],
                            {("MPICH, UCX", 2): "still running after 40 s"}, "1gbit")
        self.assertTrue(text.startswith("EMULATED"))
        self.assertIn("iperf3 over one rail: 0.1200 GB/s", text)
        self.assertIn("Left out: MPICH, UCX with 2 ranks a host, still running after 40 s.", text)
        self.assertIn("| 1 | 0.400 | 0.250 | 2.50 | 0.300 | 3.00 | 0 |", text)
        self.assertIn("heddle at 64 KiB: one rail / iperf3 0.83; four rails / one 4.00.", text)

    def test_ratios_are_those_of_the_largest_size_and_its_medians(self):
        rows = [row(0, "heddle", 4, busbw, 65536, 2) for busbw in (9, 9, 9)]
        rows += [row(c, "heddle", 4, busbw, 1 << 20, 2) for c, busbw in enumerate((0.2, 0.3, 0.9))]
        rows += [row(0, "heddle", 1, 0.15, 1 << 20, 2), row(0, "MPICH, UCX", 4, 7, 1 << 20, 2)]
        self.assertIn("heddle at 1 MiB: one rail / iperf3 1.25; four rails / one 2.00; "
                      "four rails / 0.358 GB/s, where each byte crosses once, 0.84.",
                      rails.ratio_lines(rows, 2, 0.12, "500mbit"))
        self.assertEqual(rails.ratio_lines(rows, 1, 0.12, "500mbit"), [])

    def test_the_limit_is_that_of_the_rate_and_the_shape(self):
        self.assertAlmostEqual(rails.hierarchical_limit("1gbit", 4, 2), 0.717, places=3)
        self.assertAlmostEqual(rails.hierarchical_limit("250mbit", 1, 1), 0.0299, places=4)


if __name__ == "__main__":
    unittest.main()
