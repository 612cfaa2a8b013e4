#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a large Kineto trace by repeating a real one: python3 bench/make_big_trace.py IN.json[.gz] OUT.json MEGABYTES.

Every repetition starts where the one before ended, and has correlations, external ids, flow ids and step numbers of its
own, so that nothing looks like a duplicate. The text between the numbers stays byte for byte as the profiler wrote it.
"""
import gzip
import re
import sys

NUMBER = re.compile(
    r'"(ts|id|correlation|External id|external id|Ev Idx|Python id|Python parent id|Record function id'
    r'|wait_on_cuda_event_record_corr_id)":( *)(-?\d+)(\.\d+)?'
    r"|(ProfilerStep#)(\d+)")


def main(source, target, megabytes):
    data = open(source, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = data.decode("latin-1")
    key = text.index('"traceEvents"')
    begin = text.index("[", key) + 1
    end = events_end(text, begin)
    head, events, tail = text[:begin], text[begin:end].rstrip(), text[end:]

    literals, numbers, kinds = [], [], []
    at = 0
    times = []
    for match in NUMBER.finditer(events):
        group = 3 if match.group(3) else 6
        literals.append(events[at:match.start(group)])
        value = int(match.group(group))
        kind = "step" if group == 6 else match.group(1)
        numbers.append(value)
        kinds.append(kind)
        if kind == "ts" and value:
            times.append(value)
        at = match.end(group)
    literals.append(events[at:])
    span = max(times) - min(times) + 1000 if times else 0
    steps = [n for n, kind in zip(numbers, kinds) if kind == "step"]
    step_count = max(steps) - min(steps) + 1 if steps else 0
    ids = [n for n, kind in zip(numbers, kinds) if kind not in ("ts", "step")]
    id_span = max(ids, default=0) + 1
    shift_of = {"ts": span, "step": step_count}
    shifts = [0 if kind == "ts" and not n else shift_of.get(kind, id_span if n > 0 else 0)
              for n, kind in zip(numbers, kinds)]

    with open(target, "wb") as out:
        out.write(head.encode("latin-1"))
        written = len(head)
        for repetition in range(1 << 30):
            parts = [None] * (len(literals) + len(numbers))
            parts[::2] = literals
            parts[1::2] = [str(n + repetition * shift) for n, shift in zip(numbers, shifts)]
            chunk = ("," if repetition else "") + "".join(parts)
            out.write(chunk.encode("latin-1"))
            written += len(chunk)
            if written >= megabytes * 1e6:
                break
        out.write(tail.encode("latin-1"))
    print(f"{target}: {written / 1e6:.1f} MB, {repetition + 1} repetitions")


def events_end(text, begin):
    """The closing bracket of traceEvents: the last one, or the one before the keys that follow it."""
    after = re.compile(r'\}\s*\]\s*,\s*"(schemaVersion|deviceProperties|traceName|INFO|WARNING|ERROR|displayTimeUnit|baseTimeNanoseconds|distributedInfo)"')
    match = after.search(text, begin)
    return text.index("]", match.start()) if match else text.rindex("]")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
