#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scoring rule of bench/diagnosis_scoring.py, row by row of its table in the design; and where that of artificial
jobs (bench/artificial_scoring.py) is another one."""
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, f"{ROOT}/bench")
import artificial_scoring
from diagnosis_scoring import Case, names_of, score


def case(kind, ranks=(2,), world=4, stacks=False, other=0.0, stages=None, **truth):
    truth = {"kind": kind, "culprit_ranks": list(ranks),
             "profiler_step_of_train_step": "ProfilerStep#N is train step N + 10", **truth}
    run = {"ranks": world, "train": {"with-stack": stacks}, "load": {"other_cores": other}}
    return Case("case", truth, run, stages)


def finding(cause, ranks=(2,), severity="warning", when="persistent", steps=(), gain_ms=40, function="", links=(),
            stage=None):
    scope = {"ranks": list(ranks), "links": [{"from": a, "to": b} for a, b in links], "stage": stage,
             "function": function}
    return {"cause": cause, "severity": severity, "sentence": "", "recoverable_ns_per_step": gain_ms * 10**6,
            "scope": scope, "when": {"kind": when, "steps": list(steps)}}


def judge(c, *findings, steps=(2, 5)):
    return score(c, {"job": {"steps": list(steps)}, "findings": list(findings)})


class Scoring(unittest.TestCase):
    def right(self, c, *findings, **more):
        result = judge(c, *findings, **more)
        self.assertTrue(result["right"], result)
        return result

    def wrong(self, c, *findings, **more):
        result = judge(c, *findings, **more)
        self.assertFalse(result["right"], result)
        return result

    def test_healthy_is_right_without_alarm(self):
        self.right(case("healthy", ()))
        self.right(case("healthy", ()), finding("slow-host", severity="info"))
        self.assertEqual(len(self.wrong(case("healthy", ()), finding("slow-host"))["false_alarms"]), 1)

    def test_cause_and_ranks_must_both_fit(self):
        c = case("slow_compute")
        self.right(c, finding("slow-device"))
        self.wrong(c, finding("slow-device", ranks=[1]))
        self.wrong(c, finding("slow-device", ranks=[1, 2]))
        self.wrong(c, finding("slow-input"))
        self.wrong(c)
        self.wrong(c, finding("slow-device", severity="info"))

    def test_the_first_finding_decides_and_others_are_false_alarms(self):
        c = case("slow_compute")
        self.wrong(c, finding("slow-input", ranks=[0]), finding("slow-device"))
        result = self.right(c, finding("slow-device"), finding("slow-input", ranks=[0]))
        self.assertEqual(result["false_alarms"], ["slow-input ranks 0"])

    def test_slow_host_code_must_name_a_function(self):
        self.wrong(case("load_imbalance"), finding("slow-host-code"))
        self.right(case("load_imbalance"), finding("slow-host-code", function="aten::mm"))

    def test_function_is_asked_for_only_with_stacks(self):
        named = {"culprit_function": "read_shard"}
        self.right(case("slow_dataloader", **named), finding("slow-input"))
        with_stacks = case("slow_dataloader", stacks=True, **named)
        self.wrong(with_stacks, finding("slow-input", function="sleep"))
        self.right(with_stacks, finding("slow-input", function="faults.py(9): read_shard"))
        self.assertEqual(names_of("log_metrics (loss.item, write)"), ["log_metrics", "loss.item", "write"])
        self.assertEqual(names_of("read_shard (no stacks recorded)"), ["read_shard"])

    def test_gc_pause_may_be_a_paused_process_without_stacks(self):
        self.right(case("gc_pause"), finding("paused-process"))
        self.wrong(case("gc_pause", stacks=True), finding("paused-process"))

    def test_process_pause_is_once(self):
        self.right(case("process_pause"), finding("paused-process", when="once"))
        self.wrong(case("process_pause"), finding("paused-process"))

    def test_intermittent_needs_its_steps(self):
        c = case("intermittent_straggler", fault={"kind": "slow_loader", "ranks": [2]},
                 profiler_steps_affected=["ProfilerStep#2", "ProfilerStep#5", "ProfilerStep#8"])
        self.right(c, finding("slow-input", when="intermittent", steps=[2, 5]))  # step 8 is after the window
        self.wrong(c, finding("slow-input", when="intermittent", steps=[2, 4]))
        self.wrong(c, finding("slow-input", steps=[2, 5]))
        self.wrong(c, finding("slow-device", when="intermittent", steps=[2, 5]))

    def test_slow_link_names_an_end(self):
        c = case("slow_link")
        self.right(c, finding("slow-link", ranks=[], links=[(2, 1)]))
        self.right(c, finding("slow-link", ranks=[], links=[(2, 1), (2, 3)]))
        self.wrong(c, finding("slow-link", ranks=[], links=[(2, 1), (0, 3)]))
        self.wrong(c, finding("slow-link", ranks=[0, 1, 2]))

    def test_slow_fabric_names_every_rank(self):
        c = case("slow_fabric", range(4))
        self.right(c, finding("slow-fabric", ranks=range(4)))
        self.wrong(c, finding("slow-fabric", ranks=[0, 1]))

    def test_stage_imbalance_names_stage_or_ranks(self):
        c = case("stage_imbalance", [2, 3], stages={0: 0, 1: 0, 2: 1, 3: 1})
        self.right(c, finding("stage-imbalance", ranks=[], stage=1))
        self.right(c, finding("stage-imbalance", ranks=[2, 3]))
        self.wrong(c, finding("stage-imbalance", ranks=[0, 1], stage=0))

    def test_random_imbalance_names_no_rank(self):
        c = case("data_imbalance_random", ())
        self.right(c, finding("data-imbalance", ranks=[], when="intermittent"))
        self.wrong(c, finding("data-imbalance", ranks=[1], when="intermittent"))

    def test_two_faults_are_the_first_two_in_either_order(self):
        faults = [{"kind": "slow_dataloader", "culprit_ranks": [0]}, {"kind": "slow_compute", "culprit_ranks": [3]}]
        c = case("two_faults", [0, 3], faults=faults)
        device, loader = finding("slow-device", ranks=[3]), finding("slow-input", ranks=[0])
        self.right(c, device, loader)
        self.right(c, loader, device)
        self.assertEqual(self.wrong(c, loader)["found"], 1)
        self.wrong(c, loader, finding("slow-host", ranks=[1]), device)

    def test_two_faults_of_one_kind_may_be_one_finding(self):
        faults = [{"kind": "slow_dataloader", "culprit_ranks": [0]}, {"kind": "slow_dataloader", "culprit_ranks": [3]}]
        self.right(case("two_faults", [0, 3], faults=faults), finding("slow-input", ranks=[0, 3]))

    def test_onset_names_its_first_step(self):
        c = case("slow_compute", when="onset", profiler_steps_affected=["ProfilerStep#4", "ProfilerStep#5"])
        self.right(c, finding("slow-device", when="onset", steps=[4, 5]))
        self.wrong(c, finding("slow-device", when="onset", steps=[3]))
        self.wrong(c, finding("slow-device"))

    def test_recoverable_is_compared_per_step_of_the_window(self):
        # 60 ms in training steps 13 and 14, that is steps 3 and 4 of a window of four: 30 ms per step
        log = {"2": [[step, 0, 60_000_000, "slow_device"] for step in (13, 14, 99)]}
        c = case("slow_compute", injected_step_unixns_ns_kind=log)
        for gain_ms, within in ((30, True), (37, True), (38, False), (22, False)):
            r = self.right(c, finding("slow-device", gain_ms=gain_ms))["recoverable"]
            self.assertEqual((r["injected_ns"], r["within"]), (30_000_000, within))
        busy = case("slow_compute", other=1.0, injected_step_unixns_ns_kind=log)
        self.assertIsNone(self.right(busy, finding("slow-device"))["recoverable"])

    def test_other_work_on_the_host_may_be_said(self):
        c = case("shared_host", ())
        self.right(c, finding("shared-host", ranks=range(4)))
        self.right(c)
        self.wrong(c, finding("slow-host"))


class ArtificialScoring(unittest.TestCase):
    def judge(self, fault, spec, *findings):
        fault = {"common_cause": False, "victims": {}, "steps": [3, 5], "effect_over_noise": 5,
                 "recoverable_ms_per_step": 1, "ranks_hit_in_step": {}, **fault}
        truth = {"mesh": {"dp": 2, "tp": 2, "pp": 1}, "faults": [fault], "generator": {"spec": spec}}
        result = artificial_scoring.score(truth, {"findings": list(findings)})
        return result["faults"][0]["found"], len(result["false_alarms"])

    def found(self, hits, *findings):
        fault = {"kind": "data_imbalance_random", "culprit_ranks": [], "common_cause": True,
                 "ranks_hit_in_step": {f"ProfilerStep#{s}": ranks for s, ranks in enumerate(hits)}}
        return self.judge(fault, "seed=1", *findings)

    def test_without_stacks_a_hole_is_a_pause_or_code_without_a_name(self):
        pause = {"kind": "gc_pause", "culprit_ranks": [2]}
        for cause in ("gc-pause", "paused-process", "slow-host-code"):
            self.assertEqual(self.judge(pause, "seed=1", finding(cause)), (True, 0), cause)
        self.assertEqual(self.judge(pause, "seed=1", finding("slow-host-code", function="log")), (False, 1))
        self.assertEqual(self.judge(pause, "seed=1,stacks=1", finding("slow-host-code")), (False, 1))
        self.assertEqual(self.judge(pause, "seed=1", finding("slow-host-code", ranks=[1])), (False, 1))

    def test_random_imbalance_names_no_rank(self):
        hits = [[0, 1], [], [2, 3], [0, 1]]
        self.assertEqual(self.found(hits, finding("data-imbalance", ranks=[])), (True, 0))
        self.assertEqual(self.found(hits, finding("data-imbalance", ranks=[0, 1])), (False, 1))

    def test_random_imbalance_that_always_struck_one_replica_is_that_ones(self):
        hits = [[0, 1], [], [0, 1], []]
        self.assertEqual(self.found(hits, finding("data-imbalance", ranks=[0, 1])), (True, 0))
        self.assertEqual(self.found(hits, finding("data-imbalance", ranks=[2, 3])), (False, 1))
        self.assertEqual(self.found(hits, finding("data-imbalance", ranks=[])), (False, 1))


if __name__ == "__main__":
    unittest.main()
