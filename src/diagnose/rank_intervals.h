// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

enum class IntervalKind : uint8_t { kOwn, kWait, kTransfer };

// What a rank did from `start` to `end` (aligned clock): own time, waiting for the latest member of a collective, or
// moving data. `collective` of the last two: index, -1 = an operation that was not paired.
struct Interval {
  Nanos start = 0;
  Nanos end = 0;
  IntervalKind kind = IntervalKind::kOwn;
  int32_t collective = -1;
};

// The rank's window cut into intervals, in order, without gaps. O(n log n) in its communication rows.
[[nodiscard]] std::vector<Interval> RankIntervals(const Job& job, size_t rank);

}  // namespace headway::diagnose
