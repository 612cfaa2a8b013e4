// SPDX-License-Identifier: Apache-2.0
// How far the ends of a clock's operations lie from those of the others'.
#pragma once

#include <vector>

namespace headway::trace {

// One clock's end in one round, ns.
struct RoundEnd {
  double end = 0;      // against the other members
  double spread = 0;   // of the round, in deviations
  double lasting = 0;  // what may be the same in each such round
  double weight = 1;   // how much the round can tell
};

struct Scatter {
  double ends = 0;     // half width of the middle nine tenths
  double lasting = 0;  // what may be the same in all of them
};

// Over the tighter rounds. Those half as wide again as the middle one count: drift that was not fitted shows at the
// window's ends. O(n log n).
[[nodiscard]] Scatter ScatterOf(const std::vector<RoundEnd>& ends);

}  // namespace headway::trace
