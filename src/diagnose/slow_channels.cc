// SPDX-License-Identifier: Apache-2.0
#include "diagnose/slow_channels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/median.h"
#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

constexpr double kNoRatio = -1;
constexpr double kOfAssumed = 1;  // twice the time, where sizes are not written

// Below these a difference is what a backend does anyway: rings of a device library agree within a few per cent; a host
// backend shares its cores with everything else.
struct Limits {
  double level;   // of all steps
  double cell;    // of single steps
  double slight;  // of all steps, where what it shares with others speaks for it
};
Limits LimitsOf(const Job& job) {
  return job.ranks.front().has_device ? Limits{0.025, 0.08, 0.01} : Limits{0.25, 0.6, 0.1};
}

// actual / expected by step; kNoRatio where there is nothing to be held against.
std::vector<double> Ratios(const Channel& channel, Against against) {
  std::vector<double> out;
  const std::vector<Nanos>& expected = ExpectedOf(channel, against);
  for (size_t s = 0; s < expected.size(); ++s) {
    const bool known = expected[s] != kNoValue && expected[s] > 0;
    out.push_back(known ? static_cast<double>(channel.actual[s]) / static_cast<double>(expected[s]) : kNoRatio);
  }
  return out;
}

std::vector<double> Known(const std::vector<double>& ratios) {
  std::vector<double> out;
  std::copy_if(ratios.begin(), ratios.end(), std::back_inserter(out), [](double r) { return r != kNoRatio; });
  return out;
}

// How channels of each family scatter between steps, about their own middle: 1.4826 x median absolute deviation.
// Against other steps up to half of them may be struck: then of the quicker half, about its own middle (twice that:
// half a bell curve deviates by half as much), up to where it jumps by `jump`: of steps slow from early on.
std::map<int32_t, double> Scatter(std::span<const Channel> channels, Against against, double jump) {
  std::map<int32_t, std::vector<double>> away;
  for (const Channel& channel : channels) {
    std::vector<double> known = Known(Ratios(channel, against));
    if (against == Against::kOtherSteps) {
      std::sort(known.begin(), known.end());
      known.resize((known.size() + 1) / 2);
      const auto jumps = [jump](double a, double b) { return b > a * (1 + jump); };
      const auto at = std::adjacent_find(known.begin(), known.end(), jumps);
      if (at != known.end() && at - known.begin() >= 1) known.erase(at + 1, known.end());
    }
    const double middle = UpperMedian(known);
    for (const double r : known) away[channel.family].push_back(std::abs(r - middle));
  }
  const double scale = 1.4826 * (against == Against::kOtherSteps ? 2 : 1);
  std::map<int32_t, double> out;
  for (auto& [family, values] : away) out[family] = std::max(0.005, scale * UpperMedian(std::move(values)));
  return out;
}

}  // namespace

bool Matters(const Job& job, const Channel& channel) {
  Nanos sum = 0;
  for (const Nanos t : channel.actual) sum += t;
  return sum * 500 >= job.median_step * static_cast<Nanos>(job.num_steps());
}

double MeanRatio(std::span<const SlowChannel> slow) {
  double sum = 0, weight = 0;
  for (const SlowChannel& s : slow) {
    for (const Nanos x : s.cost) {
      sum += s.ratio * static_cast<double>(x);
      weight += static_cast<double>(x);
    }
  }
  return sum / std::max(1.0, weight);
}

bool SameSteps(const SlowChannel& a, const SlowChannel& b) {
  size_t of_a = 0, of_b = 0, both = 0;
  for (size_t s = 0; s < a.cost.size(); ++s) {
    of_a += a.cost[s] > 0 ? 1 : 0;
    of_b += b.cost[s] > 0 ? 1 : 0;
    both += a.cost[s] > 0 && b.cost[s] > 0 ? 1 : 0;
  }
  return both > 0 && both * 4 >= 3 * std::max(of_a, of_b);
}

