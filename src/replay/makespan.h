// SPDX-License-Identifier: Apache-2.0
// Test support: the length of a whole run.
#pragma once

#include <algorithm>

#include "replay/segment_replay.h"

namespace headway::replay {

// Latest end - earliest start.
inline Nanos Makespan(const graph::SegmentGraph& graph, const SegmentTimes& times) {
  if (times.end.empty()) return 0;
  return *std::max_element(times.end.begin(), times.end.end()) -
         *std::min_element(graph.chain_start.begin(), graph.chain_start.end());
}

}  // namespace headway::replay
