// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_functions.h"

#include <cstdlib>
#include <map>
#include <string_view>

#include "diagnose/call_times.h"
#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

struct Total {
  Nanos time = 0;
  int64_t calls = 0;
};
using Totals = std::map<std::string_view, Total>;

constexpr int kLeastFunctions = 4;

Totals TotalsOf(const pattern::RankPattern& rank) {
  Totals out;
  for (size_t f = 0; f < rank.functions.size(); ++f) {
    const pattern::FunctionName& name = (*rank.function_table)[f];
    if (!IsHostsOwn(name)) continue;
    out[name.name].time += rank.functions[f].total;
    out[name.name].calls += rank.functions[f].calls;
  }
  return out;
}

// Of all peers; one that lacks the function takes no time in it.
Total MiddleOf(const std::vector<Totals>& peers, std::string_view name) {
  std::vector<Nanos> times, calls;
  for (const Totals& peer : peers) {
    const auto it = peer.find(name);
    times.push_back(it == peer.end() ? 0 : it->second.time);
    calls.push_back(it == peer.end() ? 0 : it->second.calls);
  }
  return {Median(std::move(times)), Median(std::move(calls))};
}

// The sum of what the device hides stands for the many functions it is made of, where ranks call as many of them.
bool StandsForMany(std::string_view name, const Total& mine, const Total& peers) {
  return name == kSummedUp && std::abs(mine.calls - peers.calls) * 20 <= peers.calls;
}

}  // namespace

bool IsHostsOwn(const pattern::FunctionName& function) {
  const WorkClass c = function.work_class;
  const bool of_host = c == WorkClass::kHost || c == WorkClass::kRuntime || c == WorkClass::kInput;
  const bool may_wait = function.name.find("Synchronize") != std::string::npos ||
                        (c == WorkClass::kRuntime && function.name == kSummedUp);
  return of_host && !may_wait;
}

HostProportion CompareHosts(const Job& job, size_t rank, const std::vector<size_t>& peers) {
  const Totals mine = TotalsOf(job.ranks[rank]);
  std::vector<Totals> others;
  for (const size_t p : peers) others.push_back(TotalsOf(job.ranks[p]));
  std::map<std::string_view, Total> expected;
  Nanos here = 0, there = 0;
  for (const auto& [name, total] : mine) {
    expected[name] = MiddleOf(others, name);
    if (expected[name].time == 0) continue;
    here += total.time;
    there += expected[name].time;
  }
  HostProportion out;
  if (there <= 0) return out;
  out.ratio = static_cast<double>(here) / static_cast<double>(there);
  Nanos large = 0, alike = 0;
  int functions = 0;
  for (const auto& [name, peers_total] : expected) {
    if (peers_total.time * 100 < there) continue;
    const Total& total = mine.at(name);
    const double ratio = static_cast<double>(total.time) / static_cast<double>(peers_total.time);
    functions += StandsForMany(name, total, peers_total) ? kLeastFunctions : 1;
    large += peers_total.time;
    if (ratio - 1 >= (out.ratio - 1) / 2) alike += peers_total.time;
  }
  out.is_throughout = functions >= kLeastFunctions && out.ratio > 1.1 && alike * 4 >= large * 3;
  return out;
}

}  // namespace headway::diagnose
