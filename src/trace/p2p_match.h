// SPDX-License-Identifier: Apache-2.0
// Pairs sends with receives: the k-th from a to b with the k-th on b from a. Where no row names its peer, the group
// does (two members), or the neighbours in it, by counts and times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/clock_alignment.h"
#include "trace/comm.h"
#include "trace/group_table.h"

namespace headway::trace {

struct PointToPointMatch {
  std::vector<JobGroup> groups;         // is_p2p; `Collective::group` counts in these
  std::vector<Collective> collectives;  // two members each; one group after the other, by ordinal
  int64_t unmatched = 0;
  std::vector<std::string> notes;
  bool guessed_clocks = false;  // neighbours were told apart without knowing how their clocks lie
};

// `rows` = every rank's sends and receives, in order of start, and its send/receive kernels that pair with neighbours.
[[nodiscard]] PointToPointMatch MatchPointToPoint(const std::vector<RankComms>& ranks, const GroupTable& table,
                                                  const ClockAlignment& clocks,
                                                  const std::vector<std::vector<int32_t>>& rows);

}  // namespace headway::trace
