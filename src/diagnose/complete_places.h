// SPDX-License-Identifier: Apache-2.0
// A cause that strikes ranks by their place (the same expert, the same replica, in every program) strikes the one among
// them, too, whose own finding is about something else.
#pragma once

#include <set>

#include "diagnose/sibling_merge.h"

namespace headway::diagnose {

// Findings about ranks of three programs or more that are at the same places of most of these, and miss one place of
// another: the rank there is added if it is one of `suspects`, as what it suffers from hides this. Its share is priced
// like the finding's worst rank. O(ranks of the findings).
void CompletePlaces(const Job& job, const std::set<size_t>& suspects, RankCandidates* candidates);

}  // namespace headway::diagnose
