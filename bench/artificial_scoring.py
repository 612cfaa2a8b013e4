# SPDX-License-Identifier: Apache-2.0
"""Scores a diagnosis (findings.json) against the truth.json of an artificial job (docs/artificial-jobs.md).

A fault is found when a finding names a cause of its family and exactly its culprit ranks.  It is found loudly when
that finding is a warning or worse.  A warning that is no fault's is a false alarm; one that names only ranks which a
fault made wait is a swap of victim and culprit, the worst kind of false alarm.
"""
ALARM = ("warning", "critical")

# fault -> causes that count
FAMILY = {
    "slow_compute": {"slow-device", "slow-host", "slow-host-code", "data-imbalance"},  # no token counts to tell by
    "slow_host": {"slow-host", "slow-host-code", "launch-bound"},
    "slow_function": {"slow-host-code", "hidden-sync", "slow-input"},
    "slow_dataloader": {"slow-input"},
    "gc_pause": {"gc-pause"},
    "process_pause": {"paused-process"},
    "slow_link": {"slow-link"},
    "slow_fabric": {"slow-fabric"},
    "stage_imbalance": {"stage-imbalance"},
    "data_imbalance": {"data-imbalance", "slow-device", "slow-host-code"},
    "data_imbalance_random": {"data-imbalance"},
    "hidden_sync": {"hidden-sync"},
    "launch_bound": {"launch-bound"},
    "unpinned_copy": {"unpinned-copy"},
    "slow_copy": {"slow-copy"},
    "checkpoint_stall": {"checkpoint-stall"},
    "compile_stall": {"compile-or-load"},
    "late_entry": {"late-entry"},
    "lost_overlap": {"lost-overlap"},
    "small_collectives": {"small-collectives"},
    "uniform_slowdown": {"uniform-slow"},
}

# Where no Python stacks were recorded nothing names these: a hole in the main thread is what the trace holds of them,
# be it told as a pause or as code that nothing recorded.
NAMELESS = {"gc_pause": {"paused-process", "slow-host-code"}, "checkpoint_stall": {"paused-process"},
            "compile_stall": {"paused-process"}, "slow_dataloader": {"paused-process", "slow-host-code"},
            "slow_function": {"paused-process"}}

BINS = ((0, 1), (1, 2), (2, 3), (3, 5), (5, 10), (10, 20), (20, 1e9))


def has_stacks(truth):
    return ",stacks=1" in "," + truth["generator"]["spec"]


def is_cause_of(truth, fault, finding):
    if finding["cause"] in FAMILY[fault["kind"]]:
        return True
    names_nothing = not finding["scope"].get("function") or finding["scope"]["function"].startswith("(")
    return not has_stacks(truth) and names_nothing and finding["cause"] in NAMELESS.get(fault["kind"], ())


def as_struck(fault):
    """The fault as its steps hold it.  Long sequences that chance gave to the same replica each time are that one's:
    nothing in these steps tells that the next one would strike another.
    """
    if fault["kind"] != "data_imbalance_random":
        return fault
    struck = {tuple(ranks) for ranks in fault["ranks_hit_in_step"].values() if ranks}
    if len(struck) != 1:
        return fault
    return {**fault, "kind": "data_imbalance", "culprit_ranks": list(struck.pop()), "common_cause": False}


def names_who(fault, scope, world):
    """Whether the scope is that of the fault: exactly its ranks; a link by an end; all ranks where none is to blame."""
    ranks, culprits = set(scope.get("ranks", [])), set(fault["culprit_ranks"])
    everybody = ranks in (set(), set(range(world)))
    if fault["kind"] == "slow_link":
        ends = [{link["from"], link["to"]} for link in scope.get("links", [])]
        return ranks == culprits or (bool(ends) and all(culprits & end for end in ends))
    if fault["kind"] == "stage_imbalance" and scope.get("stage") == fault.get("stage"):
        return True
    if fault["kind"] == "late_entry":
        return True  # each rank enters by a chance of its own
    if not culprits:
        return everybody or scope.get("group") is not None
    if fault["common_cause"] and len(culprits) == world:
        return everybody or len(ranks) >= 2  # all alike; it shows on those that do not wait for others
    return ranks == culprits


def needs_baseline(fault):
    """Whether nothing in the run itself shows the fault: all transfers slower in all steps, by a factor."""
    return fault["kind"] in ("slow_fabric", "uniform_slowdown") and fault["steps"] == "all"


def score(truth, findings):
    """{"faults": [{kind, effect, found, loud, first}], "false_alarms": [str], "swapped": [str], "healthy": bool}"""
    mesh = truth["mesh"]
    world = mesh["dp"] * mesh["tp"] * mesh["pp"]
    found = findings["findings"]
    used, faults = set(), []
    planted = [as_struck(fault) for fault in truth["faults"]]
    for fault in planted:
        hits = [i for i, f in enumerate(found)
                if i not in used and is_cause_of(truth, fault, f) and names_who(fault, f["scope"], world)]
        hits.sort(key=lambda i: found[i]["cause"] not in FAMILY[fault["kind"]])  # a hole may be another fault's
        used.update(hits[:1])
        faults.append({"kind": fault["kind"], "effect": fault["effect_over_noise"], "culprits": fault["culprit_ranks"],
                       "needs_baseline": needs_baseline(fault), "found": bool(hits),
                       "loud": bool(hits) and found[hits[0]]["severity"] in ALARM,
                       "got_ms": found[hits[0]]["recoverable_ns_per_step"] / 1e6 if hits else None,
                       "ms": fault["recoverable_ms_per_step"]})
    wrong = [f for i, f in enumerate(found) if i not in used and f["severity"] in ALARM]
    victims = {int(r) for fault in planted for r in fault["victims"]}
    culprits = {r for fault in planted for r in fault["culprit_ranks"]}
    swapped = [f for f in wrong if f["scope"].get("ranks") and set(f["scope"]["ranks"]) <= victims - culprits]
    return {"faults": faults, "false_alarms": [describe(f) for f in wrong], "swapped": [describe(f) for f in swapped],
            "healthy": not faults, "said": [describe(f) for f in found]}


def describe(finding):
    scope = finding["scope"]
    ranks = scope.get("ranks", [])
    who = ",".join(map(str, ranks[:8])) + (",…" if len(ranks) > 8 else "")
    links = " ".join(f"{link['from']}->{link['to']}" for link in scope.get("links", [])[:4])
    gain = finding["recoverable_ns_per_step"] / 1e6
    return f"{finding['severity'][:4]} {finding['cause']} {who or '-'} {links} {gain:.1f} ms".replace("  ", " ")


def counted(rows):
    """The faults that a diagnosis without an earlier run can be asked for; of the others those it found anyway."""
    return [f for r in rows for f in r["faults"] if f["found"] or not f["needs_baseline"]]


def curve(rows):
    """[(low, high, faults, found, loud)] over the effect size."""
    out = []
    for low, high in BINS:
        here = [f for f in counted(rows) if low <= f["effect"] < high]
        out.append((low, high, len(here), sum(f["found"] for f in here), sum(f["loud"] for f in here)))
    return out


def by_kind(rows, least):
    """{kind: (faults, found, loud)} of the faults with at least that effect."""
    out = {}
    for fault in (f for f in counted(rows) if f["effect"] >= least):
        n, found, loud = out.get(fault["kind"], (0, 0, 0))
        out[fault["kind"]] = (n + 1, found + fault["found"], loud + fault["loud"])
    return out
