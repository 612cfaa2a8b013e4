// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_alignment.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "trace/comm_sequence.h"

namespace headway::trace {
namespace {

constexpr int64_t kReadings = 400'000;  // wanted; groups with few operations keep them all
constexpr int64_t kLeastOfGroup = 64;   // rounds of every group, as far as kMostReadings allows
constexpr int64_t kMostReadings = 1'000'000;
constexpr Nanos kRecordedAgree = 10 * kMicrosecond;

bool EndsAreShared(CommOp op) {
  switch (op) {
    case CommOp::kAllReduce:
    case CommOp::kAllGather:
    case CommOp::kReduceScatter:
    case CommOp::kAllToAll:
    case CommOp::kBarrier:
    case CommOp::kSendRecv:
    case CommOp::kCoalesced:
    case CommOp::kUnknown: return true;
    default: return false;  // a root or a leaf may be done before the others come
  }
}

// Nobody can end before everybody has come. An all-to-all may leave a pair nothing to exchange.
bool NeedsEverybody(CommOp op) {
  return op == CommOp::kAllReduce || op == CommOp::kAllGather || op == CommOp::kReduceScatter || op == CommOp::kBarrier;
}

// Spreads a choice of one in `stride` over ordinals without following any period of the job.
bool Chosen(int64_t ordinal, int64_t stride) {
  uint64_t h = static_cast<uint64_t>(ordinal) * 0x9e3779b97f4a7c15U;
  h ^= h >> 29U;
  h *= 0xbf58476d1ce4e5b9U;
  h ^= h >> 32U;
  return h % static_cast<uint64_t>(stride) == 0;
}

class RoundCollector {
 public:
  RoundCollector(const std::vector<RankComms>& ranks, const std::vector<Collective>& collectives,
                 const std::vector<int32_t>& clock_of_rank)
      : ranks_(ranks), collectives_(collectives), clock_of_rank_(clock_of_rank) {}

  ClockRounds Collect() {
    FindRuns();
    int64_t total = 0, hosts = 0;
    for (const Run& run : runs_) {
      total += run.hosts * static_cast<int64_t>(run.last - run.first);
      hosts += run.hosts;
    }
    const int64_t least = std::clamp<int64_t>(kMostReadings / std::max<int64_t>(hosts, 1), 8, kLeastOfGroup);
    for (const Run& run : runs_) {
      const auto length = static_cast<int64_t>(run.last - run.first);
      const int64_t wanted = std::max(least, length * kReadings / std::max<int64_t>(total, 1));
      const int64_t stride = std::max<int64_t>(1, length / wanted);
      for (size_t i = run.first; i < run.last; ++i) {
        if (EndsAreShared(collectives_[i].op) && Chosen(collectives_[i].ordinal, stride)) AddRound(collectives_[i]);
      }
    }
    return std::move(rounds_);
  }

 private:
  struct Run {  // the collectives of one group that spans several clocks
    size_t first = 0, last = 0;
    int64_t hosts = 0;
  };

  void FindRuns() {
    std::vector<int32_t> clocks;
    for (size_t i = 0, j = 0; i < collectives_.size(); i = j) {
      size_t widest = i;
      for (; j < collectives_.size() && collectives_[j].group == collectives_[i].group; ++j) {
        if (collectives_[j].members.size() > collectives_[widest].members.size()) widest = j;
      }
      clocks.clear();
      for (const CollectiveMember& m : collectives_[widest].members) clocks.push_back(ClockOf(m));
      std::sort(clocks.begin(), clocks.end());
      clocks.erase(std::unique(clocks.begin(), clocks.end()), clocks.end());
      if (clocks.size() < 2) continue;
      runs_.push_back({i, j, static_cast<int64_t>(clocks.size())});
    }
  }

  [[nodiscard]] int32_t ClockOf(const CollectiveMember& m) const {
    return clock_of_rank_[static_cast<size_t>(m.rank_index)];
  }
  [[nodiscard]] const CommInstance& RowOf(const CollectiveMember& m) const {
    return ranks_[static_cast<size_t>(m.rank_index)].instances[static_cast<size_t>(m.instance)];
  }

