# SPDX-License-Identifier: Apache-2.0
"""A host's clock may stand anywhere: what is concluded stays the same to the last digit. Ranks of one host share a
clock: far apart they are not of one capture, which is said."""

import re
import tempfile
import unittest

from made_traces import copy
from program import output

DAY = 24 * 3600 * 10**9
# Not only whole ticks or microseconds, both ways, 30 days and ten years.
SHIFTS = (1, 123, 1_000_077, 50 * 10**6 + 249, 30 * DAY, 30 * DAY + 333, 3653 * DAY + 1, -DAY - 17)
OFFSET = re.compile(r"^groups and clocks +clocks of hosts lie up to .*\n(?: +.*\n)*|^Clocks of the hosts\n(?:.+\n)*", re.M)
OFFSET_NS = re.compile(r'"(?:offset|reference)_ns": -?\d+')


def answer(later, host):
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(4):
            moved = rank >= 2
            copy("slow-link", rank, folder, host if moved else None, later if moved else 0)
        text = output("diagnose", folder, "--section", "all", "--quiet")
        return OFFSET.sub("", text), OFFSET_NS.sub("", output("diagnose", folder, "--json", "--quiet"))


class Clocks(unittest.TestCase):
    maxDiff = None

    def test_of_hosts_change_nothing(self):
        expected = answer(0, "other")
        self.assertIn("2 hosts", expected[0])
        for later in SHIFTS:
            with self.subTest(later):
                self.assertEqual(answer(later, "other"), expected)

    def test_of_one_host_that_lie_apart_are_doubted(self):
        self.assertNotIn("different jobs", answer(0, None)[1])
        self.assertIn("ranks 2, 3 of host n0 were recorded 720 h 00 min after ranks 0, 1 by the same clock",
                      answer(30 * DAY, None)[1])


class MixedJobs(unittest.TestCase):
    def test_are_doubted_though_their_shapes_agree(self):
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(4):
                copy("slow-link" if rank == 3 else "healthy", rank, folder)
            text = " ".join(output("diagnose", folder, "--section", "not-checked", "--quiet").split())
            self.assertRegex(text, r"the clock of rank 3 tells nothing: it was recorded at another time than the rest of "
                                   r"the host, and a step lasts 2\.\d+x as long there")
            self.assertIn("the job as a whole: these may be traces of different jobs or captures: most operations of "
                          "rank 3 have no counterpart on the others", text)


if __name__ == "__main__":
    unittest.main()
