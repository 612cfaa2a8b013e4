// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_alignment.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "trace/clock_rounds.h"

namespace headway::trace {
namespace {

constexpr Nanos kRecordedAgree = 10 * kMicrosecond;

std::string InUnits(Nanos time) {
  if (time < 10 * kMicrosecond)
    return std::to_string(time / kMicrosecond) + "." + std::to_string(time % kMicrosecond / 100) + " us";
  if (time < 10 * kMillisecond) return std::to_string(time / kMicrosecond) + " us";
  return std::to_string(time / kMillisecond) + " ms";
}

bool AgreeAsRecorded(const ClockAlignment& clocks) {
  for (size_t c = 0; c < clocks.clocks.size(); ++c) {
    const HostClock& clock = clocks.clocks[c];
    if (clock.root != clocks.clocks.front().root) return false;
    if (clock.drift != 0 || std::abs(clock.offset) > std::max(kRecordedAgree, 2 * clock.residual)) return false;
  }
  return true;
}

// All ranks on one clock, as recorded.
ClockAlignment Unite(const ClockAlignment& apart, const std::vector<RankComms>& ranks) {
  ClockAlignment united;
  HostClock clock{.host = ranks.front().host};
  for (const HostClock& c : apart.clocks) {
    clock.residual = std::max({clock.residual, c.residual, std::abs(c.offset)});
    clock.pairs = std::max(clock.pairs, c.pairs);
  }
  united.notes.push_back("no file names its host; recorded times agree within " + InUnits(clock.residual) +
                         ", so all ranks are taken to share one clock");
  united.clocks.push_back(clock);
  united.clock_of_rank.assign(ranks.size(), 0);
  return united;
}

int32_t LowestRank(const std::vector<RankComms>& ranks) {
  size_t lowest = 0;
  for (size_t r = 1; r < ranks.size(); ++r) {
    if (ranks[r].rank < ranks[lowest].rank) lowest = r;
  }
  return static_cast<int32_t>(lowest);
}

void Explain(const ClockFits& fits, int32_t root, ClockAlignment* out) {
  size_t alone = 0, apart = 0;
  for (size_t c = 0; c < out->clocks.size(); ++c) {
    if (fits.clocks[c].component < 0 && static_cast<int32_t>(c) != root) {
      ++alone;
    } else if (out->clocks[c].root != out->clocks[static_cast<size_t>(root)].root) {
      ++apart;
    }
  }
  const std::string of_hosts = " of " + std::to_string(out->clocks.size()) + " hosts share no collective with ";
  if (alone > 0) out->notes.push_back(std::to_string(alone) + of_hosts + "another one: their clocks stand as recorded");
  if (apart > 0) {
    out->notes.push_back(std::to_string(apart) + of_hosts + "the reference host: aligned among themselves only");
  }
  Nanos farthest = 0;
  for (const HostClock& clock : out->clocks) farthest = std::max(farthest, std::abs(clock.offset));
  if (farthest > 10 * kSecond) {
    out->notes.push_back("clocks of hosts lie up to " + std::to_string(farthest / kSecond) +
                         " s apart: not synchronised, or files of different captures");
  }
  if (fits.violations > 0) {
    out->notes.push_back(std::to_string(fits.violations) +
                         " collectives end on a host before the last member has begun, by up to " +
                         InUnits(fits.worst_violation) + " on aligned clocks");
  }
}

}  // namespace

bool ClockAlignment::OffsetBetween(int32_t reference_rank, int32_t member_rank, Nanos own, Nanos* offset) const {
  const auto r = static_cast<size_t>(clock_of_rank[static_cast<size_t>(reference_rank)]);
  const auto m = static_cast<size_t>(clock_of_rank[static_cast<size_t>(member_rank)]);
  *offset = 0;
  if (r == m) return true;
  if (clocks[r].root != clocks[m].root) return false;
  const Nanos aligned = Align(clocks[r], own);
  Nanos theirs = aligned - clocks[m].offset;
  theirs -= Align(clocks[m], theirs) - aligned;
  *offset = theirs - own;
  return true;
}

ClockAlignment RecordedClocks(const std::vector<RankComms>& ranks) {
  ClockAlignment out;
  // Ranks whose files name no host may be on any: each is one of its own.
  std::vector<std::string> hosts;
  hosts.reserve(ranks.size());
  for (const RankComms& rank : ranks) {
    hosts.push_back(rank.host_known ? rank.host : "?" + std::to_string(rank.rank));
  }
  std::vector<std::string> names = hosts;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    out.clocks.push_back({.host = name, .root = static_cast<int32_t>(out.clocks.size())});
  }
  for (const std::string& host : hosts) {
    out.clock_of_rank.push_back(
        static_cast<int32_t>(std::lower_bound(names.begin(), names.end(), host) - names.begin()));
  }
  return out;
}

ClockAlignment AlignClocks(const std::vector<RankComms>& ranks, const std::vector<Collective>& collectives) {
  ClockAlignment out = RecordedClocks(ranks);
  if (out.clocks.size() < 2) return out;
  const ClockRounds rounds = CollectRounds(ranks, collectives, out.clock_of_rank);
  const int32_t root = out.clock_of_rank[static_cast<size_t>(LowestRank(ranks))];
  const ClockFits fits = FitClocks(rounds, static_cast<int32_t>(out.clocks.size()), root);
  for (size_t c = 0; c < out.clocks.size(); ++c) {
    const ClockFit& fit = fits.clocks[c];
    HostClock& clock = out.clocks[c];
    clock.offset = fit.offset;
    clock.drift = fit.drift;
    clock.reference = fit.reference;
    clock.residual = fit.component < 0 ? kUnalignedResidual : fit.residual;
    clock.pairs = fit.rounds;
    clock.root = fit.component < 0 ? static_cast<int32_t>(c) : fit.component;
  }
  const bool nobody_known = std::none_of(ranks.begin(), ranks.end(), [](const RankComms& r) { return r.host_known; });
  if (nobody_known && AgreeAsRecorded(out)) return Unite(out, ranks);
  Explain(fits, root, &out);
  return out;
}

}  // namespace headway::trace
