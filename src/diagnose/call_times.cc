// SPDX-License-Identifier: Apache-2.0
#include "diagnose/call_times.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/median.h"
#include "diagnose/host_functions.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

constexpr int64_t kLeastCalls = 4;
constexpr size_t kLeastFunctions = 2;

// Of sums over pruned functions only the host's own hold calls of all kinds; those of operators are what a stage has of
// small ones.
bool Counts(const pattern::RankPattern& rank, const pattern::FunctionName& name) {
  const bool is_work = !rank.has_device && name.work_class == WorkClass::kCompute;
  if (name.name == kSummedUp) return name.work_class == WorkClass::kHost;
  return is_work || IsHostsOwn(name);
}

using Sums = std::map<std::string_view, std::pair<Nanos, int64_t>>;  // time, calls

template <typename Wanted>
Sums SumsOf(const pattern::RankPattern& rank, const Wanted& wanted) {
  Sums out;
  for (size_t f = 0; f < rank.functions.size(); ++f) {
    const pattern::FunctionName& name = (*rank.function_table)[f];
    if (!wanted(name)) continue;
    auto& [time, calls] = out[name.name];
    time += rank.functions[f].total;
    calls += rank.functions[f].calls;
  }
  return out;
}

CallTimes Means(const Sums& sums, Nanos least) {
  CallTimes out;
  for (const auto& [name, sum] : sums) {
    const auto& [time, calls] = sum;
    if (calls >= kLeastCalls && time >= least) out[name] = static_cast<double>(time) / static_cast<double>(calls);
  }
  return out;
}

}  // namespace

CallTimes TimesOfCalls(const pattern::RankPattern& rank) {
  return Means(SumsOf(rank, [&](const pattern::FunctionName& name) { return Counts(rank, name); }), 0);
}

namespace {

CallTimes TimesOfWork(const pattern::RankPattern& rank) {
  const Sums sums = SumsOf(rank, [](const pattern::FunctionName& name) {
    return name.work_class == WorkClass::kCompute && name.name != kSummedUp;
  });
  Nanos all = 0;
  for (const auto& [name, sum] : sums) all += sum.first;
  return Means(sums, all / 100);
}

}  // namespace

CallTimes TimesOfKernels(const pattern::RankPattern& rank) { return rank.has_device ? TimesOfWork(rank) : CallTimes(); }

CallTimes TimesOfOperators(const pattern::RankPattern& rank) {
  return rank.has_device ? CallTimes() : TimesOfWork(rank);
}

CallTimes TimesAmong(const std::vector<CallTimes>& ranks, double share, size_t least) {
  std::map<std::string_view, std::vector<double>> values;
  for (const CallTimes& rank : ranks) {
    for (const auto& [name, time] : rank) values[name].push_back(time);
  }
  CallTimes out;
  for (auto& [name, times] : values) {
    if (times.size() < least) continue;
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
    std::nth_element(times.begin(), at, times.end());
    out[name] = *at;
  }
  return out;
}

CallRatio CompareCalls(const CallTimes& mine, const CallTimes& reference) {
  std::vector<double> ratios;
  double summed_up = 0;
  for (const auto& [name, time] : mine) {
    const auto it = reference.find(name);
    if (it == reference.end()) continue;
    ratios.push_back(time / std::max(1.0, it->second));
    if (name == kSummedUp) summed_up = ratios.back();
  }
  CallRatio out;
  out.functions = ratios.size();
  if (ratios.empty() || (ratios.size() < kLeastFunctions && summed_up == 0)) return out;
  out.ratio = LowerMedian(&ratios);
  const double half = (out.ratio - 1) / 2;
  const auto alike = std::count_if(ratios.begin(), ratios.end(), [&](double r) { return r - 1 >= half; });
  const bool hidden_too = summed_up == 0 || summed_up - 1 >= half;
  out.alike = hidden_too && static_cast<size_t>(alike) * 4 >= ratios.size() * 3;
  return out;
}

double RatioOf(const CallTimes& mine, const CallTimes& reference, std::string_view function) {
  const auto here = mine.find(function), there = reference.find(function);
  return here == mine.end() || there == reference.end() ? 0 : here->second / std::max(1.0, there->second);
}

}  // namespace headway::diagnose
