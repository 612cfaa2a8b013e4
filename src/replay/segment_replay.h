// SPDX-License-Identifier: Apache-2.0
// Runs a segment graph again: unchanged (its error against the measured steps is the replay error) or with pieces of
// own time and transfers replaced (what removing a cause would bring).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "graph/segment_graph.h"

namespace headway::replay {

// What to change. Own times and transfers not named stay as measured.
struct SegmentEdit {
  struct Own {
    uint32_t mark = 0;  // index into SegmentGraph::marks; none of a resume
    Nanos own = 0;      // its new own time
  };
  struct Transfer {
    int32_t collective = -1;
    Nanos transfer = 0;
    double lags = 1;  // the share kept of what members go on later by than it completes, as behind a slow link
  };
  struct Start {
    size_t rank = 0;  // rank index
    Nanos start = 0;  // aligned time its chain begins at
  };
  std::vector<Own> own;
  std::vector<Transfer> transfers;
  std::vector<Start> starts;
};

struct SegmentTimes {
  std::vector<Nanos> step_start;  // aligned; rank r's step s at [graph.step_begin[r] + s]
  std::vector<Nanos> end;         // by rank index: end of the chain
  std::vector<Nanos> blocked;     // by rank index: time spent at resume marks
  int64_t order_violations = 0;   // resumes whose collective was not complete yet: measured time used

  // Length of each part of the run (see PartsOf): latest end - earliest start.
  [[nodiscard]] std::vector<Nanos> Makespans(const graph::SegmentGraph& graph, std::span<const int32_t> parts) const;
};

// Ranks that meet, directly or through others, form a part: a number per rank index, by first member. A job is one part
// unless some of its communication could not be paired. O(marks).
[[nodiscard]] std::vector<int32_t> PartsOf(const graph::SegmentGraph& graph);

// One pass over the marks, in their order. A chain starts at its measured time; t += own at each mark; a rank arrives
// at t, or when the collective that its stream had to finish first is complete; a collective completes `transfer` after
// its last arrival; a resume continues at max(t, completion + lag), what follows on its stream at completion + lag.
[[nodiscard]] SegmentTimes ReplaySegments(const graph::SegmentGraph& graph, const SegmentEdit& edit = {});

// |replayed - measured| / measured of each step, the step's length on a rank being from its start to the next.
struct ReplayError {
  double mean = 0;
  double max = 0;
};
[[nodiscard]] ReplayError CompareSteps(const graph::SegmentGraph& graph, const SegmentTimes& replayed,
                                       std::span<const pattern::RankPattern> ranks);

}  // namespace headway::replay
