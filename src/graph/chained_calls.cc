// SPDX-License-Identifier: Apache-2.0
#include "graph/chained_calls.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace headway::graph {

namespace {

// What lies between the end of one operation and the begin of the next one on its stream.
constexpr Nanos kLargestGap = 20 * kMicrosecond;

struct Predecessor {
  int32_t collective = -1;
  int32_t gap = 0;
};

// By collective of this rank: the one that had to end first.
std::vector<std::pair<int32_t, Predecessor>> Predecessors(const trace::RankComms& comms,
                                                          const std::vector<int32_t>& collective_of,
                                                          const trace::HostClock& clock,
                                                          const std::vector<SegmentCollective>& collectives) {
  std::vector<std::pair<int32_t, Predecessor>> out;
  std::vector<int32_t> last(comms.groups.size(), -1);  // instance
  for (size_t i = 0; i < comms.instances.size(); ++i) {
    const trace::CommInstance& instance = comms.instances[i];
    const int32_t before = std::exchange(last[static_cast<size_t>(instance.local_group)], static_cast<int32_t>(i));
    if (!instance.chained || before < 0 || collective_of[i] < 0) continue;
    const int32_t target = collective_of[static_cast<size_t>(before)];
    const Nanos end = comms.instances[static_cast<size_t>(before)].end;
    if (target < 0 || std::abs(instance.start - end) > kLargestGap) continue;
    const SegmentCollective& c = collectives[static_cast<size_t>(target)];
    const Nanos gap = Align(clock, instance.start) - (c.latest_arrival + c.transfer);
    if (gap < 0) continue;
    out.push_back({collective_of[i], {target, static_cast<int32_t>(std::min<Nanos>(gap, INT32_MAX))}});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

}  // namespace

void ChainCalls(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms,
                const std::vector<std::vector<int32_t>>& collective_of, SegmentGraph* graph) {
  for (size_t r = 0; r < ranks.size(); ++r) {
    const trace::HostClock& clock = comms.clocks[static_cast<size_t>(comms.clock_of_rank[r])];
    const auto before = Predecessors(ranks[r].comms, collective_of[r], clock, graph->collectives);
    if (before.empty()) continue;
    for (size_t m = graph->chain_begin[r]; m < graph->chain_begin[r + 1]; ++m) {
      Mark& mark = graph->marks[m];
      if (mark.kind != MarkKind::kArrive) continue;
      const auto it = std::lower_bound(before.begin(), before.end(), mark.target,
                                       [](const auto& entry, int32_t target) { return entry.first < target; });
      if (it == before.end() || it->first != mark.target) continue;
      mark.after = it->second.collective;
      mark.lag = it->second.gap;
    }
  }
}

}  // namespace headway::graph
