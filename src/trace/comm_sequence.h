// SPDX-License-Identifier: Apache-2.0
// One rank's operations within one group, in order, and how two such sequences correspond: by a shift where both are
// whole (their windows may begin at different operations), by time where one has holes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "trace/comm.h"

namespace headway::trace {

// A view: `rows` are indices into rank->instances, ascending by start. Valid as long as both live.
struct CommSequence {
  const RankComms* rank = nullptr;
  int32_t rank_index = -1;
  std::span<const int32_t> rows;

  [[nodiscard]] int32_t size() const { return static_cast<int32_t>(rows.size()); }
  [[nodiscard]] const CommInstance& operator[](int32_t i) const { return rank->instances[rows[i]]; }
  [[nodiscard]] int64_t StepNumber(int32_t i) const { return StepNumberOf(*rank, (*this)[i]); }
  [[nodiscard]] static int64_t StepNumberOf(const RankComms& rank, const CommInstance& instance) {
    const auto step = static_cast<size_t>(instance.step);
    return instance.step >= 0 && step < rank.step_numbers.size() ? rank.step_numbers[step] : -1;
  }
};

[[nodiscard]] bool IsOneWay(CommOp op);  // a send or a receive

// True for a send or receive of a host backend: its row ends when it was waited for, not when it was done, and may
// begin kRecordedLate after the call took effect.
[[nodiscard]] bool IsHostMessage(const RankComms& rank, const CommInstance& row);
inline constexpr Nanos kRecordedLate = kMillisecond;

// True where members must show the same payload (an all-to-all may be uneven, a gather's root sees more).
[[nodiscard]] bool SizeIsShared(CommOp op);

// member clock - reference clock of two rank indices, where known (0 on one host).
using ClockOffset = std::function<std::optional<Nanos>(int32_t reference, int32_t member)>;

// Whether two members' rows can be one operation: equal kinds and, where both are written and shared, equal sizes.
// A kind that is not known agrees with every kind, a send with a receive of its size.
[[nodiscard]] bool Agree(const CommInstance& a, const CommInstance& b);

// What one pass over a sequence tells.
struct SequenceSummary {
  uint64_t signature = 0x9e3779b97f4a7c15U;  // of kinds and shared sizes in order: equal where the same operations ran
  int64_t first_number = -1;                 // sequence number of the first row
  int64_t last_number = -1;
  bool numbered = true;     // every row has a sequence number
  bool consecutive = true;  // and they rise by one
  bool exchanges = false;   // has send/receive kernels that name no peer

  void Add(const CommInstance& row);
};
[[nodiscard]] SequenceSummary Summarize(const CommSequence& sequence);

// A send/receive kernel, or a coalesced one: its row does not say whom it talks to.
[[nodiscard]] inline bool NamesNoPeer(CommOp op) { return op == CommOp::kSendRecv || op == CommOp::kCoalesced; }

// member[i] corresponds to reference[i + shift].
struct ShiftFit {
  int32_t shift = 0;
  int32_t overlap = 0;       // rows that have a counterpart
  double mismatch = 1;       // share of them whose kinds or sizes disagree
  double step_mismatch = 0;  // share of those in a step on both sides whose step numbers differ
  Nanos centre = 0;          // median of member end - reference end
  Nanos jitter = 0;          // median distance from the centre (from `offset` where it is known)
  double cost = 4;           // what BestShift minimises; below kGoodFit the two are surely the same operations
};
inline constexpr double kGoodFit = 0.3;

// Judges one shift on at most `samples` rows, evenly spread. `offset` = member clock - reference clock, where known.
[[nodiscard]] ShiftFit JudgeShift(const CommSequence& reference, const CommSequence& member, int32_t shift,
                                  std::optional<Nanos> offset, int32_t samples = 64);

// The best of the shifts that step numbers, window ends and (with a known offset) times suggest; every shift where both
// are short. O(candidates * samples + log n).
[[nodiscard]] ShiftFit BestShift(const CommSequence& reference, const CommSequence& member,
                                 std::optional<Nanos> offset);

// Two threads of a group work side by side, so rows issued back to back may start in the other order on another rank.
// Positions in `reference` for every row of `member` placed by `shift`, with such neighbours exchanged: where kinds or
// sizes say so, else (with a known offset) where their ends fit far better. Empty = nothing to exchange.
[[nodiscard]] std::vector<int32_t> ExchangeConcurrent(const CommSequence& reference, const CommSequence& member,
                                                      int32_t shift, std::optional<Nanos> offset);

// Ordinals in `reference` for every row of `member`, -1 where none overlaps it in time; ascending. O(n).
[[nodiscard]] std::vector<int32_t> MergeByTime(const CommSequence& reference, const CommSequence& member, Nanos offset);

// How well two sequences pass for the operations of one group, each seen by one member: 0 … 1. Members of a group show
// the same kinds, and each of their operations overlaps the other's in time (nobody leaves before all have come).
struct Togetherness {
  double score = 0;
  double overlapping = 0;  // share of corresponding rows that overlap
  Nanos jitter = 0;        // median distance of ends
  Nanos scatter = 0;       // the same whatever the clocks, drift included
  Nanos shorter = 0;       // median time that the quicker of the two spends in an operation: its transfer at most
  double tight = 0;        // share of rows whose ends lie no further apart than a host's transfer of such a length may
};
[[nodiscard]] Togetherness JudgeTogether(const CommSequence& reference, const CommSequence& member,
                                         std::optional<Nanos> offset);

}  // namespace headway::trace
