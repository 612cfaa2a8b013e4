// SPDX-License-Identifier: Apache-2.0
#include "diagnose/when.h"

#include <algorithm>
#include <numeric>

namespace headway::diagnose {

report::When ClassifyWhen(std::span<const Nanos> cost, std::span<const int64_t> steps) {
  report::When when;
  std::vector<size_t> struck;
  Nanos total = 0, worst = 0;
  for (size_t s = 0; s < cost.size(); ++s) {
    if (cost[s] <= 0) continue;
    struck.push_back(s);
    total += cost[s];
    worst = std::max(worst, cost[s]);
  }
  for (const size_t s : struck) when.steps.push_back(steps[s]);
  if (cost.size() >= 3 && worst * 10 >= total * 8) {
    when.kind = report::WhenKind::kOnce;
    when.steps.clear();
    for (const size_t s : struck) {
      if (cost[s] == worst) when.steps.push_back(steps[s]);
    }
    return when;
  }
  const size_t n = cost.size();
  const bool rests_before = !struck.empty() && struck.front() >= 2;
  const size_t after = struck.empty() ? 0 : n - struck.front();
  if (rests_before && after >= 3 && struck.size() * 10 >= after * 8) {
    when.kind = report::WhenKind::kOnset;
    when.steps.resize(1);
  } else if (struck.size() * 4 >= n * 3) {
    when.kind = report::WhenKind::kPersistent;
  } else {
    when.kind = report::WhenKind::kIntermittent;
  }
  return when;
}

}  // namespace headway::diagnose
