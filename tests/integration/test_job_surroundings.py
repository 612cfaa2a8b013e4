#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parts of tools/jobs that need no torch: CPU quotas on either cgroup version (against a made-up file
system), the load meter, and the case files."""
import glob
import json
import os
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, f"{ROOT}/tools/jobs")
import cpu_quota
import machine_load
import rank_network


def read(path):
    with open(path) as f:
        return f.read()


class Quota(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def file(self, name, text=""):
        os.makedirs(os.path.dirname(f"{self.root}/{name}"), exist_ok=True)
        with open(f"{self.root}/{name}", "w") as f:
            f.write(text)

    def test_version_1(self):
        self.file("cpu/cpu.shares", "1024")
        quota = cpu_quota.CpuQuota(self.root)
        quota.hold(123, 12)
        group = glob.glob(f"{self.root}/cpu/hwquota*-123")[0]
        self.assertEqual(read(f"{group}/cpu.cfs_period_us"), "10000")
        self.assertEqual(read(f"{group}/cpu.cfs_quota_us"), "1200")  # 12 % of 10,000 us
        self.assertEqual(read(f"{group}/cgroup.procs"), "123")

    def test_a_small_share_gets_a_longer_period(self):
        self.file("cpu/cpu.shares", "1024")
        cpu_quota.CpuQuota(self.root).hold(123, 6)
        group = glob.glob(f"{self.root}/cpu/hwquota*-123")[0]
        self.assertEqual(read(f"{group}/cpu.cfs_period_us"), "16667")
        self.assertEqual(read(f"{group}/cpu.cfs_quota_us"), "1000")  # 6 % of 16,667 us; less is refused

    def test_version_2(self):
        self.file("cgroup.controllers", "cpuset cpu io memory")
        self.file("cgroup.subtree_control")
        quota = cpu_quota.CpuQuota(self.root)
        quota.hold(123, 12)
        group = glob.glob(f"{self.root}/hwquota*-123")[0]
        self.assertEqual(read(f"{group}/cpu.max"), "1200 10000")
        self.assertEqual(read(f"{group}/cgroup.procs"), "123")
        self.assertEqual(read(f"{self.root}/cgroup.subtree_control"), "+cpu")

    def test_says_why_there_is_none(self):
        self.assertIn("no cpu controller", cpu_quota.unavailable(self.root))
        self.file("cgroup.controllers", "io memory")
        self.assertIn("not available", cpu_quota.unavailable(self.root))
        self.file("cgroup.controllers", "cpu")
        os.makedirs(f"{self.root}/cgroup.subtree_control")  # cannot be written
        self.assertIn("does not hand on", cpu_quota.unavailable(self.root))


class Network(unittest.TestCase):
    def test_says_which_program_is_missing(self):
        with mock.patch("shutil.which", return_value=None):
            self.assertIn("iproute2", rank_network.unavailable())


class Load(unittest.TestCase):
    def test_burners_are_booked_as_other_work(self):
        with machine_load.LoadMeter() as meter, machine_load.Burners([], 9, count=1, duty=0.5, period_s=0.1) as burners:
            time.sleep(2)
        load = meter.result(burners.cpu_s)
        self.assertGreater(load["burner_cores"], 0)  # next to nothing where the machine is full
        self.assertLess(load["burner_cores"], 0.8)
        self.assertGreaterEqual(load["other_cores"] + 0.1, load["burner_cores"])
        self.assertLess(load["own_cores"], 0.1)


class CaseFiles(unittest.TestCase):
    def test_every_case_has_a_truth_and_a_name_of_its_own(self):
        paths = glob.glob(f"{ROOT}/tools/jobs/cases/*.json")
        self.assertTrue(paths)
        for path in paths:
            cases = json.loads(read(path))
            self.assertEqual(len({c["name"] for c in cases}), len(cases), path)
            for case in cases:
                culprits = case["truth"]["culprit_ranks"]
                self.assertTrue(all(0 <= r < case.get("ranks", 4) for r in culprits), case["name"])
                if case["truth"]["kind"] in ("healthy", "shared_host"):
                    self.assertEqual((culprits, case.get("fault", [])), ([], []), case["name"])


if __name__ == "__main__":
    unittest.main()
