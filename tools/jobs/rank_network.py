# SPDX-License-Identifier: Apache-2.0
"""A network namespace per rank on one bridge, and limits on what a rank can send."""
import os
import shutil
import subprocess

INTERFACE = "ve"


def unavailable():
    """Why rank networks cannot be made here, or None."""
    missing = [tool for tool in ("ip", "tc") if not shutil.which(tool)]
    if missing:
        return f"needs the programs {' and '.join(missing)} (package iproute2)"
    if os.geteuid() != 0:
        return "needs root, to make network namespaces"
    name = f"hwprobe{os.getpid()}"
    made = _run("ip", "netns", "add", name, check=False)
    if made.returncode:
        return f"network namespaces cannot be made here: {made.stderr.strip()}"
    _run("ip", "netns", "del", name)
    return None


class RankNetwork:
    """Context manager.  limits: {rank or "all": rate in tc's notation, such as "200mbit"}, a token
    bucket filter on the rank's own interface, so on what it sends."""

    def __init__(self, ranks, limits):
        self.ranks, self.limits, self.tag = ranks, limits, f"hw{os.getpid() % 100000}"
        self.address = "10.77.0.1"  # of rank 0

    def prefix(self, rank):
        """Words that run a command in the namespace of a rank."""
        return ["ip", "netns", "exec", f"{self.tag}n{rank}"]

    def __enter__(self):
        try:
            _run("ip", "link", "add", f"{self.tag}br", "type", "bridge")
            _run("ip", "link", "set", f"{self.tag}br", "up")
            for rank in range(self.ranks):
                self._add(rank)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _add(self, rank):
        space, outer = f"{self.tag}n{rank}", f"{self.tag}h{rank}"
        _run("ip", "netns", "add", space)
        _run("ip", "link", "add", outer, "type", "veth", "peer", "name", INTERFACE, "netns", space)
        _run("ip", "link", "set", outer, "master", f"{self.tag}br", "up")
        _run("ip", "-n", space, "addr", "add", f"10.77.0.{rank + 1}/24", "dev", INTERFACE)
        _run("ip", "-n", space, "link", "set", INTERFACE, "up")
        _run("ip", "-n", space, "link", "set", "lo", "up")
        rate = self.limits.get(rank, self.limits.get("all"))
        if rate:
            _run(*self.prefix(rank), "tc", "qdisc", "add", "dev", INTERFACE, "root", "tbf",
                 "rate", rate, "burst", "64kb", "latency", "200ms")

    def __exit__(self, *why):
        for rank in range(self.ranks):
            _run("ip", "netns", "del", f"{self.tag}n{rank}", check=False)
        _run("ip", "link", "del", f"{self.tag}br", check=False)


def _run(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True)
