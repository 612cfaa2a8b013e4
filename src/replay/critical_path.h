// SPDX-License-Identifier: Apache-2.0
// The longest chain of dependent work of a job: what the end of its last rank had to wait for, one thing at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "graph/segment_graph.h"

namespace headway::replay {

struct PathPiece {
  enum class Kind : uint8_t {
    kOwn,       // own time of `rank`
    kTransfer,  // of `collective`, from the arrival of its last member, `rank`
    kResume,    // `rank` goes on after `collective` was complete
    kWait,      // `rank` waits in `collective`, for whom no trace tells
  };
  Kind kind = Kind::kOwn;
  Nanos start = 0;  // aligned clock
  Nanos end = 0;
  size_t rank = 0;          // rank index
  int32_t collective = -1;  // index; -1 = own time
};

// Of the unchanged replay, from the start of a chain to the end of the rank that ends last (the lowest of several). The
// pieces follow one another without gaps; none is empty. Where the graph falls into parts (PartsOf) it is that of one
// part. O(marks) time and memory.
[[nodiscard]] std::vector<PathPiece> CriticalPath(const graph::SegmentGraph& graph);

}  // namespace headway::replay
