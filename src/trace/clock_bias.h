// SPDX-License-Identifier: Apache-2.0
// What all readings of a clock may be off together: no scatter shows it, it adds up from clock to clock.
#pragma once

#include <vector>

#include "trace/clock_fit.h"

namespace headway::trace {

// Per clock the least sum of biases over rounds that lead to its root (`root` per clock, -1 = none). O(clocks * pairs
// of clocks with biased rounds + readings).
[[nodiscard]] std::vector<Nanos> BiasFromRoots(const ClockRounds& rounds, const std::vector<int32_t>& root);

}  // namespace headway::trace
