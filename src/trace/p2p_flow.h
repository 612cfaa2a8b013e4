// SPDX-License-Identifier: Apache-2.0
// One direction of point-to-point traffic: which send meets which receive.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trace/comm_sequence.h"

namespace headway::trace {

// Positions (in sends, in receives) that correspond, ascending.
using FlowPairs = std::vector<std::pair<int32_t, int32_t>>;

// All sends of one rank to another with all receives there: in order, windows may begin at different ones; by time
// where order does not fit. `offset` = receiver clock - sender clock, where known.
[[nodiscard]] FlowPairs PairFlow(const CommSequence& sends, const CommSequence& receives, std::optional<Nanos> offset);

// All rows of `few` with some of `many` (the rest belongs to another neighbour): the ascending choice with the smallest
// sum of distances between ends, where nothing is received before it was sent. O(few * many); above kMostCells by
// overlap in time, in one pass.
[[nodiscard]] FlowPairs PairWithSome(const CommSequence& few, const CommSequence& many, Nanos offset);
inline constexpr int64_t kMostCells = 4'000'000;

}  // namespace headway::trace
