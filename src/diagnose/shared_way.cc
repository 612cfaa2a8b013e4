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

}  // namespace

std::vector<SlowChannel> SlowBesides(const Job& job, std::span<const Channel> channels, const Egress& egress) {
  if (egress.sides.size() != 1 || egress.slow.empty() || !job.ranks.front().has_device) return {};
  std::set<size_t> known;
  std::vector<bool> struck(job.num_steps(), false);
  for (const SlowChannel& slow : egress.slow) {
    known.insert(slow.channel);
    for (size_t s = 0; s < slow.cost.size(); ++s) struck[s] = struck[s] || slow.cost[s] > 0;
  }
  std::map<int32_t, std::vector<size_t>> families;
  std::set<int32_t> compared;  // whose others tell that they are not slow, or how much
  for (size_t i = 0; i < channels.size(); ++i) {
    const Channel& channel = channels[i];
    if (!Matters(job, channel)) continue;
    const bool is_ring = channel.sender < 0 && channel.ranks.size() > 2 && IsRing(channel.op);
    if (!is_ring || known.count(i) > 0 || !Passes(channel, egress)) compared.insert(channel.family);
    families[channel.family].push_back(i);
  }
  const double keep = 1 / MeanRatio(egress.slow);
  std::vector<SlowChannel> out;
  for (const auto& [family, members] : families) {
    if (compared.count(family) > 0) continue;
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
