#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times `headway diagnose` on folders of patterns or traces: once with their files out of the page cache (cold), then
several times with them in it (warm: the run of least wall time).

  bench/time_diagnose.py PROGRAM FOLDER [FOLDER…] [--runs N] [--threads N]

One line a run: wall seconds, CPU seconds (user and system), peak memory. The load average tells whether the machine was
quiet. Cold needs no privileges: the kernel is asked to forget each file (posix_fadvise); the folder itself stays known.
"""
import argparse
import os
import subprocess
import sys
import time


def forget(folder: str) -> int:
    """Takes the folder's files out of the page cache; their number of bytes."""
    size = 0
    os.sync()  # pages not yet written cannot be dropped
    for parent, _, names in os.walk(folder):
        for name in names:
            file = os.open(os.path.join(parent, name), os.O_RDONLY)
            size += os.fstat(file).st_size
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
    return size


def run(program: str, folder: str, threads: int) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds, peak GB."""
    started = time.monotonic()
    child = subprocess.Popen([program, "diagnose", folder, "--json", "--quiet", "--threads", str(threads)],
                             stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    wall = time.monotonic() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{program} diagnose {folder}: exit code {child.returncode}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--runs", type=int, default=3, help="warm runs (3)")
    parser.add_argument("--threads", type=int, default=0, help="0 = all (0)")
    args = parser.parse_args()
    for folder in args.folders:
        size = forget(folder)
        cold = run(args.program, folder, args.threads)
        warm = min(run(args.program, folder, args.threads) for _ in range(args.runs))
        print(f"{folder}: {size / 1e6:.1f} MB on disk, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
        for name, (wall, cpu, peak) in (("cold", cold), ("warm", warm)):
            print(f"  {name}  {wall:6.2f} s wall  {cpu:6.2f} s CPU  {peak:5.2f} GB")


if __name__ == "__main__":
    main()
