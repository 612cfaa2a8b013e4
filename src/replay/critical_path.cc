// SPDX-License-Identifier: Apache-2.0
#include "replay/critical_path.h"

#include <algorithm>
#include <utility>

#include "replay/engine.h"

namespace headway::replay {

using graph::Mark;
using graph::MarkKind;
using graph::SegmentGraph;
using Kind = PathPiece::Kind;

namespace {

constexpr Nanos kUnknown = INT64_MIN;

// Keeps who decided what in a replay without changes, and goes back from its end.
class Trail {
 public:
  explicit Trail(const SegmentGraph& graph)
      : graph_(graph), last_(graph.collectives.size()), place_(graph.marks.size()) {
    for (size_t r = 0; r < graph.chain_start.size(); ++r) {
      const auto chain = graph.Chain(r);
      for (size_t k = 0; k < chain.size(); ++k) place_[chain[k]] = static_cast<uint32_t>(k);
    }
    after_.reserve(graph.marks.size());
    ends_ = Engine<Trail>(graph, {}, this).Run({}).end;
  }

  void OnArrival(const Mark& mark, Nanos arrival, int32_t followed) {
    Last& last = last_[static_cast<size_t>(mark.target)];
    if (arrival > last.arrival) last = {arrival, after_.size(), followed};
  }
  void OnPassed(Nanos now) { after_.push_back(now); }

  [[nodiscard]] std::vector<PathPiece> Walk() {
    if (ends_.empty()) return {};
    rank_ = static_cast<size_t>(std::max_element(ends_.begin(), ends_.end()) - ends_.begin());
    at_ = graph_.Chain(rank_).size();
    now_ = ends_[rank_];
    while (at_ > 0) Back();
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  // The arrival that completes a collective.
  struct Last {
    Nanos arrival = kUnknown;
    size_t mark = 0;
    int32_t follows = -1;  // the collective that its stream had to finish first and that decided the arrival
  };

  [[nodiscard]] bool Known(const Mark& resume) const {
    return resume.kind != MarkKind::kEarlyResume && last_[static_cast<size_t>(resume.target)].arrival != kUnknown;
  }
  [[nodiscard]] Nanos Completion(int32_t collective) const {
    const auto c = static_cast<size_t>(collective);
    return last_[c].arrival + graph_.collectives[c].transfer;
  }

  // Over the mark before `at_`. The path only ever goes to marks before, so it ends.
  void Back() {
    const auto chain = graph_.Chain(rank_);
    const size_t m = chain[at_ - 1];
    const Mark& mark = graph_.marks[m];
    const Nanos before = at_ > 1 ? after_[chain[at_ - 2]] : graph_.chain_start[rank_];
    if (mark.IsResume() && before < now_ && Known(mark) && last_[static_cast<size_t>(mark.target)].mark < m) {
      Add(Kind::kResume, std::min(now_, Completion(mark.target)), mark.target);
      Follow(mark.target);
      return;
    }
    Add(mark.IsResume() ? Kind::kWait : Kind::kOwn, before, mark.IsResume() ? mark.target : -1);
    --at_;
  }

  // From the completion of a collective to who arrived there last, over those that its stream had to finish first.
  void Follow(int32_t collective) {
    while (true) {
      const Last& last = last_[static_cast<size_t>(collective)];
      rank_ = graph_.marks[last.mark].rank;
      at_ = place_[last.mark] + size_t{1};
      Add(Kind::kTransfer, std::min(now_, last.arrival), collective);
      if (last.follows < 0) return;
      const Last& first = last_[static_cast<size_t>(last.follows)];
      if (first.arrival == kUnknown || first.mark >= last.mark) return;
      collective = last.follows;
    }
  }

  // A piece from `start` to where the path has come.
  void Add(Kind kind, Nanos start, int32_t collective) {
    if (start >= now_) return;
    const bool longer = !path_.empty() && kind == Kind::kOwn && path_.back().kind == kind && path_.back().rank == rank_;
    if (longer) {
      path_.back().start = start;
    } else {
      path_.push_back({kind, start, now_, rank_, collective});
    }
    now_ = start;
  }

  const SegmentGraph& graph_;
  std::vector<Nanos> after_;     // by mark: where its rank stands behind it
  std::vector<Last> last_;       // by collective
  std::vector<uint32_t> place_;  // by mark: where it lies in its rank's chain
  std::vector<Nanos> ends_;      // by rank index
  std::vector<PathPiece> path_;  // backwards
  size_t rank_ = 0, at_ = 0;     // the marks of the rank's chain that are still before the path
  Nanos now_ = 0;
};

}  // namespace

std::vector<PathPiece> CriticalPath(const SegmentGraph& graph) { return Trail(graph).Walk(); }

}  // namespace headway::replay
