# SPDX-License-Identifier: Apache-2.0
"""--timeline writes what a viewer of Chrome traces reads without dropping anything, the critical path among it."""

import json
import os
import tempfile
import unittest

from made_traces import copy
from program import output


def timeline(path):
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "out.json")
        output("diagnose", path, "--quiet", "--timeline", target)
        with open(target, encoding="utf-8") as file:
            return json.load(file)["traceEvents"]


def slices(events):
    """{(process, thread): [(start, end, name)]} by name of process and thread, in whole nanoseconds."""
    names = {(e["name"], e["pid"], e["tid"]): e["args"].get("name") for e in events if e["ph"] == "M"}
    found = {}
    for e in events:
        if e["ph"] == "X":
            key = (names["process_name", e["pid"], 0], e["tid"], names["thread_name", e["pid"], e["tid"]])
            start = round(e["ts"] * 1000)
            found.setdefault(key, []).append((start, start + round(e["dur"] * 1000), e["name"]))
    return found


class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.events = timeline("examples/slow-loader")
        cls.tracks = slices(cls.events)

    def path(self):
        return next(track for key, track in self.tracks.items() if key[2] == "critical path")

    def test_slices_of_a_thread_do_not_overlap(self):
        self.assertGreater(len(self.tracks), 10)
        for key, track in self.tracks.items():
            with self.subTest(key):
                track = sorted(track)
                self.assertEqual([], [(a, b) for a, b in zip(track, track[1:]) if b[0] < a[1]])
                self.assertGreaterEqual(track[0][0], 0)

    def test_the_critical_path_has_no_gaps_and_ends_with_the_last_rank(self):
        path = self.path()
        self.assertEqual([], [(a, b) for a, b in zip(path, path[1:]) if a[1] != b[0]])
        last = max(end for key, track in self.tracks.items() if key[2] == "steps" for _, end, _ in track)
        # The replay is off by its error, which is far below a hundredth here.
        self.assertAlmostEqual(path[-1][1], last, delta=last / 100)

    def test_it_runs_over_the_culprit(self):
        # The loader of rank 1 is slow in this example: its own time is most of the path, the others only run beside it.
        own = {}
        for start, end, name in self.path():
            own[name] = own.get(name, 0) + end - start
        self.assertGreater(own["rank 1: own time"], 0.8 * sum(own.values()))

    def test_findings_stand_beside_it(self):
        self.assertTrue(any(key[2].startswith("slow-input: rank 1") for key in self.tracks))

    def test_a_clock_that_was_moved_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(4):
                copy("slow-loader", rank, folder, *(("other", 3600 * 10**9) if rank >= 2 else ()))
            tracks = slices(timeline(folder))
        self.assertTrue(any(key[0].startswith("rank 3 (other), clock moved by -1 h 00 min, give or take") for key in tracks),
                        sorted({key[0] for key in tracks}))
        self.assertLess(max(end for track in tracks.values() for _, end, _ in track), 10**10)


if __name__ == "__main__":
    unittest.main()
