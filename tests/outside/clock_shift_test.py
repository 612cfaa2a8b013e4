#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clocks of hosts that are set wrong change nothing but the offsets that put them right.

A real job is written anew with every rank (or pair of ranks) on a host of its own, once with the times as recorded and
once with a constant added to all times of a host: whole microseconds, up to 50 ms. The offsets of the second must undo
exactly what was added, and everything else in the report, the findings and the timeline must be the same text.
Files that name no host are eight hosts, too, once their clocks differ; recorded they agree within microseconds and count
as one clock, so there the costs may differ by that.
"""

import copy
import gzip
import os
import re
import sys
import tarfile
import tempfile

from outside_data import Checks, headway, headway_json, need

SHIFTS_US = [0, 50_000, -50_000, 17_000, -5_003, 31_415, -1_000, 8_765]
NO_SHIFTS = [0] * 8


def dlrm():
    """Text of each rank's trace, by rank. Times are whole microseconds."""
    texts = {}
    with tarfile.open(need("param/dlrm_kineto.tar.gz")[0]) as archive:
        for member in archive:
            rank = re.search(r"worker(\d)", member.name)
            if member.isfile() and rank:
                texts[int(rank.group(1))] = archive.extractfile(member).read().decode()
    return [texts[rank] for rank in sorted(texts)]


def mesh(case):
    folder = need(f"cpu_mesh/{case}")[0]
    names = sorted(name for name in os.listdir(folder) if name.startswith("rank"))
    return [gzip.open(os.path.join(folder, name), "rt").read() for name in names]


def write_job(folder, texts, ranks_per_host, shifts, name_hosts):
    """The job in folder/job, each file with its host's name (or none) and its host's shift (us) added to all times."""
    os.makedirs(os.path.join(folder, "job"))
    for rank, text in enumerate(texts):
        host = rank // ranks_per_host
        # Fractions of a microsecond follow the digits and stay. 0 is what the profiler writes for "none".
        text = re.sub(r'("ts": )([1-9]\d*)', lambda m: m[1] + str(int(m[2]) + shifts[host]), text)
        text = re.sub(r'"host_name": "[^"]*",', "", text)
        if name_hosts:
            text = text.replace("{", f'{{\n  "host_name": "host{host}",', 1)
        with open(os.path.join(folder, "job", f"rank{rank}.json"), "w", encoding="utf-8") as out:
            out.write(text)


def reports(folder):
    """Everything the program says: JSON, text without the clocks, the timeline."""
    document = headway_json("diagnose", "job", folder=folder)
    text, _ = headway("diagnose", "--section", "all", "--quiet", "--timeline", "timeline.json", "job", folder=folder)
    text = re.sub(r"(?s)\nClocks of the hosts\n.*?\n\n", "\n", text)
    with open(os.path.join(folder, "timeline.json"), encoding="utf-8") as timeline:
        return document, text, re.sub(r", clock moved by [^,]*, give or take", ", clock give or take", timeline.read())


def without_clocks(document):
    out = copy.deepcopy(document)
    out["data_quality"]["clocks"] = []
    return out


def check_named(checks, name, texts, ranks_per_host):
    with tempfile.TemporaryDirectory() as before, tempfile.TemporaryDirectory() as after:
        write_job(before, texts, ranks_per_host, NO_SHIFTS, True)
        write_job(after, texts, ranks_per_host, SHIFTS_US, True)
        recorded, recorded_text, recorded_timeline = reports(before)
        shifted, shifted_text, shifted_timeline = reports(after)
    hosts = (len(texts) + ranks_per_host - 1) // ranks_per_host
    checks.equal(f"{name}: hosts with a clock", len(shifted["data_quality"]["clocks"]), hosts)
    for host, (was, now) in enumerate(zip(recorded["data_quality"]["clocks"], shifted["data_quality"]["clocks"])):
        # Added to the clock is taken from the offset. The bound that matters is 2 us; it holds to the nanosecond.
        checks.equal(f"{name}: offset of host {host}", now["offset_ns"], was["offset_ns"] - SHIFTS_US[host] * 1000)
        checks.equal(f"{name}: residual of host {host}", now["residual_ns"], was["residual_ns"])
    checks.that(without_clocks(recorded) == without_clocks(shifted), f"{name}: the findings changed")
    checks.that(recorded_text == shifted_text, f"{name}: the report changed")
    checks.that(recorded_timeline == shifted_timeline, f"{name}: the timeline changed")
    return recorded


def check_unnamed_dlrm(checks, texts):
    with tempfile.TemporaryDirectory() as before, tempfile.TemporaryDirectory() as after:
        write_job(before, texts, 1, NO_SHIFTS, False)
        write_job(after, texts, 1, SHIFTS_US, False)
        recorded = headway_json("diagnose", "job", folder=before)
        shifted = headway_json("diagnose", "job", folder=after)
    checks.equal("no names: clocks as recorded", recorded["data_quality"]["clocks"], [])
    for rank, clock in enumerate(shifted["data_quality"]["clocks"]):
        checks.near(f"no names: offset of rank {rank} (us)", clock["offset_ns"] / 1000, -SHIFTS_US[rank], 2)
    checks.equal("no names: clocks of the shifted files", len(shifted["data_quality"]["clocks"]), 8)
    for was, now in zip(recorded["findings"], shifted["findings"]):
        for field in ("cause", "severity", "scope", "when", "victims", "headline"):
            checks.equal(f"no names: {field} of {was['cause']}", now[field], was[field])
        checks.near(f"no names: cost of {was['cause']} (us)", now["recoverable_ns_per_step"] / 1000,
                    was["recoverable_ns_per_step"] / 1000, 2)
    checks.equal("no names: findings", len(shifted["findings"]), len(recorded["findings"]))


def main():
    checks = Checks()
    texts = dlrm()
    recorded = check_named(checks, "DLRM as eight hosts", texts, 1)
    for clock in recorded["data_quality"]["clocks"]:
        # One machine: its recorded clocks are the truth, and the ends of its collectives agree within 7 us.
        checks.near(f"DLRM as recorded: offset of {clock['host']} (us)", clock["offset_ns"] / 1000, 0, 2)
    check_unnamed_dlrm(checks, texts)
    check_named(checks, "a slow link, two ranks a host", mesh("slow-link-fsdp"), 2)
    check_named(checks, "a slow device among eight ranks", mesh("slow-device-3d"), 1)
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())
