// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

// Ranks that run the same program: in a step they do the same operations equally often in groups of the same kind.
// Stages of a pipeline fall into different classes where their programs differ (first, middle, last). Returns a class
// number per rank index, numbered by first member. What functions a rank runs does not split classes: work only one
// rank has is a finding. O(communication rows).
// Where `coordinates` tell the stages, ranks of different stages are no peers as long as a stage has two ranks: middle
// stages do the same operations on different layers.
[[nodiscard]] std::vector<int32_t> PeerClasses(std::span<const pattern::RankPattern> ranks,
                                               std::span<const Coordinate> coordinates, int threads = 1);

// Rank indices of the rank's class, without itself and those in `without`; of a large class some, evenly spread and the
// same on every run, so that what a comparison costs does not grow with the job.
[[nodiscard]] std::vector<size_t> SamplePeers(const Job& job, size_t rank, const std::set<size_t>& without);

}  // namespace headway::diagnose
