// SPDX-License-Identifier: Apache-2.0
// Exposed communication split, per rank and step: waiting for the latest member, and moving data.
#pragma once

#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

struct WaitTable {
  size_t steps = 0;
  std::vector<Nanos> wait;      // [rank * steps + s]: exposed before the latest member arrived
  std::vector<Nanos> transfer;  // the rest of the exposed time, unpaired operations included
  std::vector<Nanos>
      lateness;  // latest arrival of the collectives this rank was last in, minus the second latest, summed
  std::vector<int32_t> last;  // [rank]: collectives it arrived last in, beyond the clocks' residual
};

// Sums over the axis steps; operations outside them are left out. O(members). The answer does not depend on `threads`.
[[nodiscard]] WaitTable SplitWaits(const Job& job, int threads = 1);

}  // namespace headway::diagnose
