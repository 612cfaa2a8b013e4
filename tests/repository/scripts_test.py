# SPDX-License-Identifier: Apache-2.0
"""tools/test_summary.py counts what ctest reports; tools/update_readme.py notices and mends an old block of output."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# As ctest 3.25 writes it.
JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x" tests="4" failures="1" disabled="0" skipped="2">
  <testcase name="trace.Reader.Reads" classname="x" time="0.25" status="run"><system-out>[ OK ]</system-out></testcase>
  <testcase name="trace.Reader.Fails" classname="x" time="1.5" status="fail">
    <failure message=""/><system-out>boom</system-out></testcase>
  <testcase name="trace.Outside.Dlrm" classname="x" time="0" status="notrun"><skipped message="SKIP"/>
    <system-out>[ RUN      ] Outside.Dlrm
src/trace/outside_test.cc:12: Skipped
the outside data are not here

[  SKIPPED ] Outside.Dlrm (0 ms)</system-out></testcase>
  <testcase name="golden.x" classname="x" time="0" status="notrun"><skipped message="SKIP"/>
    <system-out>diagnose/x: skipped: needs the outside data
1 skipped</system-out></testcase>
</testsuite>
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def run_tool(self, tool, *arguments):
        command = [sys.executable, os.path.join(ROOT, "tools", tool), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_summary_counts_and_tells_reasons(self):
        status, printed = self.run_tool("test_summary.py", "--also", "2", "0", self.write("a.xml", JUNIT))
        self.assertEqual(status, 1)
        self.assertEqual(printed.splitlines()[-1], "3 passed, 1 failed, 2 skipped")
        self.assertIn("FAILED: trace.Reader.Fails\n", printed)
        self.assertIn("skipped (1): the outside data are not here\n", printed)
        self.assertIn("skipped (1): diagnose/x: skipped: needs the outside data\n", printed)

    def test_summary_of_a_run_that_died_is_a_failure(self):
        status, printed = self.run_tool("test_summary.py", os.path.join(self.folder, "absent.xml"))
        self.assertEqual((status, printed.splitlines()[-1]), (1, "0 passed, 1 failed"))

    def test_summary_of_no_test_at_all_is_a_failure(self):
        self.assertEqual(self.run_tool("test_summary.py")[0], 1)

    def test_readme_block_is_compared_and_mended(self):
        program = self.write("program", '#!/bin/sh\necho "slow: $2"\necho second\n')
        text = "# x\n<!-- output 1: diagnose job -->\n```\nold\n```\nafter\n"
        readme = self.write("README.md", text)
        options = ("--program", program, "--readme", readme)
        status, printed = self.run_tool("update_readme.py", "--check", *options)
        self.assertEqual(status, 1)
        self.assertIn("-old\n+slow: job\n", printed)
        self.assertEqual(self.run_tool("update_readme.py", *options)[0], 0)
        with open(readme, encoding="utf-8") as file:
            self.assertEqual(file.read(), text.replace("old", "slow: job"))
        self.assertEqual(self.run_tool("update_readme.py", "--check", *options)[0], 0)


if __name__ == "__main__":
    unittest.main()
