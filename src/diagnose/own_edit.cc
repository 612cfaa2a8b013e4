// SPDX-License-Identifier: Apache-2.0
#include "diagnose/own_edit.h"

#include <algorithm>

#include "diagnose/excess.h"

namespace headway::diagnose {

using graph::Mark;
using graph::MarkKind;

namespace {

// The marks of one step of a chain, cut into segments that end with an arrival (the last one with the step).
struct StepSegments {
  std::vector<std::vector<uint32_t>> marks;  // by segment, those with own time: indices into SegmentGraph::marks
  std::vector<Nanos> own;                    // by segment
};

StepSegments Cut(const Job& job, size_t rank, size_t axis_step) {
  StepSegments out;
  const int32_t wanted = job.step_index[rank * job.num_steps() + axis_step];
  if (wanted < 0) return out;
  const std::span<const uint32_t> chain = job.graph.Chain(rank);
  out.marks.emplace_back();
  out.own.push_back(0);
  const uint32_t begin = job.graph.step_at[job.graph.step_begin[rank] + static_cast<size_t>(wanted)];
  for (size_t i = begin + 1; i < chain.size(); ++i) {
    const Mark& mark = job.graph.marks[chain[i]];
    if (mark.Own() > 0) out.marks.back().push_back(chain[i]);
    out.own.back() += mark.Own();
    if (mark.kind == MarkKind::kStep) break;  // the own time before a step mark belongs to the step before it
    if (mark.kind == MarkKind::kArrive) {
      out.marks.emplace_back();
      out.own.push_back(0);
    }
  }
  return out;
}

}  // namespace

void RemoveOwnTime(const Job& job, size_t rank, const std::vector<size_t>& peers, const std::vector<Nanos>& amount,
                   replay::SegmentEdit* edit) {
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (amount[s] <= 0) continue;
    const StepSegments mine = Cut(job, rank, s);
    std::vector<Nanos> excess(mine.own.size(), 0);
    std::vector<StepSegments> others;
    for (const size_t p : peers) {
      StepSegments cut = Cut(job, p, s);
      if (cut.own.size() == mine.own.size()) others.push_back(std::move(cut));
    }
    Nanos sum = 0;
    for (size_t k = 0; k < excess.size(); ++k) {
      std::vector<Nanos> values;
      for (const StepSegments& other : others) values.push_back(other.own[k]);
      excess[k] = others.empty() ? mine.own[k] : std::max<Nanos>(0, mine.own[k] - Median(std::move(values)));
      sum += excess[k];
    }
    if (sum <= 0) {
      excess = mine.own;
      for (const Nanos x : excess) sum += x;
    }
    if (sum <= 0) continue;
    const double share = std::min(1.0, static_cast<double>(amount[s]) / static_cast<double>(sum));
    for (size_t k = 0; k < excess.size(); ++k) {
      if (excess[k] <= 0 || mine.own[k] <= 0) continue;
      const double keep = 1.0 - share * static_cast<double>(excess[k]) / static_cast<double>(mine.own[k]);
      for (const uint32_t m : mine.marks[k]) {
        edit->own.push_back({m, static_cast<Nanos>(keep * static_cast<double>(job.graph.marks[m].Own()))});
      }
    }
  }
}

}  // namespace headway::diagnose
