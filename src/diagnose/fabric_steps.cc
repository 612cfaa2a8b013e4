// SPDX-License-Identifier: Apache-2.0
#include "diagnose/fabric_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/median.h"

namespace headway::diagnose {
namespace {

// What a backend does anyway. A host's transfers share its cores with everything else.
struct Limits {
  double scatter;  // the least that steps are taken to differ by
  double several;  // to be struck two steps or more have to be longer by this
  double one;      // and a single one by this
};
Limits LimitsOf(const Job& job) {
  return job.ranks.front().has_device ? Limits{0.005, 0.03, 0.08} : Limits{0.03, 0.25, 0.6};
}

constexpr double kFromScatter = 4;
constexpr size_t kLeastQuiet = 2;
constexpr double kWithTheSum = 0.4;  // of the sum's rise: from here on something rises with it
constexpr double kOfTheSum = 2;      // and up to here it rises by nothing else
constexpr double kNearlyAll = 0.9;   // of the time in transfers

// Whether it is known in this step what the channel usually takes.
bool IsKnown(const Channel& channel, size_t step) {
  return channel.usual[step] != kNoValue && channel.usual[step] > 0 && channel.actual[step] > 0;
}

double RatioOf(const Channel& channel, size_t step) {
  return static_cast<double>(channel.actual[step]) / static_cast<double>(channel.usual[step]);
}

// (actual / usual over all channels, step), from the quickest on.
std::vector<std::pair<double, size_t>> JointRatios(const Job& job, const std::vector<const Channel*>& channels) {
  std::vector<std::pair<double, size_t>> out;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    double actual = 0, usual = 0;
    for (const Channel* channel : channels) {
      if (!IsKnown(*channel, s)) continue;
      actual += static_cast<double>(channel->actual[s]);
      usual += static_cast<double>(channel->usual[s]);
    }
    if (usual > 0) out.emplace_back(actual / usual, s);
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Split {
  std::vector<size_t> quiet, struck;  // axis steps
  double rise = 0;                    // of the struck ones over the quiet ones
};

// The upper one of the middle two; `ratios` are sorted.
double MiddleOf(std::span<const std::pair<double, size_t>> ratios) { return ratios[ratios.size() / 2].first; }

double ScatterOf(std::span<const std::pair<double, size_t>> ratios, double middle) {
  std::vector<double> away;
  for (const auto& [ratio, step] : ratios) away.push_back(std::abs(ratio - middle));
  // Of few steps the mean of the middle two: one step more would make much of the difference.
  const double upper = UpperMedian(away), lower = LowerMedian(&away);
  return 1.4826 * (lower + upper) / 2;
}

// Where the sorted ratios first jump by more than those before the jump differ by; nothing struck where they do not.
// A quarter of the steps or more are quiet.
Split SplitAtJump(std::span<const std::pair<double, size_t>> ratios, const Limits& limits) {
  for (size_t k = std::max(kLeastQuiet, ratios.size() / 4); k < ratios.size(); ++k) {
    const auto quiet = ratios.first(k), struck = ratios.subspan(k);
    const double middle = MiddleOf(quiet), scatter = std::max(limits.scatter, ScatterOf(quiet, middle));
    const double rise = MiddleOf(struck) / middle - 1;
    const double least = struck.size() > 1 ? limits.several : limits.one;
    if (rise < least || struck.front().first - quiet.back().first < kFromScatter * scatter) continue;
    Split out;
    for (const auto& [ratio, step] : quiet) out.quiet.push_back(step);
    for (const auto& [ratio, step] : struck) out.struck.push_back(step);
    out.rise = rise;
    return out;
  }
  return {};
}

// Median of the channel's ratios in these steps; 0 of none.
double RatioIn(const Channel& channel, const std::vector<size_t>& steps) {
  std::vector<double> ratios;
  for (const size_t s : steps) {
    if (IsKnown(channel, s)) ratios.push_back(RatioOf(channel, s));
  }
  return ratios.empty() ? 0 : UpperMedian(std::move(ratios));
}

double RiseOf(const Channel& channel, const Split& split) {
  const double quiet = RatioIn(channel, split.quiet);
  return quiet > 0 ? RatioIn(channel, split.struck) / quiet - 1 : 0;
}

// Channels that hold nine tenths of the time in transfers rise with the sum.
bool NearlyAllRise(const std::vector<const Channel*>& channels, const Split& split) {
  double rising = 0, all = 0;
  for (const Channel* channel : channels) {
    double weight = 0;
    for (const Nanos t : channel->actual) weight += static_cast<double>(t);
    all += weight;
    if (RiseOf(*channel, split) >= split.rise * kWithTheSum) rising += weight;
  }
  return rising >= all * kNearlyAll;
}

// How much longer ranks compute in the struck steps than in the others: the middle one of them.
double RiseOfCompute(const Job& job, const Split& split) {
  const auto middle = [&](size_t r, const std::vector<size_t>& steps) {
    std::vector<double> values;
    for (const size_t s : steps) {
      const pattern::Step* step = job.StepOf(r, s);
      if (step != nullptr) values.push_back(static_cast<double>(step->by_class[0]));
    }
    return values.empty() ? 0 : UpperMedian(std::move(values));
  };
  std::vector<double> rises;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const double quiet = middle(r, split.quiet);
    if (quiet > 0) rises.push_back(middle(r, split.struck) / quiet - 1);
  }
  return rises.empty() ? 0 : UpperMedian(std::move(rises));
}

// Whether in half of the struck steps or more some rank's own time is longer than usual by what transfers are, and
// hardly ever in the others: a host backend's threads stand still with it.
bool IsOfOneRank(const Job& job, const ExcessTable& excess, const Split& split, const std::vector<SlowChannel>& slow) {
  const size_t steps = job.num_steps();
  std::vector<Nanos> most(steps, 0), cost(steps, 0);
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    std::vector<Nanos> quiet;
    for (const size_t s : split.quiet) {
      if (const Nanos own = excess.own[r * steps + s]; own != kNoValue) quiet.push_back(own);
    }
    const Nanos usual = Median(std::move(quiet));
    for (size_t s = 0; s < steps; ++s) {
      if (const Nanos own = excess.own[r * steps + s]; own != kNoValue) most[s] = std::max(most[s], own - usual);
    }
  }
  std::vector<Nanos> costs;
  for (const size_t s : split.struck) {
    for (const SlowChannel& channel : slow) cost[s] = std::max(cost[s], channel.cost[s]);
    costs.push_back(cost[s]);
  }
  const Nanos typical = Median(std::move(costs));
  const auto stuck =
      std::count_if(split.struck.begin(), split.struck.end(), [&](size_t s) { return most[s] >= cost[s]; });
  const auto anyway =
      std::count_if(split.quiet.begin(), split.quiet.end(), [&](size_t s) { return most[s] >= typical; });
  return static_cast<size_t>(stuck) * 2 >= split.struck.size() && static_cast<size_t>(anyway) * 4 <= split.quiet.size();
}

}  // namespace

