// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_scatter.h"

#include <algorithm>
#include <cmath>

#include "trace/weighted_quantile.h"

namespace headway::trace {

Scatter ScatterOf(const std::vector<RoundEnd>& ends) {
  std::vector<Weighted> spreads, tight, lasting;
  for (const RoundEnd& e : ends) spreads.push_back({e.spread, e.weight});
  const double middle = WeightedQuantile(&spreads, 0.5);
  const double limit = std::min(WeightedQuantile(&spreads, 0.75), 1.5 * middle);
  for (const RoundEnd& e : ends) {
    if (e.spread > limit) continue;
    tight.push_back({e.end, e.weight});
    lasting.push_back({e.lasting, e.weight});
  }
  const double low = WeightedQuantile(&tight, 0.05), high = WeightedQuantile(&tight, 0.95);
  return {std::max(std::abs(low), std::abs(high)), WeightedQuantile(&lasting, 0.5)};
}

}  // namespace headway::trace
