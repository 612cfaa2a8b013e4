// SPDX-License-Identifier: Apache-2.0
// Imbalance that moves between replicas, far below the noise of each rank: the ranks of a replica agree on it.
#pragma once

#include <vector>

#include "diagnose/analysis.h"
#include "diagnose/siblings.h"
#include "diagnose/suspects.h"

namespace headway::diagnose {

// In each step every place in a replica (stage, tensor-parallel rank) votes for the replica whose rank there takes
// longest beyond what it takes when it is quiet. By chance places disagree. Where nearly all of them agree in nearly
// all steps, what the replicas get differs: then the ranks of each step's replica, with what they take beyond the
// middle of the others there. Only places of several programs count, as a host may disturb all that do the same on it.
// Empty where the places do not agree, or replicas are not alike. O(ranks * steps).
[[nodiscard]] std::vector<Suspect> StrikeByVote(const AnalysisInput& in, const std::vector<Siblings>& replicas);

}  // namespace headway::diagnose
