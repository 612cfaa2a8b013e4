// SPDX-License-Identifier: Apache-2.0
// How long a rank communicated, and how much of it was waiting for others.
#pragma once

#include <vector>

#include "trace/comm.h"

namespace headway::trace {

struct CommTime {
  Nanos open = 0;      // an operation was open
  Nanos transfer = 0;  // one of them moved data
  int64_t paired = 0;  // rows whose operation other ranks show, too; without any, waiting is not known
  [[nodiscard]] Nanos waiting() const { return open - transfer; }
};

// By rank index, over all rows, by interval union. Of an operation that ranks did together the last part moved data, as
// long as the shortest time a member spent in it: the member that came last waited for nobody. Durations only, so no
// clock matters. Rows that were not paired count as transfer. O(n log n) in rows.
[[nodiscard]] std::vector<CommTime> SplitCommTime(const std::vector<RankComms>& ranks, const JobComms& job);

}  // namespace headway::trace
