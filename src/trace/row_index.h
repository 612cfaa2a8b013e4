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
  // Reads every row once.
  RowIndex(const std::vector<RankComms>& ranks, const GroupTable& table, int threads);

  // The members of a group that have rows, by rank; their collective rows in order of start. `summaries` is parallel.
  [[nodiscard]] std::vector<CommSequence> Members(int32_t group, std::vector<SequenceSummary>* summaries) const;
  // Point-to-point rows of a rank, in order of start, whatever their group.
  [[nodiscard]] const std::vector<int32_t>& PointToPoint(int32_t rank_index) const {
    return of_rank_[static_cast<size_t>(rank_index)].point_to_point;
  }
  [[nodiscard]] int64_t unresolved() const { return unresolved_; }  // rows whose group is not known

 private:
  struct Slice {
    int32_t group = -1;
    int32_t begin = 0;
    int32_t count = 0;
    SequenceSummary summary;
  };
  struct OfRank {
    std::vector<int32_t> rows;  // group by group
    std::vector<Slice> slices;
    std::vector<int32_t> point_to_point;
    int64_t unresolved = 0;
  };
  struct Place {
    int32_t rank_index = 0;
    int32_t slice = 0;
  };
  static OfRank Sort(const RankComms& rank, const std::vector<int32_t>& of_local);

  const std::vector<RankComms>& ranks_;
  std::vector<OfRank> of_rank_;
  std::vector<std::vector<Place>> of_group_;  // by rank
  int64_t unresolved_ = 0;
};

}  // namespace headway::trace
