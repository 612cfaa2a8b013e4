// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_functions.h"

#include <map>
#include <string_view>

#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;
using Totals = std::map<std::string_view, Nanos>;

Totals TotalsOf(const pattern::RankPattern& rank) {
  Totals out;
  for (size_t f = 0; f < rank.functions.size(); ++f) {
    const pattern::FunctionName& name = (*rank.function_table)[f];
    if (IsHostsOwn(name)) out[name.name] += rank.functions[f].total;
  }
  return out;
}

}  // namespace

bool IsHostsOwn(const pattern::FunctionName& function) {
  const WorkClass c = function.work_class;
  const bool of_host = c == WorkClass::kHost || c == WorkClass::kRuntime || c == WorkClass::kInput;
  const bool may_wait = function.name.find("Synchronize") != std::string::npos ||
                        (c == WorkClass::kRuntime && function.name == "(other)");
  return of_host && !may_wait;
}

HostProportion CompareHosts(const Job& job, size_t rank, const std::vector<size_t>& peers) {
  const Totals mine = TotalsOf(job.ranks[rank]);
  std::vector<Totals> others;
  for (const size_t p : peers) others.push_back(TotalsOf(job.ranks[p]));
  std::map<std::string_view, Nanos> expected;
  Nanos here = 0, there = 0;
  for (const auto& [name, total] : mine) {
    std::vector<Nanos> values;
    for (const Totals& other : others) {
      const auto it = other.find(name);
      values.push_back(it == other.end() ? 0 : it->second);
    }
    expected[name] = Median(std::move(values));
    if (expected[name] == 0) continue;
    here += total;
    there += expected[name];
  }
  HostProportion out;
  if (there <= 0) return out;
  out.ratio = static_cast<double>(here) / static_cast<double>(there);
  Nanos large = 0, alike = 0;
  int functions = 0;
  for (const auto& [name, peers_total] : expected) {
    if (peers_total * 100 < there) continue;
    const double ratio = static_cast<double>(mine.at(name)) / static_cast<double>(peers_total);
    ++functions;
    large += peers_total;
    if (ratio - 1 >= (out.ratio - 1) / 2) alike += peers_total;
  }
  out.is_throughout = functions >= 4 && out.ratio > 1.1 && alike * 4 >= large * 3;
  return out;
}

}  // namespace headway::diagnose
