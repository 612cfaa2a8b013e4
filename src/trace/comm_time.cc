// SPDX-License-Identifier: Apache-2.0
#include "trace/comm_time.h"

#include <algorithm>
#include <utility>

namespace headway::trace {

namespace {

Nanos UnionLength(std::vector<std::pair<Nanos, Nanos>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  Nanos sum = 0, covered = INT64_MIN;
  for (const auto& [start, end] : intervals) {
    const Nanos from = std::max(start, covered);
    if (end <= from) continue;
    sum += end - from;
    covered = end;
  }
  return sum;
}

}  // namespace

std::vector<CommTime> SplitCommTime(const std::vector<RankComms>& ranks, const JobComms& job) {
  std::vector<CommTime> out(ranks.size());
  std::vector<std::vector<Nanos>> transfer(ranks.size());  // of each row
  for (size_t r = 0; r < ranks.size(); ++r) {
    for (const CommInstance& row : ranks[r].instances) transfer[r].push_back(row.end - row.start);
  }
  const auto of = [&transfer](const CollectiveMember& m) -> Nanos& {
    return transfer[static_cast<size_t>(m.rank_index)][static_cast<size_t>(m.instance)];
  };
  for (const Collective& collective : job.collectives) {
    Nanos shortest = INT64_MAX;
    for (const CollectiveMember& m : collective.members) shortest = std::min(shortest, of(m));
    for (const CollectiveMember& m : collective.members) {
      of(m) = shortest;
      ++out[static_cast<size_t>(m.rank_index)].paired;
    }
  }
  for (size_t r = 0; r < ranks.size(); ++r) {
    std::vector<std::pair<Nanos, Nanos>> open, moving;
    for (size_t i = 0; i < ranks[r].instances.size(); ++i) {
      const CommInstance& row = ranks[r].instances[i];
      open.emplace_back(row.start, row.end);
      moving.emplace_back(row.end - transfer[r][i], row.end);
    }
    out[r].open = UnionLength(std::move(open));
    out[r].transfer = UnionLength(std::move(moving));
  }
  return out;
}

}  // namespace headway::trace
