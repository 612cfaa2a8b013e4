// SPDX-License-Identifier: Apache-2.0
// Operations of one stream run one after the other: one that was ready earlier begins when the one before it ends.
#pragma once

#include <span>
#include <vector>

#include "graph/segment_graph.h"

namespace headway::graph {

// Sets `after` and `lag` of the arrive marks of operations that began only because the one before them on their stream
// ended. `collective_of`: by rank, then instance: its collective, -1 = not paired. O(instances + marks).
void ChainCalls(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms,
                const std::vector<std::vector<int32_t>>& collective_of, SegmentGraph* graph);

}  // namespace headway::graph
