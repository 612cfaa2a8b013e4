// SPDX-License-Identifier: Apache-2.0
// The coarse graph of a job: each rank a chain of pieces of own time between the points where it meets others.
//
// A chain has three kinds of marks. Arrive: the rank entered a collective. Resume: it went on after having been blocked
// in one. Step: a step began. Between two marks lies own time only. A collective completes `transfer` after its latest
// member arrived; a rank that resumes does so `lag` after that. Overlapped communication has an arrive mark and no
// resume mark. Waiting is not stored: replay finds it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "pattern/pattern.h"
#include "trace/comm.h"

namespace headway::graph {

enum class MarkKind : uint8_t { kArrive, kResume, kStep, kEnd };

struct Mark {
  Nanos own = 0;        // own time since the mark before
  int32_t target = -1;  // kArrive, kResume: collective index; kStep: index into the rank's steps
  // kResume: ns from the collective's completion to going on; kArrive after another one: from that one's completion.
  int32_t lag = 0;
  MarkKind kind = MarkKind::kArrive;
  // kArrive: the collective that had to end first as both run on one stream, whatever the rank did meanwhile; -1 = the
  // rank's own time decides.
  int32_t after = -1;
};

struct SegmentCollective {
  Nanos latest_arrival = 0;    // aligned clock
  Nanos transfer = 0;          // first end - latest arrival, >= 0
  Nanos wait = 0;              // sum over members of the part of their exposed time before the latest arrival
  Nanos exposed_transfer = 0;  // sum over members of the rest of their exposed time
  int32_t last_rank = -1;      // rank index of the latest arriver (lowest at equal times)
  Nanos margin = 0;            // latest arrival - second latest: below the clocks' residual the order says nothing
};

// Where a collective's members arrive, for replay: mark `mark` of rank `rank`'s chain.
struct SegmentMember {
  uint32_t rank = 0;
  uint32_t mark = 0;
};

// Immutable once built. Indices of collectives are those of JobComms.
struct SegmentGraph {
  std::vector<Mark> marks;          // all chains, one after the other
  std::vector<size_t> chain_begin;  // by rank index, plus the end
  std::vector<Nanos> chain_start;   // aligned time of the chain's begin (the rank's window start)
  std::vector<SegmentCollective> collectives;
  std::vector<int32_t> order;          // collectives by (latest arrival, index): a topological order
  std::vector<SegmentMember> members;  // by collective, then rank
  std::vector<size_t> member_begin;    // by collective, plus the end

  [[nodiscard]] std::span<const Mark> Chain(size_t rank) const {
    return {marks.data() + chain_begin[rank], chain_begin[rank + 1] - chain_begin[rank]};
  }
};

// Fills members and member_begin from the marks. O(marks).
void IndexMembers(SegmentGraph* graph);

// `ranks` parallel to the RankComms that `comms` was joined from. Time and memory linear in communication rows
// (plus sorting them by time per rank).
[[nodiscard]] SegmentGraph BuildSegmentGraph(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms);

}  // namespace headway::graph
