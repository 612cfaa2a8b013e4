#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The timeline that the program writes, against the rules of Perfetto's JSON importer: rows of one track that overlap
without nesting are dropped there, so there must be none; every track is named; times are microseconds from 0 on.
Real jobs: collectives that overlap on two streams or threads, several groups, clocks of one host."""

import collections
import json
import os
import sys
import tempfile

from outside_data import Checks, headway, need

JOBS = ["param/dlrm_kineto.tar.gz", "cpu_mesh/slow-device-3d", "cpu_mesh/two-faults-pp", "cpu_ddp/slow-device-8"]


def nanoseconds(text):
    whole, _, fraction = text.partition(".")
    return int(whole) * 1000 + int((fraction + "000")[:3])


def overlapping(rows):
    """Pairs of rows of one track that overlap without one containing the other. At equal starts the longer is outside."""
    wrong, stack = [], []
    for start, end, name in sorted(rows, key=lambda row: (row[0], -row[1])):
        while stack and stack[-1][1] <= start:
            stack.pop()
        if stack and end > stack[-1][1]:
            wrong.append((stack[-1], (start, end, name)))
        stack.append((start, end, name))
    return wrong


def check_job(checks, job):
    path, = need(job)
    with tempfile.TemporaryDirectory() as folder:
        timeline = os.path.join(folder, "timeline.json")
        _, status = headway("diagnose", "--quiet", "--timeline", timeline, path)
        checks.equal(f"{job}: status", status, 0)
        with open(timeline, encoding="utf-8") as text:
            events = json.load(text, parse_float=str, parse_int=str)["traceEvents"]
    tracks, named, processes = collections.defaultdict(list), set(), set()
    for event in events:
        track = event["pid"], event["tid"]
        if event["ph"] == "X":
            start = nanoseconds(event["ts"])
            tracks[track].append((start, start + nanoseconds(event["dur"]), event["name"]))
        elif event["name"] == "thread_name":
            named.add(track)
        elif event["name"] == "process_name":
            processes.add(event["pid"])
    checks.that(sum(len(rows) for rows in tracks.values()) > 50, f"{job}: hardly any rows")
    for track, rows in sorted(tracks.items()):
        wrong = overlapping(rows)
        checks.that(not wrong, f"{job}: track {track} would lose {len(wrong)} rows, the first {wrong[:1]}")
        checks.that(track in named and track[0] in processes, f"{job}: track {track} has no name")
        # The rank that begins first begins at 0; work before the window is kept, so a row may start before that.
        checks.that(all(end >= start for start, end, _ in rows), f"{job}: track {track} holds a negative duration")


def main():
    checks = Checks()
    for job in JOBS:
        check_job(checks, job)
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())
