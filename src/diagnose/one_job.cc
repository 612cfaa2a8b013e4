// SPDX-License-Identifier: Apache-2.0
#include "diagnose/one_job.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace headway::diagnose {
namespace {

using pattern::RankPattern;

constexpr size_t kRanksNamed = 6;
constexpr size_t kListedInFull = 30;                          // profilers cut longer lists of a group's ranks
constexpr int64_t kLeastBroken = 3, kLeastBrokenShare = 100;  // one in so many
constexpr Nanos kSlack = 2 * kMillisecond;                    // a host backend writes rows so late at most, twice over

std::string Ranks(const std::vector<RankId>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + FormatRanks(ranks, kRanksNamed);
}

// Ranks of one clock whose windows lie apart by more than any of them lasts: nothing that one did can have been waited
// for by the other.
std::string RecordedApart(const Job& job) {
  for (size_t c = 0; c < job.comms.clocks.size(); ++c) {
    std::vector<const RankPattern*> ranks;
    Nanos longest = 0;
    for (size_t r = 0; r < job.num_ranks(); ++r) {
      const RankPattern& rank = job.ranks[r];
      if (job.comms.clock_of_rank[r] != static_cast<int32_t>(c) || rank.steps.empty()) continue;
      ranks.push_back(&rank);
      longest = std::max(longest, rank.window_end - rank.window_start);
    }
    std::stable_sort(ranks.begin(), ranks.end(),
                     [](const auto* a, const auto* b) { return a->window_start < b->window_start; });
    std::vector<RankId> before, after;
    Nanos gap = 0, end = 0;
    for (const RankPattern* rank : ranks) {
      if (!before.empty() && after.empty() && rank->window_start - end > longest) gap = rank->window_start - end;
      (gap > 0 ? after : before).push_back(rank->meta.rank);
      end = before.size() + after.size() == 1 ? rank->window_end : std::max(end, rank->window_end);
    }
    if (gap == 0) continue;
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    const std::string& host = job.comms.clocks[c].host;
    return Ranks(after) + (host.empty() ? "" : " of host " + host) +
           (after.size() == 1 ? " was recorded " : " were recorded ") + FormatDuration(gap) + " after " +
           Ranks(before) + " by the same clock";
  }
  return {};
}

// The words of a version or backend that not all files with one agree on.
std::string UnlikeSoftware(const Job& job) {
  static constexpr std::string_view kSame[] = {"cuda_runtime_version", "hip_runtime_version", "nccl_version",
                                               "pytorch_version"};
  std::map<std::string, std::set<std::string>> values;
  for (const RankPattern& rank : job.ranks) {
    if (!rank.meta.backend.empty()) values["backend"].insert(rank.meta.backend);
    for (const auto& [key, value] : rank.meta.versions) {
      if (value != "unknown" && std::ranges::find(kSame, key) != std::end(kSame)) values[key].insert(value);
    }
  }
  for (const auto& [key, distinct] : values) {
    if (distinct.size() < 2) continue;
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    return "the files name " + name + " " + *distinct.begin() + " and " + *distinct.rbegin();
  }
  return {};
}

// Who is in a group knows it: ranks that others count among a group which they themselves do not declare.
std::string UnlikeGroups(const Job& job) {
  using Members = std::vector<RankId>;
  std::map<RankId, std::set<Members>> declared;
  for (const RankPattern& rank : job.ranks) {
    for (const trace::ProcessGroup& group : rank.comms.declared) {
      if (group.ranks.size() > 1 && group.ranks.size() < kListedInFull) declared[rank.meta.rank].insert(group.ranks);
    }
  }
  std::set<RankId> unlike;
  for (const auto& [rank, groups] : declared) {
    for (const Members& members : groups) {
      for (const RankId member : members) {
        const auto at = declared.find(member);
        if (at != declared.end() && at->second.count(members) == 0) unlike.insert(member);
      }
    }
  }
  if (unlike.empty()) return {};
  return Ranks({unlike.begin(), unlike.end()}) +
         (unlike.size() == 1 ? " does not declare a group" : " do not declare groups") + " that others say they share";
}

// Ranks most of whose operations met nobody, though somebody of their groups is there.
std::string Strangers(const Job& job) {
  if (job.comms.strangers.empty() || job.comms.strangers.size() == job.num_ranks()) return {};
  std::set<RankId> read;
  for (const RankPattern& rank : job.ranks) read.insert(rank.meta.rank);
  std::set<RankId> accompanied;
  for (const trace::JobGroup& group : job.comms.groups) {
    std::vector<RankId> present;
    for (const RankId rank : group.ranks) {
      if (read.count(rank) > 0) present.push_back(rank);
    }
    if (present.size() > 1) accompanied.insert(present.begin(), present.end());
  }
  std::vector<RankId> strangers;
  for (const int32_t r : job.comms.strangers) {
    const RankId rank = job.ranks[static_cast<size_t>(r)].meta.rank;
    if (accompanied.count(rank) > 0) strangers.push_back(rank);
  }
  if (strangers.empty()) return {};
  return "most operations of " + Ranks(strangers) + " have no counterpart on the others";
}

bool NeedsEverybody(trace::CommOp op) {
  using trace::CommOp;
  return op == CommOp::kAllReduce || op == CommOp::kAllGather || op == CommOp::kReduceScatter || op == CommOp::kBarrier;
}

// The earliest end and the latest start of one collective, of all members or of those on one clock.
struct Extremes {
  Nanos first_end = INT64_MAX, last_start = INT64_MIN;
  Nanos end_residual = 0, start_residual = 0;

