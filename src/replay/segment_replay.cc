// SPDX-License-Identifier: Apache-2.0
#include "replay/segment_replay.h"

#include <algorithm>
#include <cmath>

#include "base/disjoint_sets.h"
#include "replay/engine.h"

namespace headway::replay {

using graph::Mark;
using graph::MarkKind;
using graph::SegmentGraph;

namespace {

// By mark; of several changes of one mark the last holds.
std::vector<SegmentEdit::Own> InOrder(std::vector<SegmentEdit::Own> own) {
  const auto before = [](const SegmentEdit::Own& a, const SegmentEdit::Own& b) { return a.mark < b.mark; };
  if (!std::is_sorted(own.begin(), own.end(), before)) std::stable_sort(own.begin(), own.end(), before);
  size_t kept = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    if (i + 1 < own.size() && own[i + 1].mark == own[i].mark) continue;
    own[kept++] = own[i];
  }
  own.resize(kept);
  return own;
}

}  // namespace

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
  DisjointSets sets(graph.chain_start.size());
  constexpr uint32_t kNobody = UINT32_MAX;
  std::vector<uint32_t> met(graph.collectives.size(), kNobody);  // the rank that arrived there before
  for (const Mark& mark : graph.marks) {
    if (mark.kind != MarkKind::kArrive) continue;
    const uint32_t other = std::exchange(met[static_cast<size_t>(mark.target)], mark.rank);
    if (other != kNobody) sets.Unite(other, mark.rank);
  }
  std::vector<int32_t> out(graph.chain_start.size(), -1);
  int32_t next = 0;
  for (size_t r = 0; r < out.size(); ++r) {
    int32_t& number = out[sets.Find(r)];  // a root is the lowest of its part, so it comes first
    if (number < 0) number = next++;
    out[r] = number;
  }
  return out;
}

SegmentTimes ReplaySegments(const SegmentGraph& graph, const SegmentEdit& edit) {
  Unwatched unwatched;
  return Engine<Unwatched>(graph, edit, &unwatched).Run(InOrder(edit.own));
}

ReplayError CompareSteps(const SegmentGraph& graph, const SegmentTimes& replayed,
                         std::span<const pattern::RankPattern> ranks) {
  ReplayError error;
  double sum = 0;
  int64_t count = 0;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const auto& steps = ranks[r].steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      const size_t at = graph.step_begin[r] + s;
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
