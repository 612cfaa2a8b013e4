# SPDX-License-Identifier: Apache-2.0
"""Scores a diagnosis (findings.json) against the truth of a labelled case.

A case is right when the first finding at "warning" or above names a cause of the truth's family and exactly
its culprit ranks (and the function, where Python stacks were recorded and the truth names one); every other
finding at that level is a false alarm unless the truth lists it.  A healthy case is right when there is none.
"""
import re

ALARM = ("warning", "critical")

# truth kind -> causes that count
FAMILY = {
    "slow_compute": {"slow-device", "slow-host", "slow-host-code"},
    "load_imbalance": {"data-imbalance", "slow-host-code"},
    "slow_dataloader": {"slow-input"},
    "gc_pause": {"gc-pause"},
    "process_pause": {"paused-process"},
    "slow_logging": {"slow-host-code", "hidden-sync"},
    "slow_link": {"slow-link"},
    "slow_fabric": {"slow-fabric"},
    "stage_imbalance": {"stage-imbalance"},
    "data_imbalance": {"data-imbalance", "slow-host-code", "slow-device"},
    "data_imbalance_random": {"data-imbalance"},
    # beyond the table of the design, by the same reasoning
    "checkpoint_stall": {"checkpoint-stall"},
    "compile_or_load": {"compile-or-load"},
    "late_entry": {"late-entry"},
}

# fault of a job -> the kind a truth would have if the fault struck in every step
KIND_OF_FAULT = {"slow_loader": "slow_dataloader", "slow_device": "slow_compute", "slow_compute": "load_imbalance",
                 "gc_pause": "gc_pause", "sigstop": "process_pause", "slow_logging": "slow_logging",
                 "checkpoint": "checkpoint_stall"}

NOT_A_NAME = {"called", "from", "no", "stacks", "recorded", "automatic", "full", "collection"}
NO_DIAGNOSIS = {"hang"}  # truths that have no trace to diagnose


class Case:
    """What the files of a labelled case say."""

    def __init__(self, name, truth, run, stage_of_rank=None):
        self.name, self.truth, self.run = name, truth, run
        self.kind = truth["kind"]
        self.culprits = sorted(truth.get("culprit_ranks", []))
        self.ranks = list(range(run["ranks"]))
        self.stacks = bool(run.get("train", {}).get("with-stack"))
        self.other_cores = max(0.0, run["load"]["other_cores"])
        undisturbed = run["load"].get("scheduling") == "realtime"  # other work does not delay such ranks
        self.quiet = "caution" not in truth and (self.other_cores <= 0.3 or undisturbed)
        self.stage_of_rank = stage_of_rank or {}

    def first_profiled_step(self):
        """Training step that is ProfilerStep#0."""
        return int(self.truth["profiler_step_of_train_step"].split("+")[1])

    def injected_ns(self):
        """{rank: {profiler step: ns}} as booked by the ranks themselves; {} where nothing was booked."""
        booked = self.truth.get("injected_step_unixns_ns_kind") or self.truth.get("injected_step_unixns_ns") or {}
        first, out = self.first_profiled_step(), {}
        for rank, log in booked.items():
            for step, _, ns, *_ in log:
                steps = out.setdefault(int(rank), {})
                steps[step - first] = steps.get(step - first, 0) + ns
        return out

    def struck_steps(self, window):
        """Profiler steps of the window in which the fault struck."""
        named = [int(s.split("#")[1]) for s in self.truth.get("profiler_steps_affected", [])]
        if not named:
            named = [s for steps in self.injected_ns().values() for s in steps]
        return sorted({s for s in named if window[0] <= s <= window[1]})

    def injected_per_step_ns(self, window):
        """What was injected per step of the window on the worst rank of each step, or None if not stated."""
        steps, injected = window[1] - window[0] + 1, self.injected_ns()
        if injected:
            total = sum(max(by_step.get(s, 0) for by_step in injected.values())
                        for s in range(window[0], window[1] + 1))
            return total / steps if total else None
        if "magnitude_ms" in self.truth:
            return self.truth["magnitude_ms"] * 1e6 * len(self.struck_steps(window)) / steps
        return None


def score(case, findings):
    """findings: the parsed findings.json.  Returns a dict: right, why (what is wrong with the first finding),
    faults, found (of these), false_alarms, first, recoverable {got_ns, injected_ns, within} or None."""
    alarms = [f for f in findings["findings"] if f["severity"] in ALARM]
    window = findings["job"].get("steps") or [0, -1]
    faults = _faults(case)
    together = _as_one(faults)
    if together and alarms and not mismatch(case, together, alarms[0], window):
        faults = [together]
    matched, open_faults = [], list(faults)
    for alarm in alarms:
        hit = next((f for f in open_faults if not mismatch(case, f, alarm, window)), None)
        matched.append(hit)
        if hit:
            open_faults.remove(hit)
    false_alarms = [a for a, m in zip(alarms, matched) if m is None]
    if case.kind == "shared_host":  # other work on the machine: at most said, never blamed on a rank
        false_alarms = [a for a in false_alarms if a["cause"] != "shared-host"]
    right = all(matched[:len(faults)]) and len(alarms) >= len(faults) if faults else not false_alarms
    comparable = case.quiet and len(faults) == 1 and matched[:1] == faults
    return {"right": right, "why": [] if right else _problems(case, faults, alarms, window),
            "faults": len(faults), "found": len(faults) - len(open_faults),
            "false_alarms": [describe(a) for a in false_alarms], "first": describe(alarms[0]) if alarms else "none",
            "recoverable": _recoverable(case, alarms[0], window) if comparable else None}


