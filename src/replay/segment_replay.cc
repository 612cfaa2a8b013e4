// SPDX-License-Identifier: Apache-2.0
#include "replay/segment_replay.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headway::replay {

using graph::Mark;
using graph::MarkKind;
using graph::SegmentGraph;

namespace {

class Engine {
 public:
  Engine(const SegmentGraph& graph, const SegmentEdit& edit) : graph_(graph), ranks_(graph.chain_start.size()) {
    own_.reserve(graph.marks.size());
    for (const Mark& mark : graph.marks) own_.push_back(mark.own);
    for (const SegmentEdit::Own& change : edit.own) own_[change.mark] = change.own;
    transfer_.reserve(graph.collectives.size());
    for (const auto& c : graph.collectives) transfer_.push_back(c.transfer);
    for (const auto& change : edit.transfers) transfer_[static_cast<size_t>(change.collective)] = change.transfer;
    arrival_.assign(graph.collectives.size(), INT64_MIN);
    complete_.assign(graph.collectives.size(), INT64_MIN);
    cursor_.assign(graph.chain_begin.begin(), graph.chain_begin.end() - 1);
    now_ = graph.chain_start;
    for (const SegmentEdit::Start& change : edit.starts) now_[change.rank] = change.start;
    times_.blocked.assign(ranks_, 0);
    times_.step_begin.push_back(0);
    for (size_t r = 0; r < ranks_; ++r) {
      size_t steps = 0;
      for (const Mark& mark : graph.Chain(r)) steps += mark.kind == MarkKind::kStep ? 1 : 0;
      times_.step_begin.push_back(times_.step_begin.back() + steps);
    }
    times_.step_start.assign(times_.step_begin.back(), 0);
  }

  SegmentTimes Run() {
    for (const int32_t c : graph_.order) {
      const auto i = static_cast<size_t>(c);
      for (size_t m = graph_.member_begin[i]; m < graph_.member_begin[i + 1]; ++m) {
        const graph::SegmentMember& member = graph_.members[m];
        AdvanceThrough(member.rank, graph_.chain_begin[member.rank] + member.mark);
      }
      complete_[i] =
          arrival_[i] == INT64_MIN ? graph_.collectives[i].latest_arrival + transfer_[i] : arrival_[i] + transfer_[i];
    }
    for (size_t r = 0; r < ranks_; ++r) {
      if (graph_.chain_begin[r + 1] > 0) AdvanceThrough(r, graph_.chain_begin[r + 1] - 1);
    }
    times_.end = std::move(now_);
    return std::move(times_);
  }

 private:
  // Runs rank r's chain up to and including mark `last`; nothing if it is past it already.
  void AdvanceThrough(size_t r, size_t last) {
    Nanos& now = now_[r];
    for (size_t& m = cursor_[r]; m <= last && m < graph_.chain_begin[r + 1]; ++m) {
      const Mark& mark = graph_.marks[m];
      now += own_[m];
      const auto target = static_cast<size_t>(mark.target);
      if (mark.kind == MarkKind::kArrive) {
        const Nanos before = mark.after < 0 ? INT64_MIN : complete_[static_cast<size_t>(mark.after)];
        arrival_[target] = std::max(arrival_[target], before == INT64_MIN ? now : before + mark.lag);
      } else if (mark.kind == MarkKind::kStep) {
        times_.step_start[times_.step_begin[r] + target] = now;
      } else if (mark.kind == MarkKind::kResume) {
        Nanos complete = complete_[target];
        if (complete == INT64_MIN) {
          ++times_.order_violations;
          complete = graph_.collectives[target].latest_arrival + transfer_[target];
        }
        const Nanos resume = std::max(now, complete + mark.lag);
        times_.blocked[r] += resume - now;
        now = resume;
      }
    }
  }

  const SegmentGraph& graph_;
  size_t ranks_;
  std::vector<Nanos> own_, transfer_, arrival_, complete_, now_;
  std::vector<size_t> cursor_;
  SegmentTimes times_;
};

}  // namespace

Nanos SegmentTimes::Makespan(const SegmentGraph& graph) const {
  if (end.empty()) return 0;
  return *std::max_element(end.begin(), end.end()) -
         *std::min_element(graph.chain_start.begin(), graph.chain_start.end());
}

std::vector<Nanos> SegmentTimes::Makespans(const SegmentGraph& graph, std::span<const int32_t> parts) const {
  std::vector<Nanos> first, last;
  for (size_t r = 0; r < parts.size(); ++r) {
    const auto p = static_cast<size_t>(parts[r]);
    if (p >= first.size()) {
      first.resize(p + 1, INT64_MAX);
      last.resize(p + 1, INT64_MIN);
    }
    first[p] = std::min(first[p], graph.chain_start[r]);
    last[p] = std::max(last[p], end[r]);
  }
  for (size_t p = 0; p < first.size(); ++p) last[p] -= first[p];
  return last;
}

std::vector<int32_t> PartsOf(const SegmentGraph& graph) {
  std::vector<size_t> parent(graph.chain_start.size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto find = [&parent](size_t r) {
    while (parent[r] != r) r = parent[r] = parent[parent[r]];
    return r;
  };
  for (size_t c = 0; c < graph.collectives.size(); ++c) {
    for (size_t m = graph.member_begin[c] + 1; m < graph.member_begin[c + 1]; ++m) {
      const size_t a = find(graph.members[m - 1].rank);
      const size_t b = find(graph.members[m].rank);
      parent[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<int32_t> out(parent.size(), -1);
  int32_t next = 0;
  for (size_t r = 0; r < parent.size(); ++r) {
    int32_t& number = out[find(r)];  // a root is the lowest of its part, so it comes first
    if (number < 0) number = next++;
    out[r] = number;
  }
  return out;
}

SegmentTimes ReplaySegments(const SegmentGraph& graph, const SegmentEdit& edit) { return Engine(graph, edit).Run(); }

ReplayError CompareSteps(const SegmentTimes& replayed, std::span<const pattern::RankPattern> ranks) {
  ReplayError error;
  double sum = 0;
  int64_t count = 0;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const auto& steps = ranks[r].steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      const size_t at = replayed.step_begin[r] + s;
      const Nanos next = s + 1 < steps.size() ? replayed.step_start[at + 1] : replayed.end[r];
      const auto measured = static_cast<double>(steps[s].end - steps[s].start);
      if (measured <= 0) continue;
      const double e = std::abs(static_cast<double>(next - replayed.step_start[at]) - measured) / measured;
      sum += e;
      ++count;
      error.max = std::max(error.max, e);
    }
  }
  if (count > 0) error.mean = sum / static_cast<double>(count);
  return error;
}

}  // namespace headway::replay
