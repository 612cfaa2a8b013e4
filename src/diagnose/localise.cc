// SPDX-License-Identifier: Apache-2.0
// Whose way out explains what is slow.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diagnose/excess.h"
#include "diagnose/slow_channels.h"

namespace headway::diagnose {

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
      const std::vector<Nanos>& expected = ExpectedOf(channel, against);
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

// What would be slow but for its clocks, or is by little, and passes a side that is known to be slow, is so by it.
void TakeThosePassing(std::span<const Channel> channels, const Sides& sides, size_t side,
                      std::vector<SlowChannel>* open, Egress* egress) {
  std::vector<SlowChannel> rest;
  for (SlowChannel& s : *open) {
    const std::vector<size_t> of = sides.Of(channels[s.channel]);
    const bool passes = std::find(of.begin(), of.end(), side) != of.end();
    s.is_taken = passes;
    (passes ? egress->slow : rest).push_back(std::move(s));
  }
  *open = std::move(rest);
}

// The one side that has three quarters in common with what is slow, by much or by little; none where that is of one
// family.
std::vector<size_t> SideOfSlight(std::span<const Channel> channels, const Sides& sides, const Predictions& predictions,
                                 const std::vector<SlowChannel>& slow, const std::vector<SlowChannel>& slight) {
  constexpr double kLeastFit = 0.75;
  if (slight.empty()) return {};
  std::vector<SlowChannel> all = slow;
  all.insert(all.end(), slight.begin(), slight.end());
  const std::vector<size_t> of_slow = predictions.Hits(channels, slow), of_all = predictions.Hits(channels, all);
  std::vector<size_t> out;
  double best = kLeastFit;
  for (size_t i = 0; i < sides.count(); ++i) {
    const double fit = of_slow[i] == 0 ? 0 : Overlap(of_all[i], predictions.of_side()[i], all.size());
    if (fit < best || (fit == best && !out.empty() && sides.IsHost(i) != sides.IsHost(out.front()))) continue;
    if (fit > best) out.clear();
    best = fit;
    out.push_back(i);
  }
  if (out.size() != 1) return {};
  std::set<int32_t> families;
  for (const SlowChannel& s : all) {
    const std::vector<size_t> of = sides.Of(channels[s.channel]);
    if (std::find(of.begin(), of.end(), out.front()) != of.end()) families.insert(channels[s.channel].family);
  }
  return families.size() < 2 ? std::vector<size_t>{} : out;
}

}  // namespace

std::vector<Egress> Localise(const Job& job, std::span<const Channel> channels, std::vector<SlowChannel> slow,
                             Against against) {
  constexpr size_t kMost = 8;
  const Sides sides(job);
  BySlowness by_slowness = LookForSlow(job, channels, against);
  std::vector<SlowChannel>& unsure = by_slowness.unsure;
  std::vector<SlowChannel>& slight = by_slowness.slight;
  const Predictions predictions(job, channels, sides, against, unsure);
  const std::vector<size_t>& predicted = predictions.of_side();
  std::vector<Egress> out;
  while (!slow.empty() && out.size() < kMost) {
    const std::vector<size_t> hit = predictions.Hits(channels, slow);
    std::vector<size_t> best = BestSides(sides, hit, predicted, slow.size());
    Egress egress;
    if (best.empty()) {
      best = SideOfSlight(channels, sides, predictions, slow, slight);
      egress.is_slight = !best.empty();
    }
    if (best.empty()) {
      if (Egress row = RowOfSenders(job, channels, predicted, slow); !row.sides.empty()) out.push_back(std::move(row));
      break;
    }
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
    if (best.size() == 1) {
      TakeThosePassing(channels, sides, best.front(), &unsure, &egress);
      TakeThosePassing(channels, sides, best.front(), &slight, &egress);
    }
    out.push_back(std::move(egress));
    slow = std::move(rest);
  }
  return out;
}

}  // namespace headway::diagnose