  void Add(Nanos start, Nanos end, Nanos residual) {
    if (end < first_end) {
      first_end = end;
      end_residual = residual;
    }
    if (start > last_start) {
      last_start = start;
      start_residual = residual;
    }
  }
  // How long it was over before its last member began, beyond what may be wrong with the times; 0 = it was not.
  [[nodiscard]] Nanos Broken() const {
    const Nanos early = last_start - first_end;
    return early > kSlack + end_residual + start_residual ? early : 0;
  }
};

Nanos BrokenBy(const Job& job, const trace::Collective& c) {
  Extremes all;
  std::map<int32_t, Extremes> of_clock;  // by one clock there is nothing to be wrong between ranks
  for (const trace::CollectiveMember& m : c.members) {
    const auto r = static_cast<size_t>(m.rank_index);
    const int32_t clock_index = job.comms.clock_of_rank[r];
    const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(clock_index)];
    const trace::CommInstance& row = job.ranks[r].comms.instances[static_cast<size_t>(m.instance)];
    const Nanos start = Align(clock, row.start), end = Align(clock, row.end);
    all.Add(start, end, clock.residual);
    of_clock[clock_index].Add(start, end, 0);
  }
  Nanos broken = all.Broken();
  for (const auto& [clock, extremes] : of_clock) broken = std::max(broken, extremes.Broken());
  return broken;
}

// Collectives that are over for one member before another begins them.
std::string AgainstTime(const Job& job) {
  int64_t bound = 0, broken = 0;
  Nanos worst = 0;
  for (size_t i = 0; i < job.comms.collectives.size(); ++i) {
    const trace::Collective& c = job.comms.collectives[i];
    if (!NeedsEverybody(c.op)) continue;
    ++bound;
    // Where the first member ends after the last one has come there is some transfer: no need to look at the rows.
    if (job.graph.collectives[i].transfer > 0) continue;
    const Nanos by = BrokenBy(job, c);
    broken += by > 0 ? 1 : 0;
    worst = std::max(worst, by);
  }
  if (broken < kLeastBroken || broken * kLeastBrokenShare < bound) return {};
  return FormatCount(broken) + " of " + FormatCount(bound) +
         " collectives end on one rank before another begins them, by up to " + FormatDuration(worst);
}

}  // namespace

std::string WhyNotOneJob(const Job& job) {
  if (job.num_ranks() < 2) return {};
  std::string reasons;
  for (const auto reason : {RecordedApart, UnlikeSoftware, UnlikeGroups, Strangers, AgainstTime}) {
    const std::string text = reason(job);
    if (!text.empty()) reasons += (reasons.empty() ? "" : "; ") + text;
  }
  return reasons.empty() ? "" : "these may be traces of different jobs or captures: " + reasons;
}

}  // namespace headway::diagnose
