#!/usr/bin/env python3
"""The tables of bench/compare_peers.py, from rows made up here."""

import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import compare_peers as peers  # noqa: E402


def row(library, number, us, wrong=0, size=65536):
    return dict(zip(peers.FIELDS, ("tcp", 2, "allreduce", library, number, size, us,
                                   size / us / 1e3, wrong, 10, 0.25)))


def report(rows, failures=(), limits=None):
    return peers.report(types.SimpleNamespace(rounds=3), rows, dict(failures), limits or {})


class ComparePeers(unittest.TestCase):
    def test_reads_the_rows_that_the_programs_print(self):
        # The format of bench/peers/common.hpp.
        line = "%-22s %5d %12.0f %12.2f %10.4f %10.4f %7.0f %7d" % (
            "allreduce", 2, 8, 9983.97, 0.00001, 1.5, 0, 3)
        found = peers.ROW.findall("# Gloo\n#op ranks\n" + line + "\n")
        self.assertEqual(found, [("allreduce", "2", "8", "9983.97", "0.0000", "1.5000", "0", "3")])

    def test_medians_and_the_ratio_to_the_best_peer(self):
        rows = [row("heddle", i, us) for i, us in enumerate((10, 50, 20))]
        rows += [row("slow", i, 90) for i in range(3)] + [row("fast", i, 30) for i in range(3)]
        text, right = report(rows)
        self.assertTrue(right)
        self.assertIn("| 64 KiB | 20 | 90 | 30 | 3.28 | 1.50 |", text)
        self.assertIn("load by other programs 25 %", text)

    def test_wrong_elements_and_failed_launches_are_told(self):
        rows = [row("heddle", 0, 10), row("other", 0, 10, wrong=4)]
        text, right = report(rows, [(("tcp", 4, "allreduce", "gone"), "status 3: no")])
        self.assertFalse(right)
        self.assertIn("Wrong elements: other.", text)
        self.assertIn("Failed: gone, tcp, allreduce, 4 ranks: status 3: no", text)

    def test_a_size_that_a_library_lacks_is_a_dash(self):
        text, _ = report([row("heddle", 0, 10), row("other", 0, 5, size=128)])
        self.assertIn("| 128 B | - | 5 | - | - |", text)
        self.assertIn("| 64 KiB | 10 | - | 6.55 | - |", text)

    def test_limits_are_those_of_the_model(self):
        # Of two ranks: half of the buffer is added, half copied, by each of two cores.
        rates = {"copy": 23.4, "add3": 18.5, "add2": 31.4}
        self.assertAlmostEqual(peers.copy_limit(rates, 2), 10.3, delta=0.05)
        self.assertAlmostEqual(peers.copy_limit(rates, 4), 6.1, delta=0.05)
        self.assertAlmostEqual(peers.tcp_limit({"256M": rates, "tcp": 3.3}, 2), 1.57, delta=0.01)

    def test_every_command_has_its_places_filled(self):
        arguments = types.SimpleNamespace(min="8", max="1K", factor=8, budget=0.1)
        for group in peers.GROUPS.values():
            for library in group:
                for ranks in (1, 4096):
                    words = peers.command_of(library, ranks, "allreduce", arguments,
                                             pathlib.Path("/b"))
                    self.assertFalse([word for word in words if "{" in word], library.name)
                    self.assertIn(str(ranks), words)


unittest.main()