def _recoverable(case, finding, window):
    """Recoverable time against what was injected per step of the window; None where that is not stated."""
    injected = case.injected_per_step_ns(window)
    if not injected:
        return None
    got = finding["recoverable_ns_per_step"]
    return {"got_ns": got, "injected_ns": round(injected), "within": abs(got - injected) <= 0.25 * injected}


def describe(finding):
    scope = finding["scope"]
    links = [f"{link['from']}->{link['to']}" for link in scope.get("links", [])]
    who = f"links {','.join(links)}" if links else f"ranks {','.join(map(str, scope.get('ranks', []))) or '-'}"
    return f"{finding['cause']} {who}"


def _faults(case):
    """The truths a diagnosis must find, each in the form of a truth of its own."""
    if case.kind in ("healthy", "shared_host"):
        return []
    if case.kind == "two_faults":
        return [dict(f, fault=case.truth.get("fault", [])) for f in case.truth["faults"]]
    return [case.truth]


def _as_one(faults):
    """Several faults of one kind as one fault with all their culprits, or None: one finding may name them all."""
    if len(faults) < 2 or len({f["kind"] for f in faults}) > 1:
        return None
    return dict(faults[0], culprit_ranks=sorted(r for f in faults for r in f["culprit_ranks"]))


def _problems(case, faults, alarms, window):
    """Why a case is not right, judged by the finding that comes nearest to each fault."""
    if not faults:
        return [f"{len(alarms)} findings on a healthy job"]
    if not alarms:
        return ["nothing found"]
    out = []
    for fault in faults:
        out += min((mismatch(case, fault, alarm, window) for alarm in alarms[:len(faults)]), key=len)
    return out or ["found, but not by as many findings as there are faults"]


def mismatch(case, fault, finding, window):
    """What keeps a finding from being this fault: list of sentences, empty if it is."""
    kind, out = fault["kind"], []
    if kind == "intermittent_straggler":
        kind = KIND_OF_FAULT[_spec_kind(fault)]
        out += _when_mismatch(finding, "intermittent", _expected_steps(case, fault, window))
    causes = set(FAMILY[kind])
    if kind == "gc_pause" and not case.stacks:
        causes.add("paused-process")
    if finding["cause"] not in causes:
        out.append(f"cause {finding['cause']}, not {' or '.join(sorted(causes))}")
    if kind == "process_pause":
        out += _when_mismatch(finding, "once", None)
    if kind == "data_imbalance_random":
        out += _when_mismatch(finding, "intermittent", None)
    if "when" in fault:
        first = min(_expected_steps(case, fault, window), default=None)
        out += _when_mismatch(finding, fault["when"], None if first is None else [first], only_first=True)
    out += _scope_mismatch(case, kind, fault, finding["scope"])
    out += _function_mismatch(case, kind, fault, finding)
    return out


def _spec_kind(fault):
    specs = fault["fault"] if isinstance(fault["fault"], list) else [fault["fault"]]
    mine = [s for s in specs if s.get("ranks") == "all" or set(fault["culprit_ranks"]) & set(s.get("ranks", []))]
    return mine[0]["kind"]


def _expected_steps(case, fault, window):
    """Steps of the window in which the ranks of this fault were struck."""
    injected = case.injected_ns()
    own = [s for r in fault["culprit_ranks"] for s in injected.get(r, {})]
    return sorted({s for s in own if window[0] <= s <= window[1]}) or case.struck_steps(window)


def _when_mismatch(finding, kind, steps, only_first=False):
    when = finding["when"]
    if when["kind"] != kind:
        return [f"when {when['kind']}, not {kind}"]
    got = sorted(when["steps"])[:1] if only_first else sorted(when["steps"])
    return [f"steps {got}, not {steps}"] if steps is not None and got != steps else []


def _scope_mismatch(case, kind, fault, scope):
    ranks, culprits = sorted(scope.get("ranks", [])), sorted(fault.get("culprit_ranks", []))
    if kind == "slow_link":
        ends = [{link["from"], link["to"]} for link in scope.get("links", [])]
        named = all(culprits[0] in e for e in ends) if ends else culprits[0] in ranks and len(ranks) <= 2
        return [] if named else [f"links {[sorted(e) for e in ends]} ranks {ranks}, not an end at rank {culprits[0]}"]
    if kind == "data_imbalance_random":
        return [] if ranks in ([], case.ranks) else [f"ranks {ranks} blamed for what strikes at random"]
    if kind == "stage_imbalance":
        stages = {case.stage_of_rank.get(r) for r in culprits} | {fault.get("stage")}
        if scope.get("stage") is not None and scope["stage"] in stages - {None}:
            return []
    return [] if ranks == culprits else [f"ranks {ranks}, not {culprits}"]


def _function_mismatch(case, kind, fault, finding):
    function = finding["scope"].get("function") or ""
    if finding["cause"] == "slow-host-code" and not function:
        return ["slow-host-code names no function"]
    names = names_of(fault.get("culprit_function", ""))
    if not names or not case.stacks:
        return []
    text = function + " " + finding.get("sentence", "")
    if any(re.search(rf"(?<!\w){re.escape(n)}(?!\w)", text) for n in names):
        return []
    return [f"function '{function}', not {' or '.join(names)}"]


def names_of(function):
    """Names in a truth's culprit_function, such as "log_metrics (loss.item, write, fsync)"."""
    return [n for n in re.findall(r"[A-Za-z_][\w.]*\w", function) if n not in NOT_A_NAME]
