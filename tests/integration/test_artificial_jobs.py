#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every kind of fault that the generator of artificial jobs can plant, eight times the step noise large, on a plain job:
the diagnosis must name the kind and exactly the planted ranks, and warn of nothing else.  bench/artificial_score shows
how that holds on random jobs.

The jobs: 8 ranks on two hosts (4 x data parallel, 2 x tensor parallel), 10 steps; pipelines and experts where the kind
needs them.  HEADWAY_PROGRAM and HEADWAY_SYNTH name the programs."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, f"{ROOT}/bench")
from artificial_scoring import FAMILY, curve, score

PLAIN = "dp=4,tp=2,ranks_per_host=4,steps=10,layers=4,stacks=1"
PIPELINE = "dp=2,tp=2,pp=2,ranks_per_host=4,steps=10,layers=4"
EXPERTS = "dp=8,ep=8,ranks_per_host=4,steps=10,layers=4"
PLANTED = [(PLAIN, fault) for fault in (
    "slow_compute:rank=5", "slow_host:host=1", "slow_function:rank=3:function=log_metrics", "slow_dataloader:rank=2",
    "slow_dataloader", "gc_pause:rank=6", "process_pause:rank=1:only=7", "slow_link:rank=3", "slow_fabric:every=3",
    "data_imbalance_random", "hidden_sync:rank=4", "launch_bound", "unpinned_copy:rank=2", "slow_copy:rank=7",
    "checkpoint_stall:only=6", "compile_stall:only=8", "late_entry", "lost_overlap", "small_collectives")] + [
        (PIPELINE, "stage_imbalance:stage=1"), (EXPERTS, "data_imbalance:rank=5")]


# Jobs whose rows are hard to put together, with the seed that made them so.
HARD = {
    # The ends of gloo's rings lie up to 12 ms apart, the same way each time, and no file says which thread is whose.
    "400013": "dp=4,tp=4,steps=20,micro_batches=2,layers=7,layer_ms=4.36467,layer_mb=5.61361,activation_mb=0.312409,"
              "batch_mb=32.0981,bucket_mb=3.85754,backend=gloo,loader_ms=0.968599,step_noise=0.00324179,"
              "common_noise=0.0036224,rank_noise=0.00399362,host_noise=0.00675279,hiccup_rate=0.0212812,stacks=1,flows=0,"
              "autograd_thread=0,job_groups=1,gpu_annotations=0,fault=slow_link:host=1:size=2.82843",
    # Operations begin every 8 ms and end up to 5 ms apart: each is nearer to the next one of another rank.
    "300031": "dp=16,ep=8,steps=18,micro_batches=1,layers=9,layer_ms=2.29824,layer_mb=0.734996,activation_mb=0.24592,"
              "batch_mb=29.7729,bucket_mb=0.501097,backend=gloo,loader_ms=1.07968,step_noise=0.00476958,"
              "common_noise=0.00256546,rank_noise=0.00136986,host_noise=0.0188081,hiccup_rate=0.0478912,stacks=1,"
              "autograd_thread=0,job_groups=1,gpu_annotations=0,fault=slow_link:host=0:size=9.3098",
}


