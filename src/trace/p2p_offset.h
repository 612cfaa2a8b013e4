// SPDX-License-Identifier: Apache-2.0
// How two neighbours' clocks lie against each other, from nothing but what they send each other: needed to tell which
// operations belong together where no collective spans the hosts of two pipeline stages.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "trace/comm_sequence.h"
#include "trace/p2p_flow.h"

namespace headway::trace {

// One direction between two neighbours: all rows of `few` are among those of `many`, which talks to others too.
struct NeighbourFlow {
  CommSequence few, many;
  Anchor anchor = Anchor::kNone;
};

// The clock of the ranks of `many` against that of `few`. Tried are the offsets at which most pairs of rows of the same
// step lie alike (a receive that was waited for ends one transfer after its send began; kernels end together); the one
// under which all flows pair best at the begin of the window is taken, and again at its end for the drift. None where
// no steps are numbered alike. Some 10^5 distances.
[[nodiscard]] std::optional<OffsetLine> OffsetByTraffic(std::span<const NeighbourFlow> flows);

}  // namespace headway::trace
