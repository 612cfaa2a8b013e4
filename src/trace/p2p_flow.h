// SPDX-License-Identifier: Apache-2.0
// One direction of point-to-point traffic: which send meets which receive.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trace/comm_sequence.h"
#include "trace/p2p_cost.h"

namespace headway::trace {

// Positions (in sends, in receives) that correspond, ascending.
using FlowPairs = std::vector<std::pair<int32_t, int32_t>>;

// All sends of one rank to another with all receives there: in order, windows may begin at different ones; by time
// where order does not fit. `offset` = receiver clock - sender clock, where known.
[[nodiscard]] FlowPairs PairFlow(const CommSequence& sends, const CommSequence& receives, std::optional<Nanos> offset);

struct Anchors {
  Anchor sends = Anchor::kNone, receives = Anchor::kNone;
};
// Of what an end of the pipeline sends and receives: the first stage begins its steps with a send, the last with a
// receive. None where steps do not agree on it: not all schedules empty themselves between steps.
[[nodiscard]] Anchors AnchorsOf(const CommSequence& sends, const CommSequence& receives);

// All rows of `few` with some of `many` (the rest belongs to another neighbour): the ascending choice with the smallest
// sum of distances, where nothing is received before it was sent. A schedule repeats: of steps with as many rows each
// one choice serves all, that of the smallest sum over them. A distance is that of the ends; on a host, how long both
// rows last beside each other: whoever comes later waits least. `offset` = clock of many - clock of few. O(few * many)
// in a step; where steps cannot be held against each other, of all rows, and above kMostCells by overlap in time, in
// one pass.
[[nodiscard]] FlowPairs PairWithSome(const CommSequence& few, const CommSequence& many, const OffsetLine& offset,
                                     Anchor anchor = Anchor::kNone);
// The sum of distances of that choice, whatever the size.
[[nodiscard]] Nanos CostOfPairing(const CommSequence& few, const CommSequence& many, const OffsetLine& offset,
                                  Anchor anchor = Anchor::kNone);
inline constexpr int64_t kMostCells = 4'000'000;

}  // namespace headway::trace
