// SPDX-License-Identifier: Apache-2.0
#include "diagnose/rank_intervals.h"

#include <algorithm>

namespace headway::diagnose {

std::vector<Interval> RankIntervals(const Job& job, size_t rank) {
  const pattern::RankPattern& pattern = job.ranks[rank];
  const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[rank])];
  const std::span<const int32_t> collective_of = job.graph.CollectivesOfRows(rank);
  std::vector<Interval> blocked;
  for (size_t i = 0; i < pattern.comms.instances.size(); ++i) {
    const trace::CommInstance& row = pattern.comms.instances[i];
    if (row.exposed <= 0) continue;
    const Nanos end = Align(clock, row.exposed_end);
    const Nanos start = end - row.exposed;
    const int32_t c = collective_of[i];
    const Nanos latest =
        c < 0 ? start : std::clamp(job.graph.collectives[static_cast<size_t>(c)].latest_arrival, start, end);
    if (latest > start) blocked.push_back({start, latest, IntervalKind::kWait, c});
    if (end > latest) blocked.push_back({latest, end, IntervalKind::kTransfer, c});
  }
  std::sort(blocked.begin(), blocked.end(), [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::vector<Interval> out;
  Nanos at = Align(clock, pattern.window_start);
  const Nanos end = Align(clock, pattern.window_end);
  for (Interval interval : blocked) {
    interval.start = std::clamp(interval.start, at, end);
    interval.end = std::clamp(interval.end, at, end);
    if (interval.end <= interval.start) continue;
    if (interval.start > at) out.push_back({at, interval.start, IntervalKind::kOwn, -1});
    out.push_back(interval);
    at = interval.end;
  }
  if (at < end) out.push_back({at, end, IntervalKind::kOwn, -1});
  return out;
}

}  // namespace headway::diagnose
