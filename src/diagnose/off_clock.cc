// SPDX-License-Identifier: Apache-2.0
#include "diagnose/off_clock.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/median.h"
#include "base/text.h"
#include "diagnose/step_selection.h"

namespace headway::diagnose {
namespace {

using pattern::RankPattern;

Nanos MedianStep(const RankPattern& rank) {
  std::vector<Nanos> lengths;
  for (const pattern::Step& step : rank.steps) lengths.push_back(step.end - step.start);
  return UpperMedian(std::move(lengths));
}

// In runs whose windows overlap, one after the other.
std::vector<std::vector<RankPattern*>> ByTime(std::vector<RankPattern*> ranks) {
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const auto* a, const auto* b) { return a->window_start < b->window_start; });
  std::vector<std::vector<RankPattern*>> out;
  Nanos end = INT64_MIN;
  for (RankPattern* rank : ranks) {
    if (out.empty() || rank->window_start > end) out.emplace_back();
    out.back().push_back(rank);
    end = std::max(end, rank->window_end);
  }
  return out;
}

// By how much steps of captures at other times may differ: jobs are not as fast at all times.
bool LastsAsLong(Nanos step, Nanos others) { return step * 4 <= others * 5 && others * 4 <= step * 5; }

}  // namespace

std::string DropOffClock(std::vector<RankPattern>* ranks) {
  std::map<std::string, std::vector<RankPattern*>> hosts;
  for (RankPattern& rank : *ranks) {
    if (rank.comms.host_known && !rank.steps.empty()) hosts[rank.comms.host].push_back(&rank);
  }
  std::vector<RankId> off;
  double ratio = 1;
  for (const auto& [host, members] : hosts) {
    std::vector<std::vector<RankPattern*>> captures = ByTime(members);
    const auto most = std::max_element(captures.begin(), captures.end(),
                                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (most->size() * 2 <= members.size()) continue;
    std::vector<Nanos> lengths;
    for (const RankPattern* rank : *most) lengths.push_back(MedianStep(*rank));
    const Nanos usual = UpperMedian(std::move(lengths));
    for (const std::vector<RankPattern*>& capture : captures) {
      if (&capture == &*most) continue;
      for (RankPattern* rank : capture) {
        const Nanos step = MedianStep(*rank);
        if (usual <= 0 || LastsAsLong(step, usual)) continue;
        if (off.empty()) ratio = static_cast<double>(step) / static_cast<double>(usual);
        off.push_back(rank->meta.rank);
        SelectSteps(1, 0, rank);
        rank->log.Add(trace::ProblemKind::kDropped, kClockTellsNothing);
      }
    }
  }
  if (off.empty()) return {};
  std::sort(off.begin(), off.end());
  const bool one = off.size() == 1;
  return std::string(one ? "the clock of rank " : "the clocks of ranks ") + FormatRanks(off, 6) +
         (one ? " tells nothing: it was" : " tell nothing: they were") +
         " recorded at another time than the rest of the host, and a step lasts " + FormatRatio(ratio) +
         " as long there";
}

}  // namespace headway::diagnose
