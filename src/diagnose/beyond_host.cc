// SPDX-License-Identifier: Apache-2.0
#include "diagnose/beyond_host.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "diagnose/excess.h"
#include "diagnose/when.h"

namespace headway::diagnose {

std::optional<Candidate> TakeBeyondHost(const Job& job, const std::vector<std::vector<Nanos>>& others,
                                        Candidate* candidate) {
  constexpr size_t kEnough = 2;
  constexpr Nanos kFar = 2;
  if (others.size() < kEnough || job.ranks.front().has_device) return std::nullopt;
  std::vector<Nanos> common(candidate->excess.size(), 0);
  for (size_t s = 0; s < common.size(); ++s) {
    std::vector<Nanos> theirs;
    for (const std::vector<Nanos>& other : others) theirs.push_back(other[s]);
    common[s] = std::min(candidate->excess[s], Median(std::move(theirs)));
  }
  const Nanos all = std::accumulate(candidate->excess.begin(), candidate->excess.end(), Nanos{0});
  const Nanos of_host = std::accumulate(common.begin(), common.end(), Nanos{0});
  if (of_host <= 0 || all < kFar * of_host) return std::nullopt;
  Candidate beyond = *candidate;
  for (size_t s = 0; s < common.size(); ++s) beyond.excess[s] -= common[s];
  const double share = static_cast<double>(of_host) / static_cast<double>(all);
  for (size_t i = 0; i < candidate->edit.own.size(); ++i) {
    const Nanos measured = job.graph.marks[candidate->edit.own[i].mark].Own();
    const Nanos less = measured - candidate->edit.own[i].own;
    const auto less_by_host = static_cast<Nanos>(share * static_cast<double>(less));
    candidate->edit.own[i].own = measured - less_by_host;
    beyond.edit.own[i].own = measured - (less - less_by_host);
  }
  candidate->excess = std::move(common);
  beyond.finding.id += "-beyond-host";
  beyond.is_beyond_host = true;
  const auto struck = std::count_if(beyond.excess.begin(), beyond.excess.end(), [](Nanos x) { return x > 0; });
  beyond.finding.sentence += " Of that " + FormatDuration((all - of_host) / std::max<Nanos>(1, struck)) +
                             " a step are beyond what all ranks of its host take longer.";
  beyond.finding.when = ClassifyWhen(beyond.excess, job.steps);
  return beyond;
}

}  // namespace headway::diagnose
