// SPDX-License-Identifier: Apache-2.0
// The rules of a replay, in one place: one pass over the marks of a graph, with an edit, that an observer may watch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/segment_graph.h"
#include "replay/segment_replay.h"

namespace headway::replay {

// What an observer is told. Marks come in their order in the graph.
struct Unwatched {
  // A rank arrives; `followed`: the collective whose completion decided when, -1 = its own time did.
  void OnArrival(const graph::Mark& /*mark*/, Nanos /*arrival*/, int32_t /*followed*/) {}
  // A mark has passed, and its rank stands at `now`.
  void OnPassed(Nanos /*now*/) {}
};

template <typename Observer>
class Engine {
 public:
  Engine(const graph::SegmentGraph& graph, const SegmentEdit& edit, Observer* observer)
      : graph_(graph), observer_(*observer), now_(graph.chain_start), complete_(graph.collectives.size(), INT64_MIN) {
    transfer_.reserve(graph.collectives.size());
    for (const auto& c : graph.collectives) transfer_.push_back(c.transfer);
    for (const auto& change : edit.transfers) {
      transfer_[static_cast<size_t>(change.collective)] = change.transfer;
      if (change.lags == 1) continue;
      lags_.resize(graph.collectives.size(), 1);
      lags_[static_cast<size_t>(change.collective)] = change.lags;
    }
    for (const SegmentEdit::Start& change : edit.starts) now_[change.rank] = change.start;
    times_.blocked.assign(now_.size(), 0);
    times_.step_start.assign(graph.step_begin.empty() ? 0 : graph.step_begin.back(), 0);
  }

  // `own` by mark, each mark once.
  SegmentTimes Run(const std::vector<SegmentEdit::Own>& own) {
    size_t next = 0;
    for (const SegmentEdit::Own& change : own) {
      for (; next < change.mark; ++next) Pass(graph_.marks[next]);
      graph::Mark changed = graph_.marks[next++];
      changed.time = change.own;
      Pass(changed);
    }
    for (; next < graph_.marks.size(); ++next) Pass(graph_.marks[next]);
    times_.end = std::move(now_);
    return std::move(times_);
  }

 private:
  // The marks come in an order in which what a resume waits for has happened (graph/schedule.h).
  void Pass(const graph::Mark& mark) {
    Move(mark);
    observer_.OnPassed(now_[mark.rank]);
  }

  void Move(const graph::Mark& mark) {
    using graph::MarkKind;
    Nanos& now = now_[mark.rank];
    const auto target = static_cast<size_t>(mark.target);
    if (mark.IsResume()) {
      Resume(mark, &now);
      return;
    }
    if (mark.kind == MarkKind::kFollow) {  // its arrival is the next mark
      follows_ = Completion(target) + LagOf(mark);
      followed_ = mark.target;
      return;
    }
    now += mark.time;
    if (mark.kind == MarkKind::kArrive) {
      const Nanos follows = std::exchange(follows_, INT64_MIN);
      const Nanos arrival = follows == INT64_MIN ? now : follows;
      observer_.OnArrival(mark, arrival, std::exchange(followed_, -1));
      complete_[target] = std::max(complete_[target], arrival + transfer_[target]);
    } else if (mark.kind == MarkKind::kStep) {
      times_.step_start[graph_.step_begin[mark.rank] + target] = now;
    }
  }

  // One that is not known stands as measured.
  [[nodiscard]] Nanos Completion(size_t target) const {
    return complete_[target] != INT64_MIN ? complete_[target]
                                          : graph_.collectives[target].latest_arrival + transfer_[target];
  }

  [[nodiscard]] Nanos LagOf(const graph::Mark& mark) const {
    if (lags_.empty()) return mark.time;
    return static_cast<Nanos>(lags_[static_cast<size_t>(mark.target)] * static_cast<double>(mark.time));
  }

  void Resume(const graph::Mark& mark, Nanos* now) {
    Nanos resume = *now + mark.time;
    if (mark.kind == graph::MarkKind::kEarlyResume) {
      ++times_.order_violations;
    } else {
      resume = std::max(*now, Completion(static_cast<size_t>(mark.target)) + LagOf(mark));
    }
    times_.blocked[mark.rank] += resume - *now;
    *now = resume;
  }

  const graph::SegmentGraph& graph_;
  Observer& observer_;
  std::vector<Nanos> now_;       // by rank index
  std::vector<Nanos> complete_;  // by collective, of the arrivals so far; INT64_MIN = none
  std::vector<Nanos> transfer_;  // by collective
  std::vector<double> lags_;     // by collective, the share kept of its members' lags; empty where all are
  Nanos follows_ = INT64_MIN;    // when the next arrival comes, if another collective decides it
  int32_t followed_ = -1;        // that collective
  SegmentTimes times_;
};

}  // namespace headway::replay
