// SPDX-License-Identifier: Apache-2.0
#include "diagnose/call_times.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/median.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

constexpr std::string_view kSummedUp = "(other)";
constexpr int64_t kLeastCalls = 4;
constexpr size_t kLeastFunctions = 2;

bool IsOfHost(const pattern::RankPattern& rank, WorkClass c) {
  return c == WorkClass::kHost || c == WorkClass::kRuntime || c == WorkClass::kInput ||
         (!rank.has_device && c == WorkClass::kCompute);
}

}  // namespace

CallTimes TimesOfCalls(const pattern::RankPattern& rank) {
  std::map<std::string_view, std::pair<Nanos, int64_t>> sums;
  for (size_t f = 0; f < rank.functions.size(); ++f) {
    const pattern::FunctionName& name = (*rank.function_table)[f];
    const bool may_wait = name.name.find("Synchronize") != std::string::npos ||
                          (name.name == kSummedUp && name.work_class != WorkClass::kHost);
    if (!IsOfHost(rank, name.work_class) || may_wait) continue;
    sums[name.name].first += rank.functions[f].total;
    sums[name.name].second += rank.functions[f].calls;
  }
  CallTimes out;
  for (const auto& [name, sum] : sums) {
    if (sum.second >= kLeastCalls) out[name] = static_cast<double>(sum.first) / static_cast<double>(sum.second);
  }
  return out;
}

CallRatio CompareCalls(const CallTimes& mine, const std::vector<const CallTimes*>& others) {
  std::vector<double> ratios;
  double summed_up = 0;
  for (const auto& [name, time] : mine) {
    std::vector<double> there;
    for (const CallTimes* other : others) {
      if (const auto it = other->find(name); it != other->end()) there.push_back(it->second);
    }
    if (there.empty()) continue;
    ratios.push_back(time / std::max(1.0, LowerMedian(&there)));
    if (name == kSummedUp) summed_up = ratios.back();
  }
  CallRatio out;
  out.functions = ratios.size();
  if (ratios.size() < kLeastFunctions) return out;
  out.ratio = LowerMedian(&ratios);
  const double half = (out.ratio - 1) / 2;
  const auto alike = std::count_if(ratios.begin(), ratios.end(), [&](double r) { return r - 1 >= half; });
  const bool hidden_too = summed_up == 0 || summed_up - 1 >= half;
  out.alike = hidden_too && static_cast<size_t>(alike) * 4 >= ratios.size() * 3;
  return out;
}

}  // namespace headway::diagnose
