// SPDX-License-Identifier: Apache-2.0
#include "diagnose/excess.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace headway::diagnose {

Nanos Median(std::vector<Nanos> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle), values.end());
  const Nanos upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  const Nanos lower = *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle));
  return lower + (upper - lower) / 2;
}

Nanos MedianWithout(const std::vector<Nanos>& sorted, size_t skip) {
  const size_t n = sorted.size() - 1;
  const auto at = [&](size_t i) { return sorted[i < skip ? i : i + 1]; };
  return n % 2 == 1 ? at(n / 2) : at(n / 2 - 1) + (at(n / 2) - at(n / 2 - 1)) / 2;
}

Nanos DeviationOf(std::vector<Nanos> distances) {
  constexpr double kOfBellCurve = 1.4826;  // its standard deviation over the median of the distances from its middle
  for (Nanos& x : distances) x = std::abs(x);
  return static_cast<Nanos>(kOfBellCurve * static_cast<double>(Median(std::move(distances))));
}

Nanos SpreadOf(std::vector<Nanos> values) {
  const Nanos middle = Median(values);
  for (Nanos& x : values) x -= middle;
  return DeviationOf(std::move(values));
}

namespace {

constexpr size_t kFewMembers = 3, kEnoughSteps = 12;

Nanos TimeOf(const pattern::Step& step, OwnPart part) {
  const Nanos compute = step.by_class[static_cast<size_t>(pattern::WorkClass::kCompute)];
  return OwnTime(step) - (part == OwnPart::kAll ? 0 : compute);
}

}  // namespace

ExcessTable ComputeExcess(const Job& job, OwnPart part, const std::set<size_t>& without) {
  const size_t num_steps = job.num_steps();
  const size_t num_ranks = job.num_ranks();
  ExcessTable table;
  table.steps = num_steps;
  table.own.assign(num_ranks * num_steps, kNoValue);
  table.excess.assign(num_ranks * num_steps, kNoValue);
  table.typical.assign(num_ranks, 0);
  for (size_t r = 0; r < num_ranks; ++r) {
    for (size_t s = 0; s < num_steps; ++s) {
      if (const pattern::Step* step = job.StepOf(r, s)) table.own[r * num_steps + s] = TimeOf(*step, part);
    }
  }
  const Nanos floor = job.median_step * (part == OwnPart::kAll ? 3 : 1) / 1000;
  for (std::vector<int32_t> members : job.classes) {
    std::erase_if(members, [&](int32_t r) { return without.count(static_cast<size_t>(r)) > 0; });
    std::vector<std::pair<Nanos, size_t>> order;
    std::vector<Nanos> sorted;
    for (size_t s = 0; s < num_steps; ++s) {
      order.clear();
      for (const int32_t r : members) {
        const Nanos own = table.own[static_cast<size_t>(r) * num_steps + s];
        if (own != kNoValue) order.emplace_back(own, static_cast<size_t>(r));
      }
      if (order.size() < 2) continue;
      std::sort(order.begin(), order.end());
      sorted.clear();
      for (const auto& [own, r] : order) sorted.push_back(own);
      for (size_t i = 0; i < order.size(); ++i) {
        table.excess[order[i].second * num_steps + s] = order[i].first - MedianWithout(sorted, i);
      }
    }
    std::vector<Nanos> typical, residual, wander, quiet, changes;
    for (const int32_t r : members) {
      std::vector<Nanos> row, own;
      for (size_t s = 0; s < num_steps; ++s) {
        if (const Nanos x = table.At(static_cast<size_t>(r), s); x != kNoValue) row.push_back(x);
        if (const Nanos x = table.own[static_cast<size_t>(r) * num_steps + s]; x != kNoValue) own.push_back(x);
      }
      const Nanos usual = Median(own);
      for (const Nanos x : own) wander.push_back(x - usual);
      if (own.size() >= kEnoughSteps) quiet.push_back(SpreadOf(own));
      const Nanos middle = Median(row);
      table.typical[static_cast<size_t>(r)] = middle;
      typical.push_back(middle);
      for (const Nanos x : row) residual.push_back(x - middle);
      for (size_t i = 1; i < row.size(); ++i) changes.push_back(row[i] - row[i - 1]);
    }
    // Against peers a disturbance of one shows on the others too; against its own history a longer step shows on all.
    Nanos noise = residual.empty() ? SpreadOf(wander) : std::min(SpreadOf(residual), SpreadOf(wander));
    // Of two or three ranks one that is struck now and then, or from some step on, is what most deviate by. They run
    // the same program: two that vary as the quietest one does are apart by what varies by the square root of two of
    // it, and the least of two or three deviations is about three quarters of what they are. Where in between it lies
    // is what excess changes by from one step to the next: by the square root of two of what it varies by.
    if (members.size() <= kFewMembers && quiet.size() > 1) {
      const Nanos quietest = *std::min_element(quiet.begin(), quiet.end());
      const Nanos varies = SpreadOf(changes) * 10 / 14;
      noise = std::min(noise, std::clamp(varies, quietest * 14 / 10, quietest * 2));
    }
    table.rank_noise.push_back(std::max(floor, SpreadOf(typical)));
    // One or two steps cannot show how steps vary: how ranks differ stands in.
    table.step_noise.push_back(std::max(num_steps < 3 ? table.rank_noise.back() : floor, noise));
  }
  return table;
}

std::vector<Nanos> BeyondQuiet(const ExcessTable& table, size_t rank, size_t place) {
  const auto begin = table.own.begin() + static_cast<std::ptrdiff_t>(rank * table.steps);
  std::vector<Nanos> out(begin, begin + static_cast<std::ptrdiff_t>(table.steps));
  if (out.empty() || std::find(out.begin(), out.end(), kNoValue) != out.end()) return {};
  std::vector<Nanos> sorted = out;
  std::sort(sorted.begin(), sorted.end());
  const Nanos quiet = sorted[std::min(place, sorted.size() - 1)];
  for (Nanos& x : out) x -= quiet;
  return out;
}

}  // namespace headway::diagnose
