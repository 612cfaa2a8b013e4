// SPDX-License-Identifier: Apache-2.0
// How far the ends of a clock's operations lie from those of the others'.
#pragma once

#include <cstdint>
#include <vector>

namespace headway::trace {

// One clock's end in one round, ns.
struct RoundEnd {
  double end = 0;      // against the other members
  double spread = 0;   // of the round, in deviations
  double lasting = 0;  // what may be the same in each such round
  double weight = 1;   // how much the round can tell
  double at = 0;       // when
  int32_t clocks = 0;  // in the round
};

struct Scatter {
  double ends = 0;     // half width of the middle nine tenths
  double lasting = 0;  // what may be the same in all of them
  double wander = 0;   // how far they move over half the window, where drift was not fitted; the most of all
                       // rounds and those of each number of clocks, as a few that run alike may meet most often
};

// Over the rounds that can tell most, if they hold most of the weight, and of them the tighter ones: those half as wide
// again as the middle one at most. O(n log n).
[[nodiscard]] Scatter ScatterOf(const std::vector<RoundEnd>& all);

}  // namespace headway::trace
