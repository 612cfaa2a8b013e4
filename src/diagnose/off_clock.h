// SPDX-License-Identifier: Apache-2.0
// Ranks whose clock tells nothing.
#pragma once

#include <string>
#include <vector>

#include "pattern/pattern.h"

namespace headway::diagnose {

// The name under which the log of such a rank says so.
inline constexpr const char* kClockTellsNothing = "clock-tells-nothing";

// Ranks of a host that were recorded at another time than most of it by the same clock, and whose steps do not last as
// long either. In a job whose ranks wait for one another steps last as long on all: of such a rank neither when nor how
// long is known. It is left without any steps (they become unread_steps), and its log says so. Returns a sentence,
// empty where there are none. O(ranks log n + steps).
[[nodiscard]] std::string DropOffClock(std::vector<pattern::RankPattern>* ranks);

}  // namespace headway::diagnose
