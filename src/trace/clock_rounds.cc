// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_rounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "trace/clock_delays.h"
#include "trace/comm_sequence.h"

namespace headway::trace {
namespace {

constexpr int64_t kReadings = 400'000;  // wanted; groups with few operations keep them all
constexpr int64_t kLeastOfGroup = 64;   // rounds of every group, as far as kMostReadings allows
constexpr int64_t kMostReadings = 1'000'000;
constexpr double kOfHosts = 1e5;              // ns: how far apart ends of the shortest operations of a host backend lie
constexpr double kOfDuration = 0.1;           // of an operation's duration: how far apart its ends may lie
constexpr double kOfDurationEachTime = 0.01;  // the same on devices, each time the same way
constexpr Nanos kLooseEnds = kMillisecond;

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
        if (IsMessage(collectives_[i])) {
          AddMessage(collectives_[i]);
        } else if (EndsAreShared(collectives_[i].op) && Chosen(collectives_[i].ordinal, stride)) {
          AddRound(collectives_[i]);
        }
      }
    }
    for (size_t r = 0; r < kind_.size(); ++r) rounds_.alike[r] = of_kind_[kind_[r]];
    AddMessages();
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
    Nanos shortest = std::numeric_limits<Nanos>::max();
    for (size_t i = 0, j = 0; i < members_.size(); i = j) {
      ClockReading reading{.clock = members_[i].clock};
      for (; j < members_.size() && members_[j].clock == members_[i].clock; ++j) {
        Bound(*members_[j].row, bounded, on_device, &reading);
        shortest = std::min(shortest, members_[j].row->end - members_[j].row->start);
      }
      reading.end = members_[i + (j - i - 1) / 2].row->end;
      rounds_.readings.push_back(reading);
    }
    const double of_duration = kOfDuration * static_cast<double>(shortest);
    const double apart = std::hypot(on_device ? ClockRounds::kOfDevices : kOfHosts, of_duration);
    rounds_.Close(apart, on_device ? kOfDurationEachTime * static_cast<double>(shortest) : apart);
    kind_.push_back(KindOfLastRound(collective.op));
    ++of_kind_[kind_.back()];
  }

  // What a slow link between hosts does to one operation it does to all of the kind that run over the same hosts for
  // about as long, be it in other groups.
  [[nodiscard]] uint64_t KindOfLastRound(CommOp op) const {
    constexpr uint64_t kFnvOffset = 14695981039346656037U, kFnvPrime = 1099511628211U;
    uint64_t kind = (kFnvOffset ^ static_cast<uint64_t>(op)) * kFnvPrime;
    kind = (kind ^ static_cast<uint64_t>(std::ilogb(rounds_.deviation.back()))) * kFnvPrime;
    for (auto i = static_cast<size_t>(rounds_.begin[rounds_.size() - 1]); i < rounds_.readings.size(); ++i) {
      kind = (kind ^ static_cast<uint64_t>(rounds_.readings[i].clock)) * kFnvPrime;
    }
    return kind;
  }

  [[nodiscard]] bool IsMessage(const Collective& collective) const {
    const auto is_message = [&](const CollectiveMember& m) {
      return IsHostMessage(ranks_[static_cast<size_t>(m.rank_index)], RowOf(m));
    };
    return collective.members.size() == 2 && is_message(collective.members[0]) && is_message(collective.members[1]);
  }

  void AddMessage(const Collective& collective) {
    const bool first_sends = RowOf(collective.members[0]).op == CommOp::kSend;
    const CollectiveMember& from = collective.members[first_sends ? 0 : 1];
    const CollectiveMember& to = collective.members[first_sends ? 1 : 0];
    const CommInstance &send = RowOf(from), &receive = RowOf(to);
    if (send.op != CommOp::kSend || receive.op != CommOp::kRecv || ClockOf(from) == ClockOf(to)) return;
    delays_.Add({ClockOf(from), ClockOf(to), send.start, receive.end, receive.start, send.end});
    messages_.push_back({ClockOf(from), send.end, ClockOf(to), receive.end, receive.end - receive.start});
  }

  // Ends of sends and receives say when somebody waited: only where nothing better is there, and with little weight.
  void AddMessages() {
    delays_.Settle();
    delays_.AppendTo(&rounds_);
    for (const Ends& m : messages_) {
      if (delays_.BothWays(m.from, m.to)) continue;
      rounds_.readings.push_back({.clock = m.from, .end = m.sent});
      rounds_.readings.push_back({.clock = m.to, .end = m.received});
      rounds_.Close(static_cast<double>(std::max(kLooseEnds, m.duration)));
    }
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
  struct Ends {  // of a message's two rows
    int32_t from;
    Nanos sent;
    int32_t to;
    Nanos received;
    Nanos duration;  // of the receive
  };
  std::vector<Member> members_;
  ClockRounds rounds_;
  std::vector<uint64_t> kind_;                     // per round
  std::unordered_map<uint64_t, int32_t> of_kind_;  // how many rounds
  DelayRounds delays_;
  std::vector<Ends> messages_;
};

}  // namespace

ClockRounds CollectRounds(const std::vector<RankComms>& ranks, const std::vector<Collective>& collectives,
                          const std::vector<int32_t>& clock_of_rank) {
  return RoundCollector(ranks, collectives, clock_of_rank).Collect();
}

}  // namespace headway::trace
