#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fresh real PyTorch jobs with real faults, diagnosed and scored (tools/jobs, bench/diagnosis_scoring.py).

HEADWAY_PROGRAM is the program to test, HEADWAY_TORCH_PYTHON a Python with torch and numpy (else tools/jobs/torch_python
finds or makes one).  Faults are 60 ms per step and more.  A wrong answer counts only on a quiet run (root: the ranks are
real-time processes); a job that other work disturbed is run again, and skipped with a reason when it never gets one.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CASES = f"{ROOT}/tools/jobs/cases/quick.json"
TRIES = 3
SKIPPED = 77  # what ctest takes as "skipped"

sys.dont_write_bytecode = True
sys.path.insert(0, f"{ROOT}/bench")
from diagnosis_scoring import Case, score


class Unavailable(Exception):
    pass


def torch_python():
    given = os.environ.get("HEADWAY_TORCH_PYTHON")
    if given:
        return given
    done = subprocess.run([f"{ROOT}/tools/jobs/torch_python"], capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"no Python with torch: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


def program():
    path = os.environ.get("HEADWAY_PROGRAM", f"{ROOT}/headway")
    if not os.access(path, os.X_OK):
        raise Unavailable(f"{path} is not built")
    return path


def read(path):
    with open(path) as f:
        return json.load(f)


class RealJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python, cls.program = torch_python(), program()
        cls.out = tempfile.mkdtemp()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.out)

    def run_job(self, name):
        done = subprocess.run([self.python, f"{ROOT}/tools/jobs/run_cases.py", CASES, self.out, name, "--scheduling", "best"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        folder = f"{self.out}/{name}"
        return folder, Case(name, read(f"{folder}/truth.json"), read(f"{folder}/run.json"))

    def diagnose(self, folder):
        done = subprocess.run([self.program, "diagnose", "--json", folder], capture_output=True, text=True, timeout=120)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def check(self, name):
        for _ in range(TRIES):
            folder, case = self.run_job(name)
            findings = self.diagnose(folder)
            self.assertEqual(findings["job"]["world_size"], len(case.ranks))
            self.assertEqual(findings["job"]["ranks_read"], case.ranks)
            result = score(case, findings)
            if result["right"] and not result["false_alarms"]:
                return result
            if case.quiet:
                self.fail(f"{name}: first finding {result['first']}; {'; '.join(result['why'])}; "
                          f"false alarms {result['false_alarms']}")
        raise unittest.SkipTest(f"other work took up to {case.other_cores} cores in each of {TRIES} runs; "
                                f"last answer: {result['first']}")

    def test_healthy_job_has_no_finding(self):
        self.check("healthy")

    def test_slow_device_is_found(self):
        self.check("slow-device")

    def test_slow_loader_is_found_with_its_function(self):
        self.check("slow-loader")

    def test_stopped_process_is_found_in_its_step(self):
        self.check("paused-process")


if __name__ == "__main__":
    try:
        torch_python(), program()
    except Unavailable as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
