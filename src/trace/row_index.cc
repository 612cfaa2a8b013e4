// SPDX-License-Identifier: Apache-2.0
#include "trace/row_index.h"

#include <algorithm>

#include "base/parallel.h"

namespace headway::trace {

bool IsPointToPoint(const RankComms& rank, const CommInstance& row) {
  return IsOneWay(row.op) || rank.groups[static_cast<size_t>(row.local_group)].is_p2p;
}

RowIndex::OfRank RowIndex::Sort(const RankComms& rank, const std::vector<int32_t>& of_local) {
  OfRank out;
  std::vector<int32_t> slice_of_local(of_local.size(), -1);
  for (size_t l = 0; l < of_local.size(); ++l) {
    if (of_local[l] < 0) continue;
    const auto at =
        std::find_if(out.slices.begin(), out.slices.end(), [&](const Slice& s) { return s.group == of_local[l]; });
    slice_of_local[l] = static_cast<int32_t>(at - out.slices.begin());
    if (at == out.slices.end()) out.slices.push_back({.group = of_local[l]});
  }
  std::vector<int32_t> slice(rank.instances.size(), -1);
  for (size_t i = 0; i < rank.instances.size(); ++i) {
    const CommInstance& row = rank.instances[i];
    const auto local = static_cast<size_t>(row.local_group);
    if (row.local_group < 0 || local >= of_local.size()) {
      ++out.unresolved;
    } else if (IsPointToPoint(rank, row)) {
      out.point_to_point.push_back(static_cast<int32_t>(i));
    } else if (slice_of_local[local] < 0) {
      ++out.unresolved;
    } else {
      slice[i] = slice_of_local[local];
      Slice& s = out.slices[static_cast<size_t>(slice[i])];
      ++s.count;
      s.summary.Add(row);
    }
  }
  std::vector<int32_t> fill;
  int32_t total = 0;
  for (Slice& s : out.slices) {
    s.begin = total;
    fill.push_back(total);
    total += s.count;
  }
  out.rows.resize(static_cast<size_t>(total));
  for (size_t i = 0; i < slice.size(); ++i) {
    if (slice[i] >= 0) out.rows[static_cast<size_t>(fill[static_cast<size_t>(slice[i])]++)] = static_cast<int32_t>(i);
  }
  return out;
}

RowIndex::RowIndex(const std::vector<RankComms>& ranks, const GroupTable& table, int threads)
    : ranks_(ranks),
      of_rank_(ParallelMap(ranks.size(), threads, [&](size_t r) { return Sort(ranks[r], table.of_local[r]); })),
      of_group_(table.groups.size()) {
  for (size_t r = 0; r < ranks.size(); ++r) {
    unresolved_ += of_rank_[r].unresolved;
    for (size_t s = 0; s < of_rank_[r].slices.size(); ++s) {
      const Slice& slice = of_rank_[r].slices[s];
      if (slice.count == 0) continue;
      of_group_[static_cast<size_t>(slice.group)].push_back({static_cast<int32_t>(r), static_cast<int32_t>(s)});
    }
  }
}

std::vector<CommSequence> RowIndex::Members(int32_t group, std::vector<SequenceSummary>* summaries) const {
  std::vector<CommSequence> members;
  for (const Place& place : of_group_[static_cast<size_t>(group)]) {
    const auto r = static_cast<size_t>(place.rank_index);
    const Slice& slice = of_rank_[r].slices[static_cast<size_t>(place.slice)];
    const auto rows = std::span<const int32_t>(of_rank_[r].rows)
                          .subspan(static_cast<size_t>(slice.begin), static_cast<size_t>(slice.count));
    members.push_back({&ranks_[r], place.rank_index, rows});
    summaries->push_back(slice.summary);
  }
  return members;
}

}  // namespace headway::trace
