// SPDX-License-Identifier: Apache-2.0
#include "diagnose/own_edit.h"

#include <algorithm>
#include <functional>

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

// By segment: own time beyond that of the middle peer; 0 where there is none to compare with.
std::vector<double> ExcessOver(const StepSegments& mine, const std::vector<StepSegments>& others) {
  std::vector<double> out(mine.own.size(), 0);
  if (others.empty()) return out;
  for (size_t k = 0; k < out.size(); ++k) {
    std::vector<Nanos> values;
    for (const StepSegments& other : others) values.push_back(other.own[k]);
    out[k] = static_cast<double>(mine.own[k] - Median(std::move(values)));
  }
  return out;
}

std::vector<double> Proportional(const std::vector<Nanos>& own, double amount) {
  double sum = 0;
  for (const Nanos x : own) sum += static_cast<double>(x);
  std::vector<double> out;
  for (const Nanos x : own) out.push_back(sum > 0 ? std::min(1.0, amount / sum) * static_cast<double>(x) : 0);
  return out;
}

// What lies above one threshold, the one above which they add up to `amount`: of hundreds of short segments those that
// happen to be longer add up, too, and would give for one that is. All that is above 0, if that is less.
std::vector<double> Denoised(std::vector<double> excess, double amount) {
  std::vector<double> sorted = excess;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0, threshold = 0;
  for (size_t n = 0; n < sorted.size() && sorted[n] > 0; ++n) {
    sum += sorted[n];
    const double next = n + 1 < sorted.size() ? std::max(0.0, sorted[n + 1]) : 0;
    if (sum - next * static_cast<double>(n + 1) < amount) continue;
    threshold = (sum - amount) / static_cast<double>(n + 1);
    break;
  }
  for (double& x : excess) x = std::max(0.0, x - threshold);
  return excess;
}

}  // namespace

void RemoveOwnTime(const Job& job, size_t rank, const std::vector<size_t>& peers, const std::vector<Nanos>& amount,
                   replay::SegmentEdit* edit) {
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (amount[s] <= 0) continue;
    const StepSegments mine = Cut(job, rank, s);
    std::vector<StepSegments> others;
    for (const size_t p : peers) {
      StepSegments cut = Cut(job, p, s);
      if (cut.own.size() == mine.own.size()) others.push_back(std::move(cut));
    }
    std::vector<double> excess = ExcessOver(mine, others);
    if (std::all_of(excess.begin(), excess.end(), [](double x) { return x <= 0; })) {
      excess = Proportional(mine.own, static_cast<double>(amount[s]));
    } else {
      excess = Denoised(std::move(excess), static_cast<double>(amount[s]));
    }
    for (size_t k = 0; k < excess.size(); ++k) {
      if (excess[k] <= 0 || mine.own[k] <= 0) continue;
      const double keep = std::max(0.0, 1.0 - excess[k] / static_cast<double>(mine.own[k]));
      for (const uint32_t m : mine.marks[k]) {
        edit->own.push_back({m, static_cast<Nanos>(keep * static_cast<double>(job.graph.marks[m].Own()))});
      }
    }
  }
}

}  // namespace headway::diagnose
