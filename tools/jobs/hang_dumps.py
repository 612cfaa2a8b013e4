# SPDX-License-Identifier: Apache-2.0
"""What remains of a job that hangs: flight recorder and Python stacks of every rank.

Gloo has no watchdog that dumps by itself, so each rank has a thread that dumps when the launcher
asks for it through a file.
"""
import faulthandler
import glob
import os
import signal
import threading
import time


def serve(job):
    """In the rank: dumps the flight recorder when asked, Python stacks on SIGUSR1."""
    stacks = open(job.path(f"stacks.{job.rank}.txt"), "w")
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
    threading.Thread(target=_dump_on_request, args=(job,), daemon=True).start()


def _dump_on_request(job):
    from torch._C._distributed_c10d import _dump_fr_trace
    while not os.path.exists(job.path("dump.request")):
        time.sleep(0.2)
    with open(job.path(f"fr.{job.rank}.raw"), "wb") as f:
        f.write(_dump_fr_trace())
    job.save()


def request(out, processes):
    """In the launcher: True once a rank has noted that it hangs and all ranks have been dumped."""
    if not glob.glob(f"{out}/hanging.*.json"):
        return False
    time.sleep(3)  # the others run into the collective the culprit does not enter
    open(f"{out}/dump.request", "w").close()
    time.sleep(1)
    for process in processes:
        os.kill(process.pid, signal.SIGUSR1)
    time.sleep(1)
    return True
