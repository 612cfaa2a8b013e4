# SPDX-License-Identifier: Apache-2.0
"""Holds processes to a share of one core through the cpu controller of cgroup v1 or v2."""
import os
import time

PERIOD_US = 10000
LEAST_QUOTA_US = 1000  # the kernel refuses less


def controller(root="/sys/fs/cgroup"):
    """(version, folder) of the cpu controller, or (0, why there is none that can be used)."""
    if os.path.exists(f"{root}/cpu/cpu.cfs_quota_us") or os.path.exists(f"{root}/cpu/cpu.shares"):
        found = 1, f"{root}/cpu"
    elif os.path.exists(f"{root}/cgroup.controllers"):
        with open(f"{root}/cgroup.controllers") as f:
            if "cpu" not in f.read().split():
                return 0, "the cpu controller of cgroup v2 is not available here"
        found = 2, root
    else:
        return 0, "no cpu controller of cgroups is mounted"
    if not os.access(found[1], os.W_OK):
        return 0, f"needs root, to make a group under {found[1]}"
    if found[0] == 2:
        try:  # child groups get the controller only if their parent hands it on
            _write(f"{root}/cgroup.subtree_control", "+cpu")
        except OSError as error:
            return 0, f"cgroup v2 does not hand on the cpu controller here: {error.strerror}"
    return found


def unavailable(root="/sys/fs/cgroup"):
    """Why quotas cannot be set here, or None."""
    version, reason = controller(root)
    return None if version else reason


class CpuQuota:
    """Context manager that removes its groups at the end; the processes must have ended by then."""

    def __init__(self, root="/sys/fs/cgroup"):
        self.version, self.folder = controller(root)
        self.groups = []

    def __enter__(self):
        return self

    def hold(self, pid, percent):
        """Gives the process at most `percent` of one core from now on."""
        group = f"{self.folder}/hwquota{os.getpid()}-{pid}"
        os.makedirs(group, exist_ok=True)
        self.groups.append(group)
        quota = max(LEAST_QUOTA_US, round(PERIOD_US * percent / 100))
        period = round(quota * 100 / percent)
        if self.version == 1:
            _write(f"{group}/cpu.cfs_period_us", str(period))
            _write(f"{group}/cpu.cfs_quota_us", str(quota))
        else:
            _write(f"{group}/cpu.max", f"{quota} {period}")
        _write(f"{group}/cgroup.procs", str(pid))

    def __exit__(self, *why):
        for group in self.groups:
            for _ in range(20):
                try:
                    os.rmdir(group)
                    break
                except OSError:  # the kernel takes a moment to see its processes gone
                    time.sleep(0.1)


def _write(path, text):
    with open(path, "w") as f:
        f.write(text)
