// SPDX-License-Identifier: Apache-2.0
// What a host takes to hand in collectives. Beside a device it is hidden; without one it is time of the rank.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/job.h"
#include "replay/segment_replay.h"

namespace headway::diagnose {

// Mean own time of a call of the framework that hands in such an operation ("c10d::allreduce_"), with what it calls; 0
// where the rank has a device, or no such call was recorded. O(functions of the rank).
[[nodiscard]] Nanos HandingInOf(const Job& job, size_t rank, trace::CommOp op);

// Takes the share `fewer[c]` (by collective) of `each` off the rank's own time before it arrives in collective c.
// O(marks of the rank).
void RemoveBeforeArrivals(const Job& job, size_t rank, const std::vector<double>& fewer, Nanos each,
                          replay::SegmentEdit* edit);

}  // namespace headway::diagnose
