// SPDX-License-Identifier: Apache-2.0
#include "diagnose/own_edit.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "diagnose/excess.h"

namespace headway::diagnose {

using graph::Mark;
using graph::MarkKind;

namespace {

constexpr size_t kEnoughSteps = 8;  // quiet ones that are cut alike, for a middle

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

// By segment: own time beyond that of the middle one of the others that are cut as often; 0 where there is none.
std::vector<double> ExcessOver(const StepSegments& mine, const std::vector<StepSegments>& others) {
  std::vector<double> out(mine.own.size(), 0);
  for (size_t k = 0; k < out.size(); ++k) {
    std::vector<Nanos> values;
    for (const StepSegments& other : others) {
      if (other.own.size() == mine.own.size()) values.push_back(other.own[k]);
    }
    if (values.empty()) return out;
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

// The rank falls behind its peers piece by piece and never catches up by being slow: by piece, what the sum of `excess`
// so far rises by, smoothed to rise only (isotonic regression, pool adjacent violators). What varies up and down gives
// nothing, nor does a piece that is cut later than the peers' and the next one all the shorter. In proportion to that
// `amount`, or as much as there is.
std::vector<double> Rises(const std::vector<double>& excess, double amount) {
  struct Pool {
    double sum = 0;
    size_t count = 0;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  double so_far = 0;
  for (const double x : excess) {
    so_far += x;
    pools.push_back({so_far, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() >= pools.back().mean()) {
      pools[pools.size() - 2].sum += pools.back().sum;
      pools[pools.size() - 2].count += pools.back().count;
      pools.pop_back();
    }
  }
  const double whole = pools.empty() ? 0 : pools.back().mean();
  const double share = whole > 0 ? std::min(amount, std::max(so_far, whole)) / whole : 0;
  std::vector<double> out;
  double level = 0;
  for (const Pool& pool : pools) {
    const double next = std::max(level, pool.mean());
    out.push_back(share * (next - level));
    out.resize(out.size() + pool.count - 1, 0);
    level = next;
  }
  return out;
}

// Where most of `amount` is in one piece, as of a stall, it gives what it has, and then the next longest ones: what the
// others vary by says nothing beside it. Empty where it is in none.
std::vector<double> OnePiece(const std::vector<double>& excess, double amount) {
  constexpr double kMost = 0.6;
  std::vector<size_t> order(excess.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return excess[a] > excess[b]; });
  if (order.empty() || excess[order.front()] < kMost * amount) return {};
  std::vector<double> out(excess.size(), 0);
  double left = amount;
  for (const size_t k : order) {
    out[k] = std::clamp(excess[k], 0.0, left);
    left -= out[k];
  }
  return out;
}

// Takes off each segment of a step what it gives of `amount`; where none does, in proportion to their length.
void Remove(const Job& job, const StepSegments& mine, std::vector<double> excess, Nanos amount,
            replay::SegmentEdit* edit) {
  if (std::all_of(excess.begin(), excess.end(), [](double x) { return x <= 0; })) {
    excess = Proportional(mine.own, static_cast<double>(amount));
  }
  for (size_t k = 0; k < excess.size(); ++k) {
    if (excess[k] <= 0 || mine.own[k] <= 0) continue;
    const double keep = std::max(0.0, 1.0 - excess[k] / static_cast<double>(mine.own[k]));
    for (const uint32_t m : mine.marks[k]) {
      edit->own.push_back({m, static_cast<Nanos>(keep * static_cast<double>(job.graph.marks[m].Own()))});
    }
  }
}

}  // namespace

void RemoveOwnTime(const Job& job, size_t rank, const std::vector<size_t>& peers, const std::vector<Nanos>& amount,
                   replay::SegmentEdit* edit) {
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (amount[s] <= 0) continue;
    std::vector<StepSegments> others;
    for (const size_t p : peers) others.push_back(Cut(job, p, s));
    const StepSegments mine = Cut(job, rank, s);
    Remove(job, mine, Rises(ExcessOver(mine, others), static_cast<double>(amount[s])), amount[s], edit);
  }
}

void RemoveBeyondQuietSteps(const Job& job, size_t rank, const std::vector<Nanos>& amount,
                            std::span<const size_t> quiet_steps, replay::SegmentEdit* edit) {
  std::vector<StepSegments> quiet;
  std::map<size_t, size_t> cut_so;  // by number of pieces: how many steps are
  for (const size_t s : quiet_steps) {
    StepSegments cut = Cut(job, rank, s);
    if (!cut.own.empty() && ++cut_so[cut.own.size()] <= kEnoughSteps) quiet.push_back(std::move(cut));
  }
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (amount[s] <= 0) continue;
    const StepSegments mine = Cut(job, rank, s);
    const std::vector<double> beyond = ExcessOver(mine, quiet);
    std::vector<double> excess = OnePiece(beyond, static_cast<double>(amount[s]));
    if (excess.empty()) excess = Rises(beyond, static_cast<double>(amount[s]));
    Remove(job, mine, std::move(excess), amount[s], edit);
  }
}

void RemoveFromStepBegins(const Job& job, size_t rank, const std::vector<Nanos>& amount, replay::SegmentEdit* edit) {
  for (size_t s = 0; s < job.num_steps(); ++s) {
    Nanos left = amount[s];
    if (left <= 0) continue;
    for (const std::vector<uint32_t>& piece : Cut(job, rank, s).marks) {
      for (const uint32_t m : piece) {
        const Nanos own = job.graph.marks[m].Own();
        const Nanos less = std::min(left, own);
        if (less > 0) edit->own.push_back({m, own - less});
        left -= less;
      }
    }
  }
}

}  // namespace headway::diagnose
