// SPDX-License-Identifier: Apache-2.0
// The ranks of one job met: what every analysis reads.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/segment_graph.h"
#include "pattern/pattern.h"
#include "replay/segment_replay.h"
#include "trace/comm.h"

namespace headway::diagnose {

// Where a rank stands in the job's layout; -1 = not known or not that kind of job.
struct Coordinate {
  int32_t stage = -1;  // pp
  // Stages were counted among the ranks that have a file, and others have none: stages may be missing between and
  // before them, so what is equal or greater is known, but no number is.
  bool stage_unnumbered = false;
  int32_t dp = -1, tp = -1, ep = -1, cp = -1;
};

// Own time by function and step of one rank, where the patterns were read without it: most analyses need it of a few
// suspects and their peers only, and it is half of a pattern. Empty where it cannot be read any more.
using FunctionStepsLoader = std::function<std::vector<pattern::FunctionStep>(RankId rank)>;

struct Job {
  std::vector<pattern::RankPattern> ranks;  // by rank; one entry a rank with a file
  int32_t world_size = 0;                   // as written, else the highest rank + 1
  std::vector<RankId> missing;              // ranks of the world without a file
  FunctionStepsLoader load_function_steps;  // null: the patterns hold their own
  std::vector<std::string> doubts;          // why these may not be the ranks of one job, or not all of it; sentences
  trace::JobComms comms;
  graph::SegmentGraph graph;
  replay::SegmentTimes base;  // the graph replayed unchanged
  replay::ReplayError replay_error;

  // The step axis: numbers seen on at least three quarters of the ranks that have steps, ascending.
  std::vector<int64_t> steps;
  std::string steps_apart;          // which ranks have other steps, and what is compared; empty where all have the same
  std::vector<int32_t> step_index;  // [rank * steps.size() + s] -> index into ranks[rank].steps, -1 = not compared

  std::vector<Coordinate> coordinates;        // by rank index
  std::vector<int32_t> peer_class;            // by rank index: ranks of one class run the same program
  std::vector<std::vector<int32_t>> classes;  // rank indices of each class, ascending

  Nanos median_step = 0;  // over the axis, of the mean over ranks
  Nanos p95_step = 0;
  std::vector<Nanos> step_time;  // by axis step: mean over ranks of start to next start

  [[nodiscard]] size_t num_ranks() const { return ranks.size(); }
  [[nodiscard]] size_t num_steps() const { return steps.size(); }
  // nullptr where the rank lacks the step, or the mark of the next one.
  [[nodiscard]] const pattern::Step* StepOf(size_t rank, size_t step) const {
    const int32_t i = step_index[rank * steps.size() + step];
    return i < 0 ? nullptr : &ranks[rank].steps[static_cast<size_t>(i)];
  }
};

// Own time of a step: everything but exposed communication.
[[nodiscard]] Nanos OwnTime(const pattern::Step& step);

// When a member of a collective ended, on the job's common clock.
[[nodiscard]] Nanos AlignedEnd(const Job& job, const trace::CollectiveMember& member);

// `ranks` in any order, ranks distinct. O(n log n) in communication rows. The answer does not depend on `threads`.
[[nodiscard]] Job JoinJob(std::vector<pattern::RankPattern> ranks, int threads = 1);

}  // namespace headway::diagnose
