// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_keeps_up.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

// All that its host does over the window, before the device and behind it.
Nanos HostTime(const pattern::RankPattern& rank, bool with_holes) {
  Nanos sum = 0;
  for (size_t f = 0; f < rank.functions.size(); ++f) {
    const WorkClass c = (*rank.function_table)[f].work_class;
    const bool counts = c == WorkClass::kHost || c == WorkClass::kInput || (with_holes && c == WorkClass::kIdle);
    if (counts) sum += rank.functions[f].total;
  }
  return sum;
}

std::vector<Nanos> HostTimes(const Job& job, const std::vector<size_t>& ranks, bool with_holes) {
  std::vector<Nanos> out;
  for (const size_t r : ranks) out.push_back(HostTime(job.ranks[r], with_holes));
  return out;
}

// What is between calls counts, too: code that nothing recorded.
bool DoesNoMore(const Job& job, size_t rank, const std::vector<size_t>& peers, Nanos excess) {
  const std::vector<Nanos> others = HostTimes(job, peers, true);
  const Nanos usual = Median(others);
  std::vector<Nanos> apart;
  for (const Nanos time : others) apart.push_back(std::abs(time - usual));
  const bool are_alike = peers.size() >= 2 && Median(std::move(apart)) * 4 < excess;
  return usual > 0 && are_alike && std::abs(HostTime(job.ranks[rank], true) - usual) * 2 < excess;
}

}  // namespace

HostCalls CompareHostCalls(const Job& job, size_t rank, const std::vector<size_t>& peers, const Explanation& why,
                           JobCallTimes* calls_of) {
  constexpr double kAsEver = 1.2;
  std::vector<CallTimes> times;
  for (const size_t p : peers) times.push_back(calls_of->Calls(p));
  const CallTimes &mine = calls_of->Calls(rank), usual = TimesAmong(times, 0.5, 1);
  const CallRatio calls = CompareCalls(mine, usual);
  HostCalls out{CompareHosts(job, rank, peers)};
  // By the time in its functions, or by that of a call, whatever one of them is called for.
  if (!out.proportion.is_throughout && IsOfSlowHost(calls)) out.proportion = {calls.ratio, true};
  const auto here = mine.find(why.leaf), there = usual.find(why.leaf);
  if (why.node < 0) {
    const auto there_all = static_cast<double>(Median(HostTimes(job, peers, false)));
    out.keeps_up = there_all > 0 && static_cast<double>(HostTime(job.ranks[rank], false)) <= kAsEver * there_all;
  } else if (here != mine.end() && there != usual.end()) {
    out.keeps_up = here->second <= kAsEver * there->second;
  } else if (!why.leaf.starts_with('(')) {  // what is between functions ("(nothing recorded)") has no sum
    out.keeps_up = DoesNoMore(job, rank, peers, why.node_excess);
  }
  return out;
}

}  // namespace headway::diagnose
