// SPDX-License-Identifier: Apache-2.0
// A cause that strikes ranks by their place (the same expert, the same replica, in every program) strikes the one among
// them, too, whose own finding is about something else.
#pragma once

#include <set>

#include "diagnose/analysis.h"
#include "diagnose/sibling_merge.h"

namespace headway::diagnose {

// Findings about ranks of three programs or more that are at the same places of most of these, and miss one place of
// another: the rank there is added if it is one of `suspects`, as what it suffers from hides this, or if it takes
// longer than those at other places by half of what such ranks do in the middle. So are the ranks at all places of a
// program that all do: where half of its ranks are at these places its middle says nothing of them. Their share is
// priced like the finding's worst rank. O(ranks of the findings * ranks of a program * steps).
void CompletePlaces(const AnalysisInput& in, const std::set<size_t>& suspects, RankCandidates* candidates);

}  // namespace headway::diagnose
