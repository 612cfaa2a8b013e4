# SPDX-License-Identifier: Apache-2.0
"""An answer that cannot be written is no success: whatever is printed or written, a full disk gives an exit status other
than 0 and one sentence that says so."""

import tempfile
import unittest

from program import headway

HEALTHY = "examples/healthy"


class FullDisk(unittest.TestCase):
    def fails(self, done):
        self.assertNotIn(done.returncode, (0, 1), done.args)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn("No space left on device", lines[0])

    def test_of_standard_output(self):
        for arguments in (["--help"], ["help"], ["--version"], ["diagnose", "--help"], ["summarize", "--help"],
                          ["inspect", "--help"], ["compare", "--help"], ["diagnose", "--list"],
                          ["diagnose", HEALTHY, "--quiet"], ["diagnose", HEALTHY, "--quiet", "--json"],
                          ["diagnose", HEALTHY, "--quiet", "--section", "all"], ["inspect", HEALTHY, "--quiet"],
                          ["inspect", HEALTHY, "--quiet", "--json"], ["compare", HEALTHY, HEALTHY, "--quiet"],
                          ["compare", HEALTHY, HEALTHY, "--quiet", "--json"]):
            with self.subTest(arguments), open("/dev/full", "w", encoding="utf-8") as full:
                self.fails(headway(*arguments, stdout=full))

    def test_of_files(self):
        for option in ("--html", "--timeline"):
            with self.subTest(option):
                self.fails(headway("diagnose", HEALTHY, "--quiet", option, "/dev/full"))

    def test_nothing_is_wrong_with_an_output_that_takes_it(self):
        with tempfile.TemporaryFile("w") as out:
            self.assertEqual(headway("--help", stdout=out).returncode, 0)
            self.assertGreater(out.tell(), 0)


if __name__ == "__main__":
    unittest.main()
