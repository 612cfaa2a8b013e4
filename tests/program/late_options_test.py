# SPDX-License-Identifier: Apache-2.0
"""Data quality names what the patterns were made with, which an option of `diagnose` cannot change any more."""

import json
import os
import shutil
import tempfile
import unittest

from program import ROOT, output

TRACES = "examples/healthy"
LATE = ("--gpu-events", "linked", "--last-step", "drop")


class LateOptions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def patterns(self, name, *options):
        folder = os.path.join(self.folder, name)
        output("summarize", TRACES, "-o", folder, "--quiet", *options)
        return folder

    def quality(self, path, *options):
        found = json.loads(output("diagnose", path, "--json", "--quiet", *options))["data_quality"]
        text = output("diagnose", path, "--section", "data-quality", "--quiet", *options)
        for name in ("gpu_events", "last_step"):
            self.assertIn(found[name] + " (--" + name.replace("_", "-") + ")", text)
        return found["gpu_events"], found["last_step"]

    def test_of_traces_they_are_what_was_asked_for(self):
        self.assertEqual(self.quality(TRACES), ("all", "keep"))
        self.assertEqual(self.quality(TRACES, *LATE), ("linked", "drop"))

    def test_of_patterns_they_are_what_was_asked_for_then(self):
        plain = self.patterns("plain")
        self.assertEqual(self.quality(plain, *LATE), ("all", "keep"))
        self.assertEqual(output("diagnose", plain, "--json", "--quiet", *LATE),
                         output("diagnose", plain, "--json", "--quiet"))
        made = self.patterns("made", *LATE)
        self.assertEqual(self.quality(made), ("linked", "drop"))

    def test_of_both_the_ranks_are_counted(self):
        mixed = os.path.join(self.folder, "mixed")
        shutil.copytree(self.patterns("plain"), mixed)
        for rank in (2, 3):
            os.remove(os.path.join(mixed, f"rank{rank}.hwp"))
            shutil.copy(os.path.join(ROOT, TRACES, f"rank{rank}.json.gz"), mixed)
        self.assertEqual(self.quality(mixed, *LATE),
                         ("linked on 2 of 4 ranks, else all", "drop on 2 of 4 ranks, else keep"))


if __name__ == "__main__":
    unittest.main()
