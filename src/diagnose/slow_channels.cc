// SPDX-License-Identifier: Apache-2.0
#include "diagnose/slow_channels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
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
  double level;  // of all steps
  double cell;   // of single steps
};
Limits LimitsOf(const Job& job) { return job.ranks.front().has_device ? Limits{0.025, 0.08} : Limits{0.25, 0.6}; }

const std::vector<Nanos>& Expected(const Channel& channel, Against against) {
  return against == Against::kSiblings ? channel.siblings : channel.usual;
}

// actual / expected by step; kNoRatio where there is nothing to be held against.
std::vector<double> Ratios(const Channel& channel, Against against) {
  std::vector<double> out;
  const std::vector<Nanos>& expected = Expected(channel, against);
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

namespace {

// Which steps of a channel are slower than expected by more than `ratio`, and by more than `uncertain` a call.
SlowChannel Strike(const Channel& channel, size_t index, const std::vector<double>& ratios, Against against,
                   double ratio, Nanos uncertain) {
  SlowChannel slow{index, std::vector<Nanos>(ratios.size(), 0), 0};
  Nanos actual = 0, expected = 0;
  for (size_t s = 0; s < ratios.size(); ++s) {
    if (ratios[s] == kNoRatio || ratios[s] - 1 <= ratio) continue;
    const Nanos beyond = channel.actual[s] - Expected(channel, against)[s];
    if (beyond <= uncertain * static_cast<Nanos>(channel.CallsOf(s).size())) continue;
    slow.cost[s] = beyond;
    actual += channel.actual[s];
    expected += Expected(channel, against)[s];
  }
  if (expected > 0) slow.ratio = static_cast<double>(actual) / static_cast<double>(expected);
  return slow;
}

// The slow ones, and those that would be but for what their clocks leave unsure.
struct Found {
  std::vector<SlowChannel> slow, unsure;
};

Found Look(const Job& job, std::span<const Channel> channels, Against against) {
  Found out;
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
    if (slow.ratio > 0) {
      out.slow.push_back(std::move(slow));
    } else if (SlowChannel unsure = Strike(channel, i, ratios, against, from, 0); lasting && unsure.ratio > 0) {
      out.unsure.push_back(std::move(unsure));
    }
  }
  return out;
}

}  // namespace

std::vector<SlowChannel> FindSlowChannels(const Job& job, std::span<const Channel> channels, Against against) {
  return Look(job, channels, against).slow;
}

namespace {

// Sides are numbered: ranks, then hosts.
class Sides {
 public:
  explicit Sides(const Job& job) : job_(job) {}

  [[nodiscard]] size_t count() const { return job_.num_ranks() + job_.comms.clocks.size(); }
  [[nodiscard]] bool IsHost(size_t side) const { return side >= job_.num_ranks(); }
  [[nodiscard]] int32_t IndexOf(size_t side) const {
    return static_cast<int32_t>(IsHost(side) ? side - job_.num_ranks() : side);
  }

  // The sides whose slow way out would slow the channel. What stays inside a host does not pass its network card.
  [[nodiscard]] std::vector<size_t> Of(const Channel& channel) const {
    std::vector<size_t> out;
    const bool leaves_host = channel.hosts.size() > 1;
    if (channel.sender >= 0) {
      out.push_back(static_cast<size_t>(channel.sender));
      const int32_t host = job_.comms.clock_of_rank[static_cast<size_t>(channel.sender)];
      if (leaves_host) out.push_back(job_.num_ranks() + static_cast<size_t>(host));
      return out;
    }
    for (const int32_t r : channel.ranks) out.push_back(static_cast<size_t>(r));
    if (!leaves_host) return out;
    for (const int32_t h : channel.hosts) out.push_back(job_.num_ranks() + static_cast<size_t>(h));
    return out;
  }

 private:
  const Job& job_;
};

// In which channels the slow way out of a side shows.
class Predictions {
 public:
  // Channels held against one another: of two stages of one family, say, each among its own.
  using Likes = std::pair<int32_t, int32_t>;
  static Likes LikesOf(const Channel& channel) { return {channel.family, channel.likes}; }

  // Of those that are `unsure` it is not known whether they are slow: they speak neither for a side nor against it.
  Predictions(const Job& job, std::span<const Channel> channels, const Sides& sides, Against against,
              const std::vector<SlowChannel>& unsure)
      : sides_(sides), against_(against) {
    std::set<size_t> open;
    for (const SlowChannel& s : unsure) open.insert(s.channel);
    for (size_t i = 0; i < channels.size(); ++i) {
      const Channel& channel = channels[i];
      const std::vector<Nanos>& expected = Expected(channel, against);
      const bool comparable = std::any_of(expected.begin(), expected.end(), [](Nanos x) { return x != kNoValue; });
      if (!comparable) continue;
      const Likes likes = LikesOf(channel);
      ++size_[likes];  // one that is quick, and so does not matter, is a like to be held against all the same
      for (const size_t side : sides.Of(channel)) {
        Passing& passing = passing_[{likes, side}];
        ++passing.all;
        passing.mattering += Matters(job, channel) && open.count(i) == 0 ? 1 : 0;
      }
    }
    of_side_.assign(sides.count(), 0);
    for (const auto& [key, passing] : passing_) {
      of_side_[key.second] += ShowsIn(key.first, key.second) ? passing.mattering : 0;
    }
  }

