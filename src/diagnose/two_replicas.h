// SPDX-License-Identifier: Apache-2.0
// Two replicas of which now one and now the other takes longer. Neither has a majority of peers to be held against; but
// what one gets in a step strikes all ranks it is made of.
#pragma once

#include <vector>

#include "diagnose/analysis.h"
#include "diagnose/siblings.h"
#include "diagnose/suspects.h"

namespace headway::diagnose {

// The ranks of both, each with what it takes longer than its counterpart in the steps in which its replica is the
// longer one, and no more than twice what the middle pair says (of two, the lesser one); empty unless both are in some
// steps, half of the steps are struck (or three, where all pairs say so of each), and several pairs of counterparts
// agree on it far beyond what they differ by. `groups`: SiblingsOfGroups. O(ranks * steps).
[[nodiscard]] std::vector<Suspect> StrikeReplicas(const AnalysisInput& in, const std::vector<Siblings>& groups);

}  // namespace headway::diagnose
