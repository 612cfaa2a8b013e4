// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/job.h"
#include "replay/segment_replay.h"

namespace headway::diagnose {

// Takes `amount[s]` (by axis step, 0 = nothing) off the own time of `rank`, where it is longer than its peers': the
// pieces between two arrivals are compared with the same pieces of `peers` in the same step, and give what their excess
// has above a threshold, the same for all, above which it adds up to the amount (soft thresholding: what is noise gives
// nothing). Where the pieces cannot be compared (no peers, or another number of arrivals) they give in proportion to
// their length. O(n log n) in the marks of the rank and its peers.
void RemoveOwnTime(const Job& job, size_t rank, const std::vector<size_t>& peers, const std::vector<Nanos>& amount,
                   replay::SegmentEdit* edit);

}  // namespace headway::diagnose
