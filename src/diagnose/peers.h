// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

// Ranks that run the same program: in a step they do the same operations equally often in groups of the same kind.
// Stages of a pipeline fall into different classes where their programs differ (first, middle, last). Returns a class
// number per rank index, numbered by first member. What functions a rank runs does not split classes: work only one
// rank has is a finding. O(communication rows).
[[nodiscard]] std::vector<int32_t> PeerClasses(std::span<const pattern::RankPattern> ranks, int threads = 1);

}  // namespace headway::diagnose