  // By side: in how many.
  [[nodiscard]] const std::vector<size_t>& of_side() const { return of_side_; }
  // Not among siblings that all pass the side: none of them is quicker.
  [[nodiscard]] bool ShowsIn(const Likes& likes, size_t side) const {
    const auto passing = passing_.find({likes, side});
    if (passing == passing_.end()) return false;
    return against_ == Against::kOtherSteps || passing->second.all < size_.at(likes);
  }
  // By side: how many of `slow` it would explain.
  [[nodiscard]] std::vector<size_t> Hits(std::span<const Channel> channels, std::span<const SlowChannel> slow) const {
    std::vector<size_t> out(of_side_.size(), 0);
    for (const SlowChannel& s : slow) {
      const Channel& channel = channels[s.channel];
      for (const size_t side : sides_.Of(channel)) out[side] += ShowsIn(LikesOf(channel), side) ? 1 : 0;
    }
    return out;
  }

 private:
  struct Passing {
    size_t all = 0, mattering = 0;
  };
  const Sides& sides_;
  Against against_;
  std::map<Likes, size_t> size_;
  std::map<std::pair<Likes, size_t>, Passing> passing_;  // by side, too
  std::vector<size_t> of_side_;
};

double Overlap(size_t hit, size_t predicted, size_t slow) {
  return hit == 0 ? 0 : static_cast<double>(hit) / static_cast<double>(predicted + slow - hit);
}

// The sides that fit best; ranks before hosts, as a host with one rank cannot be told from it.
std::vector<size_t> BestSides(const Sides& sides, const std::vector<size_t>& hit, const std::vector<size_t>& predicted,
                              size_t slow) {
  constexpr double kLeastFit = 0.5;
  double best = kLeastFit;
  std::vector<size_t> out;
  for (size_t i = 0; i < sides.count(); ++i) {
    const double fit = Overlap(hit[i], predicted[i], slow);
    if (fit < best || fit <= kLeastFit) continue;
    if (fit > best) out.clear();
    if (fit == best && !out.empty() && sides.IsHost(i) != sides.IsHost(out.front())) continue;
    best = fit;
    out.push_back(i);
  }
  return out;
}

// Ranks in a row all of whose sends are slow, where no file names its host; no sides where the slow ones are others.
// Collectives, of many members each, may be slow for reasons of their own.
Egress RowOfSenders(const Job& job, std::span<const Channel> channels, const std::vector<size_t>& predicted,
                    std::vector<SlowChannel> slow) {
  std::map<int32_t, size_t> sends;  // by rank index: its slow channels
  std::erase_if(slow, [&](const SlowChannel& s) { return channels[s.channel].sender < 0; });
  for (const SlowChannel& s : slow) {
    const int32_t sender = channels[s.channel].sender;
    if (job.ranks[static_cast<size_t>(sender)].comms.host_known) return {};
    ++sends[sender];
  }
  if (sends.size() < 2) return {};
  Egress out;
  for (const auto& [rank, count] : sends) {
    const RankId id = job.ranks[static_cast<size_t>(rank)].meta.rank;
    const bool next = out.sides.empty() || id == job.ranks[static_cast<size_t>(out.sides.back())].meta.rank + 1;
    const auto all = static_cast<size_t>(std::count_if(channels.begin(), channels.end(), [&](const Channel& channel) {
      return channel.sender == rank && Matters(job, channel);
    }));
    if (!next || count < all) return {};
    out.predicted += predicted[static_cast<size_t>(rank)];
    out.sides.push_back(rank);
  }
  out.is_row = true;
  out.slow = std::move(slow);
  return out;
}

// What would be slow but for its clocks, and passes a side that is known to be slow, is so by it.
void TakeUnsure(std::span<const Channel> channels, const Sides& sides, size_t side, std::vector<SlowChannel>* unsure,
                Egress* egress) {
  std::vector<SlowChannel> rest;
  for (SlowChannel& s : *unsure) {
    const std::vector<size_t> of = sides.Of(channels[s.channel]);
    const bool passes = std::find(of.begin(), of.end(), side) != of.end();
    s.is_taken = passes;
    (passes ? egress->slow : rest).push_back(std::move(s));
  }
  *unsure = std::move(rest);
}

}  // namespace

std::vector<Egress> Localise(const Job& job, std::span<const Channel> channels, std::vector<SlowChannel> slow,
                             Against against) {
  constexpr size_t kMost = 8;
  const Sides sides(job);
  std::vector<SlowChannel> unsure = Look(job, channels, against).unsure;
  const Predictions predictions(job, channels, sides, against, unsure);
  const std::vector<size_t>& predicted = predictions.of_side();
  std::vector<Egress> out;
  while (!slow.empty() && out.size() < kMost) {
    const std::vector<size_t> hit = predictions.Hits(channels, slow);
    const std::vector<size_t> best = BestSides(sides, hit, predicted, slow.size());
    if (best.empty()) {
      if (Egress row = RowOfSenders(job, channels, predicted, slow); !row.sides.empty()) out.push_back(std::move(row));
      break;
    }
    Egress egress;
    egress.is_host = sides.IsHost(best.front());
    egress.predicted = predicted[best.front()];
    for (const size_t side : best) egress.sides.push_back(sides.IndexOf(side));
    // Ranks that fit equally well and all of whose sends are slow are one card's, not one of them.
    const Egress row = egress.is_host ? Egress{} : RowOfSenders(job, channels, predicted, slow);
    if (row.sides == egress.sides) {
      egress.is_row = true;
      egress.predicted = row.predicted;
    }
    std::vector<SlowChannel> rest;
    for (SlowChannel& s : slow) {
      const std::vector<size_t> of = sides.Of(channels[s.channel]);
      const bool explained = std::any_of(
          of.begin(), of.end(), [&](size_t side) { return std::find(best.begin(), best.end(), side) != best.end(); });
      (explained ? egress.slow : rest).push_back(std::move(s));
    }
    if (best.size() == 1) TakeUnsure(channels, sides, best.front(), &unsure, &egress);
    out.push_back(std::move(egress));
    slow = std::move(rest);
  }
  return out;
}

}  // namespace headway::diagnose
