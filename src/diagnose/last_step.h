// SPDX-License-Identifier: Apache-2.0
// What ranks do behind their last meeting in the last step: a checkpoint is often there, and so is what other ranks'
// profilers do to a machine while they are being stopped.
#pragma once

#include <vector>

#include "pattern/pattern.h"

namespace headway::diagnose {

// Joins the tail of the last step (pattern::RankPattern::steps) to it on all ranks where they hold about as much own
// time on all of them: then it is what the program does there. Elsewhere it is left out (it becomes one of
// unread_steps), as ranks that are still in their step while others stop recording may be held up by that. O(rows).
void SettleLastSteps(std::vector<pattern::RankPattern>* ranks);

}  // namespace headway::diagnose