std::vector<SlowChannel> FindFabricSteps(const Job& job, const ExcessTable& excess, std::span<const Channel> channels,
                                         const std::set<int32_t>& explained) {
  std::vector<const Channel*> left;
  for (const Channel& channel : channels) {
    if (explained.count(channel.group) == 0 && Matters(job, channel)) left.push_back(&channel);
  }
  const std::vector<std::pair<double, size_t>> ratios = JointRatios(job, left);
  const Split split = SplitAtJump(ratios, LimitsOf(job));
  if (split.struck.empty() || !NearlyAllRise(left, split)) return {};
  // Once, on one machine, it is whatever else ran there.
  if (!job.ranks.front().has_device && job.comms.clocks.size() < 2 && split.struck.size() < 2) return {};
  if (RiseOfCompute(job, split) >= split.rise * kWithTheSum) return {};
  // What a slow link explains in all steps waits for the network in these, too.
  for (const Channel& channel : channels) {
    const double rise = explained.count(channel.group) > 0 && Matters(job, channel) ? RiseOf(channel, split) : 0;
    if (rise >= split.rise * kWithTheSum && rise <= split.rise * kOfTheSum) left.push_back(&channel);
  }
  std::vector<SlowChannel> out;
  for (const Channel* channel : left) {
    SlowChannel slow{static_cast<size_t>(channel - channels.data()), std::vector<Nanos>(job.num_steps(), 0), 0};
    const double quiet = RatioIn(*channel, split.quiet);
    Nanos cost = 0, actual = 0;
    for (const size_t s : split.struck) {
      if (!IsKnown(*channel, s)) continue;
      const auto expected = static_cast<Nanos>(quiet * static_cast<double>(channel->usual[s]));
      slow.cost[s] = std::max<Nanos>(0, channel->actual[s] - expected);
      cost += slow.cost[s];
      actual += channel->actual[s];
    }
    if (cost == 0 || quiet == 0) continue;
    slow.ratio = static_cast<double>(actual) / static_cast<double>(std::max<Nanos>(1, actual - cost));
    out.push_back(std::move(slow));
  }
  if (!job.ranks.front().has_device && IsOfOneRank(job, excess, split, out)) return {};
  return out;
}

}  // namespace headway::diagnose
