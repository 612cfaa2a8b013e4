# SPDX-License-Identifier: Apache-2.0
"""`pip install .` in a fresh environment gives the program and the Python package, of the version in CMakeLists.txt."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import venv

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


class PipInstall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        venv.create(folder.name, with_pip=True)
        cls.folder = folder.name
        cls.python = os.path.join(folder.name, "bin", "python")
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
            cls.version = re.search(r"project\(headway VERSION ([0-9.]+)", file.read())[1]
        backend = run(cls.python, "-m", "pip", "download", "-q", "--no-deps", "-d", folder.name, "scikit-build-core")
        if backend.returncode != 0:
            print("skipped: no package index can be reached, and pip has to fetch the build backend")
            sys.exit(77)
        installed = run(cls.python, "-m", "pip", "install", "-q", ROOT)
        if installed.returncode != 0:
            raise AssertionError(installed.stdout + installed.stderr)

    def test_the_program_is_on_the_path_of_the_environment(self):
        done = run(os.path.join(self.folder, "bin", "headway"), "--version", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(self.version, done.stdout)

    def test_the_module_runs_the_program_and_passes_its_status_on(self):
        done = run(self.python, "-m", "headway", "--version", cwd=self.folder)
        self.assertIn(self.version, done.stdout)
        done = run(self.python, "-m", "headway", "no-such-command", cwd=self.folder)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_the_package_knows_its_version_and_imports_only_the_standard_library(self):
        code = ("import sys; before = set(sys.modules); import headway; print(headway.__version__); "
                "print([m for m in set(sys.modules) - before if m.split('.')[0] not in sys.stdlib_module_names "
                "and not m.startswith('headway')])")
        done = run(self.python, "-c", code, cwd=self.folder)
        self.assertEqual(done.stdout.split("\n")[:2], [self.version, "[]"], done.stderr)


if __name__ == "__main__":
    unittest.main()
