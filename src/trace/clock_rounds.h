// SPDX-License-Identifier: Apache-2.0
// What operations across hosts tell of their clocks, as rounds for the fit (clock_fit.h).
#pragma once

#include <cstdint>
#include <vector>

#include "trace/clock_fit.h"
#include "trace/comm.h"

namespace headway::trace {

// One round per operation whose members end together, with the median end of each host; sends and receives of a host
// backend give their delays instead (clock_delays.h) where a pair of hosts has both directions. At most about a million
// ends are read, spread over groups and window by a fixed rule. `collectives`: those of one group in a row.
[[nodiscard]] ClockRounds CollectRounds(const std::vector<RankComms>& ranks, const std::vector<Collective>& collectives,
                                        const std::vector<int32_t>& clock_of_rank);

}  // namespace headway::trace