namespace {

// Which steps of a channel are slower than expected by more than `ratio`, and by more than `uncertain` a call.
SlowChannel Strike(const Channel& channel, size_t index, const std::vector<double>& ratios, Against against,
                   double ratio, Nanos uncertain) {
  SlowChannel slow{index, std::vector<Nanos>(ratios.size(), 0), 0};
  Nanos actual = 0, expected = 0;
  for (size_t s = 0; s < ratios.size(); ++s) {
    if (ratios[s] == kNoRatio || ratios[s] - 1 <= ratio) continue;
    const Nanos beyond = channel.actual[s] - ExpectedOf(channel, against)[s];
    if (beyond <= uncertain * static_cast<Nanos>(channel.CallsOf(s).size())) continue;
    slow.cost[s] = beyond;
    actual += channel.actual[s];
    expected += ExpectedOf(channel, against)[s];
  }
  if (expected > 0) slow.ratio = static_cast<double>(actual) / static_cast<double>(expected);
  return slow;
}

// What is slow wherever it can be held against its like is so in the other steps, too, in which these make other calls
// (an operation that goes on beyond its step counts to it or not by chance).
void TakeAllSteps(const Channel& channel, const std::vector<double>& ratios, SlowChannel* slow) {
  const auto is_known = [](double ratio) { return ratio != kNoRatio; };
  const auto known = std::count_if(ratios.begin(), ratios.end(), is_known);
  const auto struck = std::count_if(slow->cost.begin(), slow->cost.end(), [](Nanos cost) { return cost > 0; });
  if (struck < known || 2 * known < std::ssize(ratios)) return;
  for (size_t s = 0; s < ratios.size(); ++s) {
    if (is_known(ratios[s])) continue;
    slow->cost[s] = std::llround(static_cast<double>(channel.actual[s]) * (1 - 1 / slow->ratio));
  }
}

// In the last step ranks wait for what comes behind it, and rows end with the recording: it tells nothing by itself.
bool IsOnlyTheLast(const SlowChannel& slow) {
  const auto is_struck = [](Nanos cost) { return cost > 0; };
  return slow.cost.back() > 0 && std::none_of(slow.cost.begin(), slow.cost.end() - 1, is_struck);
}

// No row is written late, and no clock off, in just the steps in which another channel is slow, and in no other.
void TakeThoseInTheSameSteps(std::vector<SlowChannel> unsure, std::vector<SlowChannel>* slow) {
  const size_t known = slow->size();
  for (SlowChannel& s : unsure) {
    const bool is_slow = std::any_of(slow->begin(), slow->begin() + static_cast<ptrdiff_t>(known),
                                     [&](const SlowChannel& other) { return SameSteps(s, other); });
    if (is_slow) slow->push_back(std::move(s));
  }
}

}  // namespace

BySlowness LookForSlow(const Job& job, std::span<const Channel> channels, Against against) {
  BySlowness out;
  std::vector<SlowChannel> in_steps;  // slow in some steps but for what clocks and late rows leave unsure
  const Limits limits = LimitsOf(job);
  const std::map<int32_t, double> scatter = Scatter(channels, against, limits.cell);
  for (size_t i = 0; i < channels.size(); ++i) {
    const Channel& channel = channels[i];
    if (!Matters(job, channel)) continue;
    const std::vector<double> ratios = Ratios(channel, against);
    const std::vector<double> known = Known(ratios);
    if (known.size() < 3) continue;
    const double sigma = scatter.at(channel.family);
    const double level = UpperMedian(known) - 1;
    const double error = 1.25 * sigma / std::sqrt(static_cast<double>(known.size()));
    // What goes the other way may be of another type, and shares the device with other work.
    const double least = channel.is_assumed ? std::max(limits.level, kOfAssumed) : limits.level;
    const bool lasting = against == Against::kSiblings && level > std::max(least, 4 * error);
    const bool assumed = against == Against::kSiblings && channel.is_assumed;
    const double from = lasting ? level / 2 : std::max({limits.cell, 5 * sigma, assumed ? kOfAssumed : 0});
    const Nanos uncertain = against == Against::kSiblings ? channel.uncertain : channel.wanders;
    SlowChannel slow = Strike(channel, i, ratios, against, from, uncertain);
    if (slow.ratio > 0 && !IsOnlyTheLast(slow)) {
      if (lasting) TakeAllSteps(channel, ratios, &slow);
      out.slow.push_back(std::move(slow));
    } else if (SlowChannel unsure = Strike(channel, i, ratios, against, from, 0);
               unsure.ratio > 0 && !IsOnlyTheLast(unsure)) {
      (lasting ? out.unsure : in_steps).push_back(std::move(unsure));
    } else if (against == Against::kSiblings && !assumed && level > std::max(limits.slight, 4 * error)) {
      out.slight.push_back(Strike(channel, i, ratios, against, level / 2, 0));
    }
  }
  if (against == Against::kOtherSteps) TakeThoseInTheSameSteps(std::move(in_steps), &out.slow);
  return out;
}

std::vector<SlowChannel> FindSlowChannels(const Job& job, std::span<const Channel> channels, Against against) {
  return LookForSlow(job, channels, against).slow;
}

}  // namespace headway::diagnose
