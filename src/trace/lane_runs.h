// SPDX-License-Identifier: Apache-2.0
// The lanes of a rank whose group no name settles, and the runs of neighbouring lanes that may be one group: a gloo
// group works on two threads made one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/comm.h"
#include "trace/comm_sequence.h"
#include "trace/group_table.h"

namespace headway::trace {

struct LaneRun {
  int32_t first = 0;  // lanes first … first + count - 1 of RankLanes::locals
  int32_t count = 1;
  std::vector<int32_t> rows;  // of all of them, in order of start
  double alternation = 0;     // share of neighbouring rows that lie on different lanes (two threads take turns)
};

struct RankLanes {
  const RankComms* rank = nullptr;
  int32_t rank_index = -1;
  bool is_device = false;
  std::vector<int32_t> locals;      // local groups without name that have rows, by thread id or stream
  std::vector<int32_t> made_place;  // host lanes: place among all communication threads seen; -1 = not among them
  std::vector<LaneRun> runs;

  [[nodiscard]] CommSequence Sequence(const LaneRun& run) const { return {rank, rank_index, run.rows}; }
};

// Unresolved collective lanes of every rank, host threads (or device streams) only. Single lanes and, on the host,
// pairs of neighbours become runs. Parallel to `ranks`; a rank without such lanes has none.
[[nodiscard]] std::vector<RankLanes> CollectLanes(const std::vector<RankComms>& ranks, const GroupTable& table,
                                                  bool device);

}  // namespace headway::trace
