// SPDX-License-Identifier: Apache-2.0
// A rank whose device waits for its host's launches, where all others launch as much.
#pragma once

#include "diagnose/sibling_merge.h"

namespace headway::diagnose {

// Where all ranks that run a program launch as much (within 5 %), none of them is launch-bound by itself: it shows on
// the one whose host is last, and the others wait for it. Such findings of one program become one about all its ranks.
// O(steps * ranks) per program.
void WidenLaunchBound(const Job& job, RankCandidates* candidates);

}  // namespace headway::diagnose
