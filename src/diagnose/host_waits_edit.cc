// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_waits_edit.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headway::diagnose {

using graph::Mark;
using graph::MarkKind;
using pattern::kStepSlices;

namespace {

// A piece of own time of a step.
struct Piece {
  uint32_t mark = 0;
  Nanos begin = 0;  // aligned
  Nanos end = 0;
};

// By axis step.
using Pieces = std::vector<std::vector<Piece>>;

// When the pieces of a rank were, by what was measured.
Pieces PiecesOf(const Job& job, size_t rank) {
  Pieces out(job.num_steps());
  std::vector<int32_t> axis(job.ranks[rank].steps.size(), -1);
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const int32_t i = job.step_index[rank * job.num_steps() + s];
    if (i >= 0) axis[static_cast<size_t>(i)] = static_cast<int32_t>(s);
  }
  const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[rank])];
  Nanos now = job.graph.chain_start[rank];
  int32_t step = -1;  // on the axis
  for (const uint32_t m : job.graph.Chain(rank)) {
    const Mark& mark = job.graph.marks[m];
    if (mark.kind == MarkKind::kFollow) continue;
    if (mark.kind == MarkKind::kEarlyResume) {
      now += mark.time;
    } else if (mark.kind == MarkKind::kResume) {
      const graph::SegmentCollective& c = job.graph.collectives[static_cast<size_t>(mark.target)];
      now = std::max(now, c.latest_arrival + c.transfer + mark.time);
    } else {
      if (step >= 0 && mark.time > 0) out[static_cast<size_t>(step)].push_back({m, now, now + mark.time});
      now += mark.time;
    }
    if (mark.kind != MarkKind::kStep) continue;
    step = axis[static_cast<size_t>(mark.target)];
    now = trace::Align(clock, job.ranks[rank].steps[static_cast<size_t>(mark.target)].start);
  }
  return out;
}

template <typename Visit>
void ForEachSlice(const Piece& piece, const std::array<Nanos, kStepSlices + 1>& edges, Visit visit) {
  for (size_t i = 0; i < kStepSlices && edges[i] < piece.end; ++i) {
    const Nanos shared = std::min(piece.end, edges[i + 1]) - std::max(piece.begin, edges[i]);
    if (shared > 0) visit(i, static_cast<double>(shared));
  }
}

// Whether the step says where its device waited.
bool Remove(const Job& job, size_t rank, const pattern::Step& step, const std::vector<Piece>& pieces, Nanos amount,
            replay::SegmentEdit* edit) {
  const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[rank])];
  const Nanos start = trace::Align(clock, step.start), end = trace::Align(clock, step.end);
  std::array<Nanos, kStepSlices + 1> edges{};
  for (size_t i = 0; i <= kStepSlices; ++i) edges[i] = pattern::SliceBegin(start, end, i);
  double told = 0;
  for (const uint8_t share : step.behind_host) told += share;
  if (told <= 0) return false;
  std::array<double, kStepSlices> own{}, keep{};
  for (const Piece& piece : pieces) {
    ForEachSlice(piece, edges, [&](size_t i, double shared) { own[i] += shared; });
  }
  for (size_t i = 0; i < kStepSlices; ++i) {
    const double less = static_cast<double>(amount) * step.behind_host[i] / told;
    keep[i] = own[i] > 0 ? std::max(0.0, 1 - less / own[i]) : 1;
  }
  for (const Piece& piece : pieces) {
    double less = 0;
    ForEachSlice(piece, edges, [&](size_t i, double shared) { less += (1 - keep[i]) * shared; });
    if (less > 0) edit->own.push_back({piece.mark, piece.end - piece.begin - std::llround(less)});
  }
  return true;
}

}  // namespace

std::vector<Nanos> RemoveWaitsForHost(const Job& job, size_t rank, const std::vector<Nanos>& amount,
                                      replay::SegmentEdit* edit) {
  const Pieces pieces = PiecesOf(job, rank);
  std::vector<Nanos> untold(job.num_steps(), 0);
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const pattern::Step* step = job.StepOf(rank, s);
    if (amount[s] <= 0 || step == nullptr) continue;
    if (!Remove(job, rank, *step, pieces[s], amount[s], edit)) untold[s] = amount[s];
  }
  return untold;
}

}  // namespace headway::diagnose