  void AddRound(const Collective& collective) {
    members_.clear();
    for (const CollectiveMember& m : collective.members) members_.push_back({ClockOf(m), &RowOf(m)});
    std::sort(members_.begin(), members_.end(), [](const auto& a, const auto& b) {
      return a.clock != b.clock ? a.clock < b.clock : a.row->end < b.row->end;
    });
    if (members_.front().clock == members_.back().clock) return;
    const bool bounded = NeedsEverybody(collective.op);
    // A host backend may write a send after its data have left: it bounds nothing.
    const bool on_device = OnDevice(collective.members.front());
    for (size_t i = 0, j = 0; i < members_.size(); i = j) {
      ClockReading reading{.clock = members_[i].clock};
      for (; j < members_.size() && members_[j].clock == members_[i].clock; ++j) {
        Bound(*members_[j].row, bounded, on_device, &reading);
      }
      reading.end = members_[i + (j - i - 1) / 2].row->end;
      rounds_.readings.push_back(reading);
    }
    rounds_.Close(IsOneWay(members_.front().row->op) && !on_device);
  }

  static void Bound(const CommInstance& row, bool bounded, bool device, ClockReading* reading) {
    if (bounded || (device && row.op == CommOp::kSend)) reading->last_start = std::max(reading->last_start, row.start);
    if (bounded || (device && row.op == CommOp::kRecv)) {
      reading->first_end = reading->first_end == kNoBound ? row.end : std::min(reading->first_end, row.end);
    }
  }

  [[nodiscard]] bool OnDevice(const CollectiveMember& m) const {
    const RankComms& rank = ranks_[static_cast<size_t>(m.rank_index)];
    return rank.groups[static_cast<size_t>(RowOf(m).local_group)].is_device;
  }

  struct Member {
    int32_t clock;
    const CommInstance* row;
  };
  const std::vector<RankComms>& ranks_;
  const std::vector<Collective>& collectives_;
  const std::vector<int32_t>& clock_of_rank_;
  std::vector<Run> runs_;
  std::vector<Member> members_;
  ClockRounds rounds_;
};

std::string InUnits(Nanos time) {
  if (time < 10 * kMicrosecond)
    return std::to_string(time / kMicrosecond) + "." + std::to_string(time % kMicrosecond / 100) + " us";
  if (time < 10 * kMillisecond) return std::to_string(time / kMicrosecond) + " us";
  return std::to_string(time / kMillisecond) + " ms";
}

bool AgreeAsRecorded(const ClockAlignment& clocks) {
  for (size_t c = 0; c < clocks.clocks.size(); ++c) {
    const HostClock& clock = clocks.clocks[c];
    if (clocks.component[c] != clocks.component[0] || clocks.component[c] < 0) return false;
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
  united.component.assign(1, 0);
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
    if (out->component[c] < 0 && static_cast<int32_t>(c) != root) {
      ++alone;
    } else if (out->component[c] != out->component[static_cast<size_t>(root)]) {
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
  if (component[r] < 0 || component[r] != component[m]) return false;
  const Nanos aligned = Align(clocks[r], own);
  Nanos theirs = aligned - clocks[m].offset;
  theirs -= Align(clocks[m], theirs) - aligned;
  *offset = theirs - own;
  return true;
}

ClockAlignment RecordedClocks(const std::vector<RankComms>& ranks) {
  ClockAlignment out;
  std::vector<const std::string*> hosts;
  hosts.reserve(ranks.size());
  for (const RankComms& rank : ranks) hosts.push_back(&rank.host);
  std::sort(hosts.begin(), hosts.end(), [](const auto* a, const auto* b) { return *a < *b; });
  for (const std::string* host : hosts) {
    if (out.clocks.empty() || out.clocks.back().host != *host) out.clocks.push_back({.host = *host});
  }
  for (const RankComms& rank : ranks) {
    const auto at = std::lower_bound(out.clocks.begin(), out.clocks.end(), rank.host,
                                     [](const HostClock& c, const std::string& host) { return c.host < host; });
    out.clock_of_rank.push_back(static_cast<int32_t>(at - out.clocks.begin()));
  }
  out.component.assign(out.clocks.size(), -1);
  return out;
}

ClockAlignment AlignClocks(const std::vector<RankComms>& ranks, const std::vector<Collective>& collectives) {
  ClockAlignment out = RecordedClocks(ranks);
  if (out.clocks.size() < 2) return out;
  const ClockRounds rounds = RoundCollector(ranks, collectives, out.clock_of_rank).Collect();
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
    out.component[c] = fit.component;
  }
  const bool nobody_known = std::none_of(ranks.begin(), ranks.end(), [](const RankComms& r) { return r.host_known; });
  if (nobody_known && AgreeAsRecorded(out)) return Unite(out, ranks);
  Explain(fits, root, &out);
  return out;
}

}  // namespace headway::trace
