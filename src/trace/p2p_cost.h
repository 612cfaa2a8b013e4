// SPDX-License-Identifier: Apache-2.0
// How badly a send and a receive match: what is summed up to tell which belong together.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/comm_sequence.h"

namespace headway::trace {

// What a pipeline's schedule tells of two neighbours: whatever an inner stage gets in a step, the first comes from the
// stage before it, and the last of what it gets back from the one behind it.
enum class Anchor : uint8_t {
  kNone,
  kFirst,  // forward: the first row of a step in one sequence belongs to the first in the other
  kLast,   // backward: the last to the last
};

// The clock of one rank against another's: offset(own) = offset + drift * (own - at).
struct OffsetLine {
  Nanos at = 0;
  Nanos offset = 0;
  double drift = 0;

  OffsetLine(Nanos constant) : offset(constant) {}  // NOLINT(google-explicit-constructor): a number is a line
  [[nodiscard]] Nanos At(Nanos own) const {
    return drift == 0 ? offset : offset + static_cast<Nanos>(drift * static_cast<double>(own - at));
  }
};

inline constexpr Nanos kImpossible = 4 * kSecond;       // received before it was sent, another size
inline constexpr Nanos kOffAnchor = 20 * kMillisecond;  // for a row of a step's edge with one inside it

// How long both rows last; negative = how far they lie apart. `offset` = clock of `b` - clock of `a`.
[[nodiscard]] Nanos Beside(const CommInstance& a, const CommInstance& b, Nanos offset);

// How far the ends lie apart; of messages of a host backend, how long both last beside each other, where they do so for
// at least `quickest`, the time of a transfer: whoever comes later waits least. Up to kImpossible. `rank`: of `mine`.
[[nodiscard]] Nanos CostOfPair(const RankComms& rank, const CommInstance& mine, const CommInstance& theirs,
                               Nanos offset, Nanos quickest);

// By row: its step number. What a rank sends last in a step may begin when the step is over, outside any: such rows are
// left from the step before. -1 = before the first.
[[nodiscard]] std::vector<int64_t> StepsOf(const CommSequence& sequence);

// By row: whether it is the first (or the last) of its step.
[[nodiscard]] std::vector<bool> Edges(const CommSequence& sequence, Anchor anchor);

}  // namespace headway::trace
