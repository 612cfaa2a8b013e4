# SPDX-License-Identifier: Apache-2.0
"""The process groups of a mesh job, with what a trace does not tell about them."""
import os
import time

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


class MeshGroups:
    """Groups by dimension ("world", those of the mesh, "ep"), the threads that serve each of them
    and this rank's coordinate."""

    def __init__(self, sizes, with_experts):
        """sizes: {dimension: ranks}, the slowest dimension first; dimensions of one rank have no group."""
        self.dims = [d for d in sizes if sizes[d] > 1]
        seen = _gloo_threads()
        self.threads = {"world": sorted(seen)}
        self.groups = {"world": dist.group.WORLD}
        self.mesh = init_device_mesh("cpu", tuple(sizes[d] for d in self.dims), mesh_dim_names=tuple(self.dims))
        new = sorted(_gloo_threads() - seen)
        per_dim = len(new) // len(self.dims)
        for i, d in enumerate(self.dims):
            self.groups[d] = self.mesh.get_group(d)
            if self.groups[d].group_name != self.groups["world"].group_name:
                self.threads[d] = new[i * per_dim:(i + 1) * per_dim]
        if with_experts:
            seen = _gloo_threads()
            self.groups["ep"] = dist.new_group(group_desc="mesh_ep")
            self.threads["ep"] = sorted(_gloo_threads() - seen)
        self.coordinate = dict(zip(self.dims, self.mesh.get_coordinate()))

    def __getitem__(self, dim):
        return self.groups[dim]

    def at(self, dim):
        return self.coordinate.get(dim, 0)

    def describe(self):
        """What a job knows of its groups, as written to groups.<R>.json and into the trace."""
        return {"mesh": {"dim_names": self.dims, "shape": list(self.mesh.mesh.shape),
                         "ranks": self.mesh.mesh.tolist(), "coordinate": self.coordinate},
                "groups": [{"dim": dim, "pg_name": group.group_name, "pg_desc": group.group_desc,
                            "ranks": dist.get_process_group_ranks(group)} for dim, group in self.groups.items()]}


def _gloo_threads():
    """Threads of the groups made so far; they name themselves a moment after their start."""
    time.sleep(0.5)
    out = set()
    for tid in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{tid}/comm") as f:
            if "runloop" in f.read():
                out.add(int(tid))
    return out
