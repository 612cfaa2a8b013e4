// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_scatter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "trace/end_agreement.h"
#include "trace/weighted_quantile.h"

namespace headway::trace {

namespace {

constexpr size_t kSamples = 128;
constexpr size_t kEnough = 6;
constexpr double kTelling = 4;  // times less than the one that tells most

// Half of what the line through most of `ends` rises over the window.
double Rise(std::vector<EndPair> ends) {
  std::sort(ends.begin(), ends.end(), [](const EndPair& a, const EndPair& b) {
    return a.reference != b.reference ? a.reference < b.reference : a.member < b.member;
  });
  const auto span = static_cast<double>(ends.back().reference - ends.front().reference);
  std::vector<EndPair> sample;
  const size_t count = std::min(ends.size(), kSamples);
  for (size_t k = 0; k < count; ++k) sample.push_back(ends[k * ends.size() / count]);
  return std::abs(AgreementOfEnds(sample).slope) * span / 2;
}

double WanderOf(const std::vector<RoundEnd>& ends) {
  constexpr int32_t kAll = 0;
  std::map<int32_t, double> most;
  for (const RoundEnd& e : ends) {
    for (const int32_t size : {kAll, e.clocks}) most[size] = std::max(most[size], e.weight);
  }
  std::map<int32_t, std::vector<EndPair>> telling;
  for (const RoundEnd& e : ends) {
    const auto at = static_cast<Nanos>(e.at);
    for (const int32_t size : {kAll, e.clocks}) {
      if (kTelling * e.weight >= most[size]) telling[size].push_back({at, at + static_cast<Nanos>(e.end)});
    }
  }
  double wander = 0;
  for (auto& [clocks, of_size] : telling) {
    if (of_size.size() >= kEnough) wander = std::max(wander, Rise(std::move(of_size)));
  }
  return wander;
}

// Those that can tell most, where they hold most of all weight: between two hosts whose link is slow one way longer
// operations end apart by as much each time, and there may be many of them.
std::vector<RoundEnd> Telling(const std::vector<RoundEnd>& ends) {
  double most = 0, all = 0, telling = 0;
  for (const RoundEnd& e : ends) most = std::max(most, e.weight);
  std::vector<RoundEnd> out;
  for (const RoundEnd& e : ends) {
    all += e.weight;
    if (kTelling * e.weight < most) continue;
    telling += e.weight;
    out.push_back(e);
  }
  return out.size() >= kEnough && telling * 2 > all ? out : ends;
}

}  // namespace

Scatter ScatterOf(const std::vector<RoundEnd>& all) {
  const std::vector<RoundEnd> ends = Telling(all);
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
  return {std::max(std::abs(low), std::abs(high)), WeightedQuantile(&lasting, 0.5), WanderOf(all)};
}

}  // namespace headway::trace
