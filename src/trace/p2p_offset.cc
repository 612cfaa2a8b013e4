// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_offset.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "trace/clock_fit.h"

namespace headway::trace {
namespace {

constexpr int32_t kSample = 48;  // rows of `few` looked at on either end of the window
constexpr size_t kCandidates = 16;
constexpr Nanos kAlike = 2 * kMillisecond;

// A part of a flow: rows of `few` and those of `many` that are in the same steps (StepsOf), which stand beside them.
struct Part {
  std::vector<int32_t> few, many;
  std::vector<int64_t> steps_of_few, steps_of_many;
};

Part PartOf(const NeighbourFlow& flow, bool tail) {
  Part part;
  const std::vector<int64_t> of_few = StepsOf(flow.few), of_many = StepsOf(flow.many);
  const int32_t n = flow.few.size(), size = std::min(kSample, n);
  const int32_t first = tail ? n - size : 0;
  int64_t low = std::numeric_limits<int64_t>::max(), high = -1;
  for (int32_t i = first; i < first + size; ++i) {
    if (part.few.empty() && flow.few.StepNumber(i) < 0) continue;  // left from a step before this part
    const int64_t step = of_few[static_cast<size_t>(i)];
    part.few.push_back(i);
    part.steps_of_few.push_back(step);
    low = std::min(low, step);
    high = std::max(high, step);
  }
  for (int32_t j = 0; j < flow.many.size(); ++j) {
    const int64_t step = of_many[static_cast<size_t>(j)];
    if (step < low || step > high) continue;
    part.many.push_back(j);
    part.steps_of_many.push_back(step);
  }
  return part;
}

// What the clocks differ by if these two rows are one operation and, on a host, the transfer takes no time.
Nanos Difference(const CommInstance& a, const CommInstance& b, bool on_host) {
  if (!on_host) return b.end - a.end;
  return a.op == CommOp::kSend ? b.end - a.start : b.start - a.end;
}

// Middles of the fullest windows of `kAlike`.
std::vector<Nanos> Fullest(std::vector<Nanos> values) {
  std::sort(values.begin(), values.end());
  struct Window {
    size_t count;
    Nanos middle;
  };
  std::vector<Window> windows;
  for (size_t i = 0, j = 0; i < values.size(); ++i) {
    j = std::max(j, i);
    while (j < values.size() && values[j] - values[i] <= kAlike) ++j;
    windows.push_back({j - i, values[i + (j - i - 1) / 2]});
  }
  std::sort(windows.begin(), windows.end(), [](const Window& a, const Window& b) {
    return a.count != b.count ? a.count > b.count : a.middle < b.middle;
  });
  std::vector<Nanos> out;
  for (const Window& w : windows) {
    const auto near = [&](Nanos other) { return std::abs(other - w.middle) <= kAlike / 2; };
    if (out.size() < kCandidates && std::none_of(out.begin(), out.end(), near)) out.push_back(w.middle);
  }
  return out;
}

struct Sample {
  Nanos at = 0;  // about when, on the clock of `few`
  Nanos offset = 0;
};

// The best offset over one end of the window; with `near` only within `reach` of it.
std::optional<Sample> BestOffset(std::span<const NeighbourFlow> flows, bool tail, std::optional<Nanos> near,
                                 Nanos reach) {
  std::vector<Part> parts;
  std::vector<Nanos> candidates, times;
  for (const NeighbourFlow& flow : flows) {
    const Part& part = parts.emplace_back(PartOf(flow, tail));
    std::vector<Nanos> differences;
    for (size_t x = 0; x < part.few.size(); ++x) {
      const CommInstance& mine = flow.few[part.few[x]];
      times.push_back(mine.start);
      for (size_t y = 0; y < part.many.size(); ++y) {
        const CommInstance& theirs = flow.many[part.many[y]];
        if (part.steps_of_few[x] != part.steps_of_many[y] || !Agree(mine, theirs)) continue;
        const Nanos difference = Difference(mine, theirs, IsHostMessage(*flow.few.rank, mine));
        if (!near || std::abs(difference - *near) <= reach) differences.push_back(difference);
      }
    }
    const std::vector<Nanos> fullest = Fullest(std::move(differences));
    candidates.insert(candidates.end(), fullest.begin(), fullest.end());
  }
  if (candidates.empty()) return std::nullopt;
  std::sort(candidates.begin(), candidates.end());
  Sample best;
  Nanos lowest = std::numeric_limits<Nanos>::max();
  for (const Nanos candidate : candidates) {
    Nanos cost = 0;
    for (size_t f = 0; f < flows.size(); ++f) {
      std::vector<int32_t> few, many;
      for (const int32_t i : parts[f].few) few.push_back(flows[f].few.rows[static_cast<size_t>(i)]);
      for (const int32_t j : parts[f].many) many.push_back(flows[f].many.rows[static_cast<size_t>(j)]);
      cost += CostOfPairing({flows[f].few.rank, flows[f].few.rank_index, few},
                            {flows[f].many.rank, flows[f].many.rank_index, many}, candidate, flows[f].anchor);
    }
    if (cost >= lowest) continue;
    lowest = cost;
    best.offset = candidate;
  }
  std::sort(times.begin(), times.end());
  best.at = times[times.size() / 2];
  return best;
}

}  // namespace

std::optional<OffsetLine> OffsetByTraffic(std::span<const NeighbourFlow> flows) {
  const std::optional<Sample> head = BestOffset(flows, false, std::nullopt, 0);
  if (!head) return std::nullopt;
  OffsetLine line(head->offset);
  line.at = head->at;
  Nanos last = head->at;
  for (const NeighbourFlow& flow : flows) {
    if (flow.few.size() > 0) last = std::max(last, flow.few[flow.few.size() - 1].start);
  }
  const auto reach = kAlike + static_cast<Nanos>(kFastestDrift * static_cast<double>(last - head->at));
  const std::optional<Sample> tail = BestOffset(flows, true, head->offset, reach);
  if (tail && tail->at > head->at) {
    line.drift = static_cast<double>(tail->offset - head->offset) / static_cast<double>(tail->at - head->at);
  }
  return line;
}

}  // namespace headway::trace
