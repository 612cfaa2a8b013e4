# SPDX-License-Identifier: Apache-2.0
"""Load of this machine: measured around a job, and made on purpose."""
import os
import resource
import subprocess
import sys
import time

BURN = """
import sys, time
duty, period, end = float(sys.argv[1]), float(sys.argv[2]), time.time() + float(sys.argv[3])
while time.time() < end:
    begin = time.perf_counter()
    while time.perf_counter() - begin < duty * period:
        sum(range(2000))
    time.sleep((1 - duty) * period)
"""


def _busy_s():
    """CPU seconds all of the machine has used."""
    with open("/proc/stat") as f:
        ticks = [int(x) for x in f.readline().split()[1:9]]  # guest time is in user time already
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def _children_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Burners:
    """Context manager: processes unrelated to the job that burn CPU, each for `duty` of the time in
    bursts of duty x period_s.  They end with the block, and by themselves after limit_s.  prefix: words
    that run a command with the priority of the job."""

    def __init__(self, prefix, limit_s, count=0, duty=1.0, period_s=0.25):
        self.words = [*prefix, sys.executable, "-c", BURN, str(duty), str(period_s), str(limit_s)]
        self.count, self.processes, self.cpu_s = count, [], 0.0

    def __enter__(self):
        self.processes = [subprocess.Popen(self.words) for _ in range(self.count)]
        return self

    def __exit__(self, *why):
        before = _children_s()
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self.cpu_s = _children_s() - before


class LoadMeter:
    """Context manager.  Afterwards `result(burner_s)` gives the cores that the job and that other work took."""

    def __enter__(self):
        self.begin, self.busy, self.own = time.time(), _busy_s(), _children_s()
        return self

    def __exit__(self, *why):
        self.wall, self.busy, self.own = time.time() - self.begin, _busy_s() - self.busy, _children_s() - self.own

    def result(self, burner_s=0.0):
        job = self.own - burner_s
        return {"wall_s": round(self.wall, 1), "own_cores": round(job / self.wall, 2),
                "other_cores": round((self.busy - job) / self.wall, 2), "burner_cores": round(burner_s / self.wall, 2)}
