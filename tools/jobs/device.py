# SPDX-License-Identifier: Apache-2.0
"""An emulated accelerator: a host thread that waits for its device, as a sleep.

A rank then needs little CPU, so many ranks fit on few cores and their step times stay quiet.
"""
import time

import torch


class Device:
    """Waits `ms` times the load of a call, longer on a rank whose device is slow; books the excess."""

    def __init__(self, ms, faults):
        self.ms, self.faults = ms, faults

    def wait(self, ms, load):
        begin, wall = time.perf_counter_ns(), time.time_ns()
        factor, why = load, None
        for fault in self.faults.active("slow_device"):
            factor, why = factor * fault.spec["factor"], fault
        if why is None and load > 1.05:
            uneven = self.faults.active("hot_expert") + self.faults.active("long_sequence")
            why = uneven[0] if uneven else None
        time.sleep(ms * factor / 1e3)
        if why:
            why.log.append([self.faults.step, wall, time.perf_counter_ns() - begin - int(ms * 1e6)])


class DeviceWait(torch.autograd.Function):
    """The wait of one block: `device.ms` in the forward, twice that in the backward."""

    @staticmethod
    def forward(ctx, x, device, load):
        ctx.device, ctx.load = device, load
        device.wait(device.ms, load)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        ctx.device.wait(2 * ctx.device.ms, ctx.load)
        return g, None, None


def on_device(x, device, load=1.0):
    return DeviceWait.apply(x, device, load) if device.ms else x
