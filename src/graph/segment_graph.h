// SPDX-License-Identifier: Apache-2.0
// The coarse graph of a job: each rank a chain of pieces of own time between the points where it meets others.
//
// A chain has three kinds of marks. Arrive: the rank entered a collective. Resume: it went on after having been blocked
// in one. Step: a step began. Between two marks lies own time only. A collective completes `transfer` after its latest
// member arrived; a rank that resumes does so `lag` after that. Overlapped communication has an arrive mark and no
// resume mark. Waiting is not stored: replay finds it. Operations of one stream run one after the other: one that was
// ready earlier arrives when the one before it is complete, whatever the rank did meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/raw_vector.h"
#include "base/units.h"
#include "pattern/pattern.h"
#include "trace/comm.h"

namespace headway::graph {

enum class MarkKind : uint32_t {
  kArrive,
  kFollow,  // directly before an arrival: it comes when another collective has completed, not after own time
  kResume,
  kEarlyResume,  // of a collective whose last member has not arrived by then: blocked for as long as was measured
  kStep,
  kWork,  // own time before a resume, where there is any
  kEnd,
};

// Two for each communication row of the job: 16 bytes, and without initial values, so that many can be allocated
// without being written.
struct Mark {
  // Own time since the mark before in its chain; kResume, kFollow: from the completion; kEarlyResume: blocked.
  Nanos time;
  int32_t target;      // arrivals, resumes, kFollow: collective index; kStep: index into the rank's steps; else -1
  uint32_t rank : 29;  // rank index
  MarkKind kind : 3;

  [[nodiscard]] bool IsResume() const { return kind == MarkKind::kResume || kind == MarkKind::kEarlyResume; }
  [[nodiscard]] Nanos Own() const { return IsResume() || kind == MarkKind::kFollow ? 0 : time; }
};
static_assert(sizeof(Mark) == 16);

[[nodiscard]] inline Mark MakeMark(MarkKind kind, size_t rank, Nanos time, int32_t target = -1) {
  Mark mark;
  mark.time = time;
  mark.target = target;
  mark.rank = static_cast<uint32_t>(rank) & ((uint32_t{1} << 29U) - 1);
  mark.kind = kind;
  return mark;
}

// Without initial values, as Mark.
struct SegmentCollective {
  Nanos latest_arrival;    // aligned clock
  Nanos transfer;          // first end - latest arrival, >= 0
  Nanos wait;              // sum over members of the part of their exposed time before the latest arrival
  Nanos exposed_transfer;  // sum over members of the rest of their exposed time
  Nanos margin;            // latest arrival - second latest: below the clocks' residual the order says nothing
  Nanos shortest;          // the shortest time a member spent in it, >= 0; of a host's message its transfer
  Nanos end_spread;        // latest end - first end
  Nanos first_end_margin;  // second end - first
  Nanos last_end_margin;   // latest end - second latest
  int32_t last_rank;       // rank index of the latest arriver (lowest at equal times)
  int32_t first_to_end;    // rank indices of those that end first and last
  int32_t last_to_end;
};

// Immutable once built. Indices of collectives are those of JobComms, indices of marks fit 32 bits (2^32 of them would
// be 100 GB).
struct SegmentGraph {
  // The marks of all chains in an order they can happen in (graph/schedule.h): a replay is one pass over them.
  RawVector<Mark> marks;
  RawVector<uint32_t> chain;        // indices into marks: all chains, one after the other
  std::vector<size_t> chain_begin;  // by rank index, plus the end
  std::vector<Nanos> chain_start;   // aligned time of the chain's begin (the rank's window start)
  std::vector<size_t> step_begin;   // by rank index, plus the end: its steps in the following
  std::vector<uint32_t> step_at;    // [step_begin[rank] + step] -> where in the rank's chain the step's mark lies
  RawVector<SegmentCollective> collectives;
  std::vector<int32_t> order;            // collectives by (latest arrival, index): a topological order
  std::vector<size_t> row_begin;         // by rank index, plus the end: its communication rows in the following
  RawVector<int32_t> collective_of_row;  // the collective a row belongs to, -1 = none

  [[nodiscard]] std::span<const uint32_t> Chain(size_t rank) const {
    return {chain.data() + chain_begin[rank], chain_begin[rank + 1] - chain_begin[rank]};
  }
  [[nodiscard]] std::span<const int32_t> CollectivesOfRows(size_t rank) const {
    return {collective_of_row.data() + row_begin[rank], row_begin[rank + 1] - row_begin[rank]};
  }
};

// `ranks` parallel to the RankComms that `comms` was joined from. Time and memory linear in communication rows
// (plus sorting them by time per rank where they are not). The answer does not depend on `threads`.
[[nodiscard]] SegmentGraph BuildSegmentGraph(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms,
                                             int threads = 1);

}  // namespace headway::graph
