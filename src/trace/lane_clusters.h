// SPDX-License-Identifier: Apache-2.0
// Groups of lanes where no file declares any: from sequences that match and operations that overlap.
#pragma once

#include <vector>

#include "trace/group_table.h"
#include "trace/lane_runs.h"

namespace headway::trace {

// Adds groups (inferred = true) to `table` and sets of_local for the lanes of ranks that no declaration speaks of. The
// k-th lane (pair of threads) of one rank is taken to do the same work as the k-th of the others with as many lanes;
// among them the largest even partition of the ranks in which members always overlap gives the groups. Returns how many
// lanes were assigned. At most quadratic in ranks, with a bound: above kMostClustered ranks only the world is tried.
int64_t ClusterLanes(const std::vector<RankLanes>& lanes, int world_size, const ClockOffset& offset, GroupTable* table);

inline constexpr size_t kMostClustered = 2048;

}  // namespace headway::trace
