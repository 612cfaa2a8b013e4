// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/job.h"
#include "replay/segment_replay.h"

namespace headway::diagnose {

// Takes `amount[s]` (by axis step, 0 = nothing) off the own time of `rank` where in the step its device waited for its
// host (Step::behind_host): a host that was stopped at the end of a step starts level with its device, and most waits
// come before it is ahead. Each slice gives in proportion to its waits, from the pieces of own time in it, no more than
// they have. Returns the amounts of the steps that do not say where, which are left as they are. O(marks of the rank).
[[nodiscard]] std::vector<Nanos> RemoveWaitsForHost(const Job& job, size_t rank, const std::vector<Nanos>& amount,
                                                    replay::SegmentEdit* edit);

}  // namespace headway::diagnose