def diagnose(spec, seed="42"):
    """The score of a job made from `spec`."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.environ["HEADWAY_SYNTH"], "--out", folder, "--spec", spec, "--seed", seed, "--gzip"],
                       check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([os.environ["HEADWAY_PROGRAM"], "diagnose", "--json", "--quiet", folder],
                              check=True, capture_output=True, text=True)
        with open(f"{folder}/truth.json", encoding="utf-8") as f:
            return score(json.load(f), json.loads(done.stdout))


@unittest.skipUnless("HEADWAY_SYNTH" in os.environ, "needs headway_synth (HEADWAY_SYNTH)")
class PlantedFaults(unittest.TestCase):
    def test_each_kind_is_found_and_nothing_else(self):
        for shape, fault in PLANTED:
            with self.subTest(fault=fault):
                result = diagnose(f"{shape},fault={fault}:effect=8")
                self.assertTrue(all(f["found"] for f in result["faults"]), result["said"])
                self.assertEqual(result["false_alarms"], [])

    def test_rows_that_are_hard_to_put_together(self):
        for seed, spec in HARD.items():
            with self.subTest(seed=seed):
                result = diagnose(spec, seed)
                self.assertTrue(all(f["found"] for f in result["faults"]), result["said"])
                self.assertEqual(result["false_alarms"], [])

    def test_healthy_twins_have_no_warning(self):
        for shape in (PLAIN, PIPELINE, EXPERTS, PLAIN + ",backend=gloo,layer_mb=1,activation_mb=0.2", PLAIN + ",sync=0"):
            with self.subTest(shape=shape):
                self.assertEqual(diagnose(shape)["false_alarms"], [])


def truth(kind, ranks, world=8, common=False, **more):
    fault = {"kind": kind, "culprit_ranks": ranks, "common_cause": common, "effect_over_noise": 5.0, "steps": "all",
             "recoverable_ms_per_step": 1.0, "victims": {"0": {}, "1": {}}, **more}
    return {"mesh": {"dp": world, "tp": 1, "pp": 1}, "generator": {"spec": "stacks=0"}, "faults": [fault]}


def said(cause, ranks, severity="warning", **scope):
    return {"cause": cause, "severity": severity, "recoverable_ns_per_step": 10**6, "scope": {"ranks": ranks, **scope}}


class Scoring(unittest.TestCase):
    def test_cause_and_ranks_must_both_be_right(self):
        for finding, right in ((said("slow-device", [3]), True), (said("slow-device", [3, 4]), False),
                               (said("slow-input", [3]), False)):
            self.assertEqual(score(truth("slow_compute", [3]), {"findings": [finding]})["faults"][0]["found"], right)

    def test_a_remark_is_found_but_not_a_warning(self):
        fault = score(truth("slow_compute", [3]), {"findings": [said("slow-device", [3], "info")]})["faults"][0]
        self.assertEqual((fault["found"], fault["loud"]), (True, False))

    def test_a_victim_that_is_blamed_is_the_worst_false_alarm(self):
        result = score(truth("slow_compute", [3]), {"findings": [said("slow-device", [0]), said("slow-device", [3])]})
        self.assertEqual((len(result["false_alarms"]), len(result["swapped"])), (1, 1))

    def test_a_link_is_named_by_an_end(self):
        link = said("slow-link", [2, 3], links=[{"from": 3, "to": 2}])
        self.assertTrue(score(truth("slow_link", [3]), {"findings": [link]})["faults"][0]["found"])
        link = said("slow-link", [1, 2], links=[{"from": 1, "to": 2}])
        self.assertFalse(score(truth("slow_link", [3]), {"findings": [link]})["faults"][0]["found"])

    def test_one_finding_is_one_fault(self):
        two = truth("slow_compute", [3])
        two["faults"].append(dict(two["faults"][0]))
        found = [f["found"] for f in score(two, {"findings": [said("slow-device", [3])]})["faults"]]
        self.assertEqual(sorted(found), [False, True])

    def test_a_hole_is_left_to_the_fault_that_has_no_finding_of_its_own(self):
        two = truth("compile_stall", [0, 1], common=True)
        two["faults"].append(dict(two["faults"][0], kind="checkpoint_stall"))
        all_said = [said("paused-process", [0, 1]), said("compile-or-load", [0, 1])]
        self.assertTrue(all(f["found"] for f in score(two, {"findings": all_said})["faults"]))

    def test_what_only_an_earlier_run_shows_is_counted_apart(self):
        rows = [score(truth("slow_fabric", [], common=True), {"findings": []})]
        self.assertEqual(sum(faults for _, _, faults, _, _ in curve(rows)), 0)

    def test_every_kind_of_the_generator_has_a_row(self):
        self.assertEqual({fault.split(":")[0] for _, fault in PLANTED} - set(FAMILY), set())


if __name__ == "__main__":
    unittest.main()
