// SPDX-License-Identifier: Apache-2.0
// The rows of every rank sorted into the groups of the job: 4 bytes a row.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/comm.h"
#include "trace/comm_sequence.h"
#include "trace/group_table.h"

namespace headway::trace {

// True for sends and receives that one rank exchanges with one other.
[[nodiscard]] bool IsPointToPoint(const RankComms& rank, const CommInstance& row);

class RowIndex {
 public:
  RowIndex(const std::vector<RankComms>& ranks, const GroupTable& table);

  // The members of a group that have rows, by rank; their collective rows in order of start.
  [[nodiscard]] std::vector<CommSequence> Members(int32_t group) const;
  // Point-to-point rows of a rank, in order of start, whatever their group.
  [[nodiscard]] const std::vector<int32_t>& PointToPoint(int32_t rank_index) const {
    return point_to_point_[static_cast<size_t>(rank_index)];
  }
  [[nodiscard]] int64_t unresolved() const { return unresolved_; }  // rows whose group is not known

 private:
  struct Slice {
    int32_t rank_index = 0;
    int32_t begin = 0;
    int32_t count = 0;
  };
  const std::vector<RankComms>& ranks_;
  std::vector<std::vector<int32_t>> rows_;  // per rank, group by group
  std::vector<std::vector<int32_t>> point_to_point_;
  std::vector<std::vector<Slice>> of_group_;
  int64_t unresolved_ = 0;
};

}  // namespace headway::trace
