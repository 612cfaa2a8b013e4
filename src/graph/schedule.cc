// SPDX-License-Identifier: Apache-2.0
#include "graph/schedule.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"

namespace headway::graph {
namespace {

constexpr size_t kBlock = 32;  // ranks that share a source's buffers

// A stretch of a chain that happens as one. First `at` is the collective's place in the order, then where it lies in
// SegmentGraph::marks.
struct Run {
  uint32_t at = 0;
  uint32_t count = 0;
};

// Marked too early, a resume has its distance from a completion that no replay knows by then: what stays is how long
// the rank was blocked. Needs the times of the chains up to there.
void KeepBlockedTimes(SegmentGraph* graph) {
  const auto is_early = [](const Mark& mark) { return mark.kind == MarkKind::kEarlyResume; };
  if (std::none_of(graph->marks.begin(), graph->marks.end(), is_early)) return;
  std::vector<Nanos> now = graph->chain_start;
  for (Mark& mark : graph->marks) {
    Nanos& at = now[mark.rank];
    if (mark.kind == MarkKind::kFollow) continue;
    if (!mark.IsResume()) {
      at += mark.time;
      continue;
    }
    const SegmentCollective& c = graph->collectives[static_cast<size_t>(mark.target)];
    const Nanos blocked = std::max<Nanos>(0, c.latest_arrival + c.transfer + mark.time - at);
    if (is_early(mark)) mark.time = blocked;
    at += blocked;
  }
}

class Scheduler {
 public:
  Scheduler(size_t ranks, const std::function<ChainSource()>& make_source, int threads, SegmentGraph* graph)
      : make_source_(make_source), threads_(threads), graph_(*graph), runs_(ranks), place_(graph->collectives.size()) {
    for (size_t i = 0; i < graph->order.size(); ++i) {
      place_[static_cast<size_t>(graph->order[i])] = static_cast<uint32_t>(i);
    }
  }

  void Schedule() {
    std::vector<size_t> steps(runs_.size());
    ForEachChain([&](size_t r, std::span<Mark> chain) {
      runs_[r] = Cut(chain);
      steps[r] = static_cast<size_t>(std::count_if(chain.begin(), chain.end(), IsStep));
    });
    graph_.chain_begin.assign(1, 0);
    graph_.step_begin.assign(1, 0);
    for (size_t r = 0; r < runs_.size(); ++r) {
      size_t marks = 0;
      for (const Run& run : runs_[r]) marks += run.count;
      graph_.chain_begin.push_back(graph_.chain_begin.back() + marks);
      graph_.step_begin.push_back(graph_.step_begin.back() + steps[r]);
    }
    graph_.marks.resize(graph_.chain_begin.back());
    graph_.chain.resize(graph_.chain_begin.back());
    graph_.step_at.resize(graph_.step_begin.back());
    Locate();
    ForEachChain([&](size_t r, std::span<Mark> chain) {
      (void)Cut(chain);
      Place(r, chain);
    });
    KeepBlockedTimes(&graph_);
  }

 private:
  static bool IsStep(const Mark& mark) { return mark.kind == MarkKind::kStep; }

  template <typename Visit>
  void ForEachChain(Visit visit) {
    ParallelBlocks(runs_.size(), kBlock, threads_, [&](size_t begin, size_t end) {
      const ChainSource source = make_source_();
      for (size_t r = begin; r < end; ++r) visit(r, source(r));
    });
  }

  // A mark happens with the first collective, in the order, that the chain arrives at there or later. Marks resumes
  // that come too early for that.
  [[nodiscard]] std::vector<Run> Cut(std::span<Mark> chain) const {
    std::vector<Run> runs;  // the last one first
    Run run{static_cast<uint32_t>(place_.size()), 0};
    for (size_t m = chain.size(); m-- > 0; ++run.count) {
      Mark& mark = chain[m];
      if (mark.kind == MarkKind::kResume && place_[static_cast<size_t>(mark.target)] >= run.at) {
        mark.kind = MarkKind::kEarlyResume;
      }
      // No collective completes before one that comes later in the order: the measured arrival stands.
      if (mark.kind == MarkKind::kFollow && place_[static_cast<size_t>(mark.target)] >= run.at) {
        mark = MakeMark(MarkKind::kWork, mark.rank, 0);
      }
      if (mark.kind != MarkKind::kArrive || place_[static_cast<size_t>(mark.target)] >= run.at) continue;
      if (run.count > 0) runs.push_back(run);
      run = {place_[static_cast<size_t>(mark.target)], 0};
    }
    if (run.count > 0) runs.push_back(run);
    std::reverse(runs.begin(), runs.end());
    return runs;
  }

  void Locate() {
    std::vector<uint32_t> next(place_.size() + 2, 0);
    for (const std::vector<Run>& of_rank : runs_) {
      for (const Run& run : of_rank) next[run.at + 1] += run.count;
    }
    for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    for (std::vector<Run>& of_rank : runs_) {
      for (Run& run : of_rank) {
        uint32_t& at = next[run.at];
        run.at = std::exchange(at, at + run.count);
      }
    }
  }

  void Place(size_t r, std::span<const Mark> chain) {
    uint32_t position = 0;
    for (const Run& run : runs_[r]) {
      for (uint32_t k = 0; k < run.count; ++k, ++position) {
        const Mark& mark = chain[position];
        graph_.marks[run.at + k] = mark;
        graph_.chain[graph_.chain_begin[r] + position] = run.at + k;
        if (IsStep(mark)) graph_.step_at[graph_.step_begin[r] + static_cast<size_t>(mark.target)] = position;
      }
    }
  }

  const std::function<ChainSource()>& make_source_;
  int threads_;
  SegmentGraph& graph_;
  std::vector<std::vector<Run>> runs_;  // by rank index
  std::vector<uint32_t> place_;         // by collective: its place in the order
};

}  // namespace

void ScheduleMarks(size_t ranks, const std::function<ChainSource()>& make_source, int threads, SegmentGraph* graph) {
  Scheduler(ranks, make_source, threads, graph).Schedule();
}

}  // namespace headway::graph
