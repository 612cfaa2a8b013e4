# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a job in their surroundings: namespaces, link limits, CPU quotas, other work,
and a watcher that stops ranks with SIGSTOP when they ask for it."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import cpu_quota
import hang_dumps
import rank_network
from machine_load import Burners

HERE = os.path.dirname(os.path.abspath(__file__))


def unavailable(case):
    """Why this case cannot be run on this machine, or None."""
    if case.get("netns") and (reason := rank_network.unavailable()):
        return reason
    if case.get("quota") and (reason := cpu_quota.unavailable()):
        return reason
    return None


# How the ranks are scheduled. Under REALTIME other work hardly delays them at all.
NORMAL, NICE, REALTIME = "normal", "nice", "realtime"
SCHEDULING_WORDS = {
    NORMAL: [],
    # The kernel may group processes by session, with a nice value for the group that counts instead.
    NICE: ["setsid", "sh", "-c", 'echo -10 2>/dev/null >/proc/self/autogroup; exec nice -n -10 "$@"', "sh"],
    REALTIME: ["chrt", "-r", "1"],
}


def least_disturbed(case):
    """The scheduling under which other work disturbs this case least, of those that can be had here."""
    def can(scheduling):
        words = SCHEDULING_WORDS[scheduling] + ["true"]
        return shutil.which(words[0]) and not subprocess.run(words, capture_output=True).stderr
    about_cpu_shares = case.get("quota") or case.get("burners")  # which real-time processes ignore
    # With namespaces, kernel threads that move the packets may have to wait behind real-time ranks.
    if not about_cpu_shares and not case.get("netns") and can(REALTIME):
        return REALTIME
    return NICE if can(NICE) else NORMAL


def launch(case, words, out, limit_s, scheduling=NORMAL):
    """Runs train_<job>.py with these words on all ranks.  Returns (exit codes, CPU seconds of the burners);
    a rank that had to be killed has a negative code."""
    ranks, processes = case.get("ranks", 4), []
    with contextlib.ExitStack() as stack:
        burners = stack.enter_context(Burners(SCHEDULING_WORDS[scheduling], limit_s, **case.get("burners", {})))
        network = None
        if case.get("netns"):
            limits = {k if k == "all" else int(k): rate for k, rate in case.get("links", {}).items()}
            network = stack.enter_context(rank_network.RankNetwork(ranks, limits))
        quota = stack.enter_context(cpu_quota.CpuQuota()) if case.get("quota") else None
        stop_fd = stack.enter_context(_stopper(scheduling == REALTIME))
        stack.callback(_end, processes)
        port = _free_port()
        for rank in range(ranks):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                               OMP_NUM_THREADS="1", MASTER_ADDR=network.address if network else "127.0.0.1",
                               MASTER_PORT=str(port), GLOO_SOCKET_IFNAME=rank_network.INTERFACE if network else "lo",
                               STOPPER_FD=str(stop_fd), TORCH_FR_BUFFER_SIZE="200")
            command = (network.prefix(rank) if network else []) + [
                *SCHEDULING_WORDS[scheduling], sys.executable, f"train_{case.get('job', 'ddp')}.py", "--out", out, *words]
            with open(f"{out}/log.{rank}", "w") as log:
                processes.append(subprocess.Popen(command, env=environment, cwd=HERE, stdout=log, stderr=log,
                                                  pass_fds=[stop_fd]))
        _watch(processes, quota, case.get("quota", {}), out, limit_s)
        codes = _end(processes)
    return codes, burners.cpu_s


def _watch(processes, quota, quotas, out, limit_s):
    """Waits until all ranks have ended, one has failed, a hang has been dumped or time is up."""
    begin, quotas = time.time(), dict(quotas)
    while any(p.poll() is None for p in processes) and time.time() - begin < limit_s:
        time.sleep(0.1)
        for rank in [r for r in quotas if os.path.exists(f"{out}/pid.{r}.json")]:
            quota.hold(processes[int(rank)].pid, quotas.pop(rank))
        if hang_dumps.request(out, processes):
            return
        if any(p.poll() for p in processes):
            time.sleep(2)  # let the others say why, too
            return


def _end(processes):
    for process in processes:
        if process.poll() is None:
            process.kill()
    return [process.wait() for process in processes]


@contextlib.contextmanager
def _stopper(realtime):
    """A pipe end for the ranks; each line "pid ms" stops that process for so long."""
    read, write = os.pipe()

    def serve():
        if realtime:  # of this thread: it must not wait behind the ranks it is to stop
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))
        with os.fdopen(read) as lines:
            for line in lines:
                pid, ms = line.split()
                os.kill(int(pid), signal.SIGSTOP)
                time.sleep(float(ms) / 1e3)
                os.kill(int(pid), signal.SIGCONT)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield write
    finally:
        os.close(write)


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
