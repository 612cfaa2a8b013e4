// SPDX-License-Identifier: Apache-2.0
// What single ranks take beyond the ranks that get the same batch.
#pragma once

#include <span>
#include <vector>

#include "diagnose/siblings.h"
#include "diagnose/suspects.h"

namespace headway::diagnose {

// Where the longer steps move from replica to replica, one rank of a replica may also be slow by itself: it takes
// longer than the others of its group, whom each batch strikes as it does. `struck`: what moves, no rank twice. Takes
// from it what is a rank's own and returns that, as suspects; only of ranks most of whose group is struck in the steps
// it is struck in. O(cells of struck ranks x size of a group).
[[nodiscard]] std::vector<Suspect> TakeBeyondGroup(const AnalysisInput& in, std::span<const Siblings> groups,
                                                   std::vector<Suspect>* struck);

}  // namespace headway::diagnose
