# SPDX-License-Identifier: Apache-2.0
"""The golden runner notices what is wrong: a program made of a few lines of shell stands in for headway."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import golden  # noqa: E402

PROGRAM = """#!/bin/sh
[ "$1" = fail ] && { echo "no such command" >&2; exit 2; }
[ "$1" = cat ] && { cat "$2"; exit 0; }
echo "rank 3 is slow"
echo "took $$ ms"
echo "$2"
"""


class GoldenRunner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.program = os.path.join(self.folder, "program")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(self.program, 0o755)

    def write(self, text):
        path = os.path.join(self.folder, "x.case")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_case(self, text, *options):
        command = [sys.executable, os.path.join(ROOT, "tools", "golden.py"), "--program", self.program]
        done = subprocess.run([*command, self.write(text), *options], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_passes_with_pattern_and_forbidden_line(self):
        status, _ = self.run_case("# Why.\nrun: say hello\n----\nrank 3 is slow\n~ took \\d+ ms\nhello\n!~ rank 4\n")
        self.assertEqual(status, 0)

    def test_a_wrong_line_fails_with_a_diff(self):
        status, printed = self.run_case("# Why.\nrun: say hello\n----\nrank 5 is slow\n~ took \\d+ ms\nhello\n")
        self.assertEqual(status, 1)
        self.assertIn("-rank 5 is slow\n+rank 3 is slow", printed)
        self.assertNotIn("-~ took", printed, "a pattern that holds is no difference")

    def test_a_missing_or_surplus_line_fails(self):
        self.assertEqual(self.run_case("# Why.\nrun: say hello\n----\nrank 3 is slow\n~ took \\d+ ms\n")[0], 1)
        self.assertEqual(self.run_case("# Why.\nrun: say hi\n----\nrank 3 is slow\n~ took .*\nhi\nmore\n")[0], 1)

    def test_a_pattern_must_match_the_whole_line(self):
        self.assertEqual(self.run_case("# Why.\nrun: say hi\n----\nrank 3 is slow\n~ took\nhi\n")[0], 1)

    def test_a_forbidden_line_fails(self):
        status, printed = self.run_case("# Why.\nrun: say hi\n----\nrank 3 is slow\n~ took .*\nhi\n!~ rank 3\n")
        self.assertEqual(status, 1)
        self.assertIn("must not appear", printed)

    def test_exit_status_and_words_on_stderr(self):
        self.assertEqual(self.run_case("# Why.\nrun: fail\nexit: 2\nerror: no such command\n----\n")[0], 0)
        self.assertEqual(self.run_case("# Why.\nrun: fail\n----\n")[0], 1)
        self.assertEqual(self.run_case("# Why.\nrun: fail\nexit: 2\nerror: other words\n----\n")[0], 1)

    def test_files_of_the_case_and_paths_in_the_output(self):
        text = "# Why.\nfile: a.json\n  {\n    1\nrun: cat $TMP/a.json\nrun: say $TMP/b\n----\n"
        status, printed = self.run_case(text + "{\n  1\nrank 3 is slow\n~ took .*\n$TMP/b\n")
        self.assertEqual(status, 0, printed)

    def test_update_rewrites_keeps_patterns_and_then_passes(self):
        text = "# Why.\nrun: say ~tilde\n----\nrank 5 is slow\n~ took \\d+ ms\n!~ rank 9\n"
        self.assertEqual(self.run_case(text, "--update")[0], 0)
        with open(os.path.join(self.folder, "x.case"), encoding="utf-8") as file:
            written = file.read()
        self.assertEqual(
            written, "# Why.\nrun: say ~tilde\n----\nrank 3 is slow\n~ took \\d+ ms\n\\~tilde\n!~ rank 9\n")
        self.assertEqual(self.run_case(written)[0], 0)

    def test_malformed_cases_are_refused(self):
        for text in ("run: x\n----\n", "# Why.\n----\n", "# Why.\nrun: x\n", "# Why.\nruns: x\n----\n"):
            with self.subTest(text):
                self.assertEqual(self.run_case(text)[0], 2)

    def test_a_case_without_its_data_is_skipped_with_a_reason(self):
        os.environ["HEADWAY_SHARED_DATA"] = os.path.join(self.folder, "absent")
        self.addCleanup(os.environ.pop, "HEADWAY_SHARED_DATA")
        status, printed = self.run_case("# Why.\nrun: say $DATA/x\n----\n")
        self.assertEqual(status, 77)
        self.assertIn("needs the outside data", printed)

    def test_every_case_of_the_repository_can_be_read(self):
        for path in golden.find_cases():
            with self.subTest(path):
                self.assertTrue(golden.Case(path).runs)


if __name__ == "__main__":
    unittest.main()
