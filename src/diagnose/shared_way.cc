// SPDX-License-Identifier: Apache-2.0
#include "diagnose/shared_way.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diagnose/ring_order.h"

namespace headway::diagnose {

namespace {

bool Passes(const Channel& channel, const Egress& egress) {
  const std::vector<int32_t>& of = egress.is_host ? channel.hosts : channel.ranks;
  return channel.hosts.size() > 1 && std::binary_search(of.begin(), of.end(), egress.sides.front());
}

bool IsRingOverHosts(const Channel& channel) {
  return channel.sender < 0 && channel.hosts.size() > 1 && IsRing(channel.op);
}

}  // namespace

std::vector<SlowChannel> SlowBesides(const Job& job, std::span<const Channel> channels, const Egress& egress) {
  if (egress.sides.size() != 1 || egress.slow.empty()) return {};
  std::set<size_t> known;
  std::vector<bool> struck(job.num_steps(), false);
  for (const SlowChannel& slow : egress.slow) {
    known.insert(slow.channel);
    for (size_t s = 0; s < slow.cost.size(); ++s) struck[s] = struck[s] || slow.cost[s] > 0;
  }
  using Likes = std::pair<int32_t, int32_t>;
  std::map<Likes, std::vector<size_t>> of;  // channels held against one another
  std::set<Likes> compared;                 // whose others tell that they are not slow, or how much
  for (size_t i = 0; i < channels.size(); ++i) {
    const Channel& channel = channels[i];
    const Likes likes{channel.family, channel.likes};
    if (!IsRingOverHosts(channel) || known.count(i) > 0 || !Passes(channel, egress)) compared.insert(likes);
    if (Matters(job, channel)) of[likes].push_back(i);
  }
  const double keep = 1 / MeanRatio(egress.slow);
  std::vector<SlowChannel> out;
  for (const auto& [likes, members] : of) {
    if (compared.count(likes) > 0) continue;
    for (const size_t i : members) {
      SlowChannel slow{i, std::vector<Nanos>(job.num_steps(), 0), 1 / keep};
      for (size_t s = 0; s < job.num_steps(); ++s) {
        if (struck[s]) slow.cost[s] = static_cast<Nanos>((1 - keep) * static_cast<double>(channels[i].actual[s]));
      }
      out.push_back(std::move(slow));
    }
  }
  return out;
}

}  // namespace headway::diagnose
