// SPDX-License-Identifier: Apache-2.0
#include "diagnose/common_stalls.h"

#include <algorithm>
#include <map>
#include <utility>

#include "diagnose/cause.h"
#include "diagnose/excess.h"
#include "diagnose/work_classes.h"

namespace headway::diagnose {

namespace {

using Node = FunctionView::Node;

constexpr size_t kAsked = 4;  // ranks whose functions are looked at

// The least that counts, as a part of a step. Most of a stall may be hidden behind the device. Holes of up to a
// twentieth of the step a busy machine has of itself, now and then on all ranks; a device waits for nothing. Of the
// same length on all ranks a busy machine has none.
constexpr Nanos kOfStepNamed = 250, kOfStep = 200, kOfStepOfHosts = 20, kOfStepSame = 50;

// The same length: all but an eighth to either side within a thirty-third, on as many ranks.
constexpr size_t kLeastForSame = 4;
constexpr Nanos kSamePart = 33;

// Time in functions that are named after a stall.
struct Named {
  std::vector<Nanos> time;      // by axis step
  std::vector<Node> functions;  // by axis step: the outermost one with most of it
};

Named NamedTime(const AnalysisInput& in, size_t rank) {
  FunctionView& view = *in.view;
  const size_t size = view.Sum(rank, {}).size();  // puts the rank's functions on the tree
  std::vector<Node> outermost(size, -1);
  bool any = false;
  for (size_t n = 0; n < size; ++n) {  // parents come before their children
    const Node up = view.parent(static_cast<Node>(n));
    if (up >= 0) outermost[n] = outermost[static_cast<size_t>(up)];
    if (outermost[n] < 0 && !StallOfName(view.name(static_cast<Node>(n))).empty()) outermost[n] = static_cast<Node>(n);
    any = any || outermost[n] >= 0;
  }
  Named out{std::vector<Nanos>(in.job.num_steps(), 0), std::vector<Node>(in.job.num_steps(), -1)};
  if (!any) return out;
  for (size_t s = 0; s < out.time.size(); ++s) {
    const size_t step[] = {s};
    const std::vector<FunctionView::Cell> cells = view.Sum(rank, step);
    std::map<Node, Nanos> of_function;
    for (size_t n = 0; n < size; ++n) {
      const bool waits = view.work_class(static_cast<Node>(n)) == pattern::WorkClass::kCommunication;
      if (outermost[n] >= 0 && !waits) of_function[outermost[n]] += cells[n].own;
    }
    Nanos most = 0;
    for (const auto& [node, time] : of_function) {
      out.time[s] += time;
      if (time > most) out.functions[s] = node;
      most = std::max(most, time);
    }
  }
  return out;
}

// The function of the class that takes longest in the step beyond its usual; -1 = none. `cells`: of a rank, by step.
Node MostBeyondUsual(const FunctionView& view, const std::vector<std::vector<FunctionView::Cell>>& cells, size_t s,
                     pattern::WorkClass work_class) {
  Node most = -1;
  Nanos longest = 0;
  for (size_t n = 0; n < cells[s].size(); ++n) {
    if (view.work_class(static_cast<Node>(n)) != work_class) continue;
    std::vector<Nanos> all;
    for (const auto& of_step : cells) all.push_back(of_step[n].own);
    const Nanos beyond = cells[s][n].own - Median(std::move(all));
    if (beyond > longest) most = static_cast<Node>(n);
    longest = std::max(longest, beyond);
  }
  return most;
}

// By rank and step what is above the rank's median over its steps.
std::vector<std::vector<Nanos>> BeyondUsual(std::vector<std::vector<Nanos>> series) {
  for (std::vector<Nanos>& row : series) {
    const Nanos usual = Median(row);
    for (Nanos& x : row) x -= usual;
  }
  return series;
}

// One step of all rows: the lower quartile and the middle.
struct Spread {
  Nanos low = 0, middle = 0;
};

Spread SpreadAt(const std::vector<std::vector<Nanos>>& beyond, size_t s) {
  std::vector<Nanos> values;
  for (const std::vector<Nanos>& row : beyond) values.push_back(row[s]);
  std::sort(values.begin(), values.end());
  return {values[values.size() / 4], values[values.size() / 2]};
}

Nanos NoiseOf(const std::vector<std::vector<Nanos>>& beyond) {
  std::vector<Nanos> distance;
  for (const std::vector<Nanos>& row : beyond) {
    distance.insert(distance.end(), row.begin(), row.end());
  }
  return DeviationOf(std::move(distance));
}

void FindNamed(const AnalysisInput& in, std::span<const size_t> ranks, CommonStalls* out) {
  std::vector<std::vector<Nanos>> series;
  std::vector<Node> functions;
  const size_t stride = std::max<size_t>(1, ranks.size() / kAsked);
  for (size_t i = 0; i < ranks.size() && series.size() < kAsked; i += stride) {
    Named named = NamedTime(in, ranks[i]);
    series.push_back(std::move(named.time));
    if (i == 0) functions = std::move(named.functions);
  }
  const std::vector<std::vector<Nanos>> beyond = BeyondUsual(std::move(series));
  for (size_t s = 0; s < in.job.num_steps(); ++s) {
    const Spread spread = SpreadAt(beyond, s);
    if (spread.low * kOfStepNamed < in.job.median_step) continue;
    out->named[s] = spread.middle;
    out->functions[s] = functions[s];
  }
}

// `hole(step)`: how long it is.
template <typename Hole>
std::vector<Nanos> HolesBy(const Job& job, std::span<const size_t> ranks, const std::vector<bool>& same,
                           const Hole& hole_of) {
  std::vector<std::vector<Nanos>> stretches, own;
  for (const size_t r : ranks) {
    stretches.emplace_back(job.num_steps(), 0);
    own.emplace_back(job.num_steps(), 0);
    for (size_t s = 0; s < job.num_steps(); ++s) {
      const pattern::Step* step = job.StepOf(r, s);
      if (step == nullptr) continue;
      stretches.back()[s] = hole_of(*step);
      own.back()[s] = OwnTime(*step);
    }
  }
  const auto beyond = BeyondUsual(std::move(stretches));
  const auto longer = BeyondUsual(std::move(own));
  const Nanos of_step = job.median_step / (job.ranks[ranks.front()].has_device ? kOfStep : kOfStepOfHosts);
  const Nanos noise = NoiseOf(beyond);
  std::vector<Nanos> out(job.num_steps(), 0);
  for (size_t s = 0; s < out.size(); ++s) {
    const Spread hole = SpreadAt(beyond, s);
    const Nanos least = same[s] ? std::min(of_step, job.median_step / kOfStepSame) : std::max(4 * noise, of_step);
    const bool alike = same[s] ? hole.middle >= least : hole.low >= least && hole.low * 5 >= hole.middle * 4;
    if (alike && SpreadAt(longer, s).middle * 2 >= hole.middle) out[s] = hole.middle;
  }
  return out;
}

// Of a device a hole may be shorter than its longest kernel: then it shows by all that the device waits for its host.
// In several steps that may be launches that come late, or waits for the device, which are looked for elsewhere.
std::vector<Nanos> Holes(const Job& job, std::span<const size_t> ranks, const std::vector<bool>& same) {
  std::vector<Nanos> out = HolesBy(job, ranks, same, [](const pattern::Step& step) { return step.longest_stretch; });
  if (!job.ranks[ranks.front()].has_device) return out;
  const std::vector<bool> any(job.num_steps(), false);  // no length of one hole is known
  const std::vector<Nanos> idle =
      HolesBy(job, ranks, any, [](const pattern::Step& step) { return BehindHost(step.by_class); });
  if (std::count_if(idle.begin(), idle.end(), [](Nanos x) { return x > 0; }) != 1) return out;
  for (size_t s = 0; s < out.size(); ++s) out[s] = std::max(out[s], idle[s]);
  return out;
}

Nanos CopiesIn(const pattern::Step& step) { return step.by_class[static_cast<size_t>(pattern::WorkClass::kMemory)]; }

// What a device copies while it has nothing else to do takes the same time in each step. A stall by name goes before.
void FindCopies(const AnalysisInput& in, std::span<const size_t> ranks, CommonStalls* out) {
  const Job& job = in.job;
  if (!job.ranks[ranks.front()].has_device) return;
  const std::vector<bool> any(job.num_steps(), false);  // not held against other lengths
  const std::vector<Nanos> copies = HolesBy(job, ranks, any, CopiesIn);
  if (std::all_of(copies.begin(), copies.end(), [](Nanos x) { return x == 0; })) return;
  // A rank that copies most in these steps is struck in them.
  const auto copied = [&](size_t rank) {
    Nanos sum = 0;
    for (size_t s = 0; s < copies.size(); ++s) {
      const pattern::Step* step = copies[s] > 0 ? job.StepOf(rank, s) : nullptr;
      if (step != nullptr) sum += CopiesIn(*step);
    }
    return sum;
  };
  const size_t rank =
      *std::max_element(ranks.begin(), ranks.end(), [&](size_t a, size_t b) { return copied(a) < copied(b); });
  const std::vector<std::vector<FunctionView::Cell>> cells = in.view->SumByStep(rank);
  for (size_t s = 0; s < copies.size(); ++s) {
    if (copies[s] == 0 || out->named[s] > 0) continue;
    out->named[s] = copies[s];
    out->functions[s] = MostBeyondUsual(*in.view, cells, s, pattern::WorkClass::kMemory);
  }
}

}  // namespace

std::vector<bool> StepsOfSameHole(const Job& job) {
  std::vector<bool> same(job.num_steps(), false);
  for (size_t s = 0; s < same.size(); ++s) {
    std::vector<Nanos> lengths;
    for (size_t r = 0; r < job.num_ranks(); ++r) {
      if (const pattern::Step* step = job.StepOf(r, s)) lengths.push_back(step->longest_stretch);
    }
    if (lengths.size() < kLeastForSame) continue;
    std::sort(lengths.begin(), lengths.end());
    const Nanos low = lengths[lengths.size() / 8], high = lengths[lengths.size() - 1 - lengths.size() / 8];
    same[s] = (high - low) * kSamePart <= low;
  }
  return same;
}

CommonStalls FindCommonStalls(const AnalysisInput& in, std::span<const size_t> ranks, const std::vector<bool>& same) {
  const size_t steps = in.job.num_steps();
  CommonStalls out{std::vector<Nanos>(steps, 0), std::vector<Node>(steps, -1), std::vector<Nanos>(steps, 0)};
  if (ranks.size() < 2) {  // what it does alone is its own; a hole that all ranks of the job have is not
    out.holes = Holes(in.job, ranks, same);
    for (size_t s = 0; s < steps; ++s) out.holes[s] = same[s] ? out.holes[s] : 0;
    return out;
  }
  FindNamed(in, ranks, &out);
  FindCopies(in, ranks, &out);
  out.holes = Holes(in.job, ranks, same);
  return out;
}

}  // namespace headway::diagnose
