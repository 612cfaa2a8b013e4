// SPDX-License-Identifier: Apache-2.0
#include "trace/lane_runs.h"

#include <algorithm>

#include "trace/row_index.h"

namespace headway::trace {
namespace {

constexpr int32_t kThreadsOfGroup = 2;

// Rows of every unresolved lane, by local group.
std::vector<std::vector<int32_t>> RowsOfLanes(const RankComms& rank, const std::vector<int32_t>& of_local,
                                              bool device) {
  std::vector<std::vector<int32_t>> rows(rank.groups.size());
  const auto wanted = [&](size_t local) {
    const LocalGroup& group = rank.groups[local];
    return of_local[local] < 0 && group.is_device == device && !group.is_p2p;
  };
  bool any = false;
  for (size_t l = 0; l < rank.groups.size(); ++l) any = any || wanted(l);
  if (!any) return rows;
  for (size_t i = 0; i < rank.instances.size(); ++i) {
    const CommInstance& row = rank.instances[i];
    const auto local = static_cast<size_t>(row.local_group);
    if (row.local_group < 0 || local >= rank.groups.size() || !wanted(local) || IsPointToPoint(rank, row)) continue;
    rows[local].push_back(static_cast<int32_t>(i));
  }
  return rows;
}

LaneRun MakeRun(const RankLanes& lanes, const std::vector<std::vector<int32_t>>& rows, int32_t first, int32_t count) {
  LaneRun run{.first = first, .count = count};
  for (int32_t l = first; l < first + count; ++l) {
    const auto& of_lane = rows[static_cast<size_t>(lanes.locals[static_cast<size_t>(l)])];
    run.rows.insert(run.rows.end(), of_lane.begin(), of_lane.end());
  }
  std::sort(run.rows.begin(), run.rows.end());
  int32_t turns = 0;
  const auto& instances = lanes.rank->instances;
  for (size_t i = 1; i < run.rows.size(); ++i) {
    const auto lane = [&](size_t k) { return instances[static_cast<size_t>(run.rows[k])].local_group; };
    turns += lane(i) != lane(i - 1) ? 1 : 0;
  }
  if (run.rows.size() > 1) run.alternation = static_cast<double>(turns) / static_cast<double>(run.rows.size() - 1);
  return run;
}

}  // namespace

std::vector<RankLanes> CollectLanes(const std::vector<RankComms>& ranks, const GroupTable& table, bool device) {
  std::vector<RankLanes> out(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) {
    RankLanes& lanes = out[r];
    lanes.rank = &ranks[r];
    lanes.rank_index = static_cast<int32_t>(r);
    lanes.is_device = device;
    const auto rows = RowsOfLanes(ranks[r], table.of_local[r], device);
    for (size_t l = 0; l < rows.size(); ++l) {
      if (!rows[l].empty()) lanes.locals.push_back(static_cast<int32_t>(l));
    }
    const auto tid = [&](int32_t local) { return ranks[r].groups[static_cast<size_t>(local)].lane_tid; };
    std::stable_sort(lanes.locals.begin(), lanes.locals.end(), [&](int32_t a, int32_t b) { return tid(a) < tid(b); });
    const auto& made = ranks[r].runloop_tids;
    for (const int32_t local : lanes.locals) {
      const auto at = std::find(made.begin(), made.end(), tid(local));
      lanes.made_place.push_back(at == made.end() ? -1 : static_cast<int32_t>(at - made.begin()));
    }
    const auto count = static_cast<int32_t>(lanes.locals.size());
    for (int32_t first = 0; first < count; ++first) {
      for (int32_t n = 1; n <= (device ? 1 : kThreadsOfGroup) && first + n <= count; ++n) {
        lanes.runs.push_back(MakeRun(lanes, rows, first, n));
      }
    }
  }
  return out;
}

}  // namespace headway::trace
