// SPDX-License-Identifier: Apache-2.0
#include "diagnose/shared_way.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diagnose/ring_order.h"

namespace headway::diagnose {

namespace {

// Where a file names no host its rank may be alone on one, though their clocks agree.
bool IsOverHosts(const Job& job, const Channel& channel) {
  return channel.hosts.size() > 1 || std::any_of(channel.ranks.begin(), channel.ranks.end(), [&](int32_t r) {
           return !job.ranks[static_cast<size_t>(r)].comms.host_known;
         });
}

// A message passes its sender's way out only; what stays inside a host does not pass its network card.
bool Passes(const Job& job, const Channel& channel, const Egress& egress) {
  if (egress.is_host && !IsOverHosts(job, channel)) return false;
  const auto is_side = [&](int32_t of) {
    return std::find(egress.sides.begin(), egress.sides.end(), of) != egress.sides.end();
  };
  if (channel.sender >= 0) {
    return is_side(egress.is_host ? job.comms.clock_of_rank[static_cast<size_t>(channel.sender)] : channel.sender);
  }
  const std::vector<int32_t>& of = egress.is_host ? channel.hosts : channel.ranks;
  // Ranks in a row share a card: what they send one another does not pass it.
  if (egress.is_row && std::all_of(of.begin(), of.end(), is_side)) return false;
  return std::any_of(of.begin(), of.end(), is_side);
}

// Of two members each has what the other one sent, whatever they do.
bool IsRingOverHosts(const Job& job, const Channel& channel) {
  const bool is_ring = IsRing(channel.op) || channel.ranks.size() == 2;
  return channel.sender < 0 && is_ring && IsOverHosts(job, channel);
}

using Likes = std::pair<int32_t, int32_t>;

Likes LikesOf(std::span<const Channel> channels, size_t i) {
  const int32_t likes = channels[i].likes;
  return {channels[i].family, likes >= 0 ? likes : -1 - static_cast<int32_t>(i)};
}

}  // namespace

std::vector<SlowChannel> SlowBesides(const Job& job, std::span<const Channel> channels, const Egress& egress,
                                     std::span<const SlowChannel> in_some_steps) {
  if ((egress.sides.size() != 1 && !egress.is_row) || egress.slow.empty()) return {};
  std::set<size_t> known;
  SlowChannel any{0, std::vector<Nanos>(job.num_steps(), 0), 0};
  for (const SlowChannel& slow : egress.slow) {
    known.insert(slow.channel);
    for (size_t s = 0; s < slow.cost.size(); ++s) any.cost[s] = std::max(any.cost[s], slow.cost[s]);
  }
  std::map<Likes, std::vector<size_t>> of;  // channels held against one another; one without likes is by itself
  std::set<Likes> compared;                 // whose others tell that they are not slow, or how much
  for (size_t i = 0; i < channels.size(); ++i) {
    const Channel& channel = channels[i];
    const Likes likes = LikesOf(channels, i);
    const bool is_taken = IsRingOverHosts(job, channel) && known.count(i) == 0 && Passes(job, channel, egress);
    if (!is_taken) compared.insert(likes);
    if (Matters(job, channel)) of[likes].push_back(i);
  }
  const double keep = 1 / MeanRatio(egress.slow);
  std::vector<SlowChannel> out;
  if (std::find(any.cost.begin(), any.cost.end(), 0) != any.cost.end()) {
    for (const SlowChannel& slow : in_some_steps) {
      const Channel& channel = channels[slow.channel];
      if (known.count(slow.channel) > 0 || !Passes(job, channel, egress) || !SameSteps(slow, any)) continue;
      compared.insert(LikesOf(channels, slow.channel));
      out.push_back(slow);
    }
  }
  for (const auto& [likes, members] : of) {
    if (compared.count(likes) > 0) continue;
    for (const size_t i : members) {
      SlowChannel slow{i, std::vector<Nanos>(job.num_steps(), 0), 1 / keep, true};
      for (size_t s = 0; s < job.num_steps(); ++s) {
        if (any.cost[s] > 0) slow.cost[s] = static_cast<Nanos>((1 - keep) * static_cast<double>(channels[i].actual[s]));
      }
      out.push_back(std::move(slow));
    }
  }
  return out;
}

}  // namespace headway::diagnose
