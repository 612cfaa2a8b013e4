// SPDX-License-Identifier: Apache-2.0
#include "diagnose/channel_cost.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "diagnose/excess.h"

namespace headway::diagnose {

Nanos ExposedPerStep(const Job& job, const Channels& channels) {
  Nanos sum = 0;
  std::set<int32_t> ranks;
  for (const Channel* channel : channels) {
    ranks.insert(channel->ranks.begin(), channel->ranks.end());
    for (const size_t c : channel->calls) sum += job.graph.collectives[c].exposed_transfer;
  }
  return sum / static_cast<Nanos>(std::max<size_t>(1, ranks.size() * job.num_steps()));
}

std::vector<Nanos> ExcessBySteps(const Job& job, const Channels& channels, double keep) {
  std::map<std::vector<int32_t>, std::vector<Nanos>> by_members;
  for (const Channel* channel : channels) {
    std::vector<Nanos>& by_step = by_members.try_emplace(channel->ranks, job.num_steps(), 0).first->second;
    for (size_t s = 0; s < job.num_steps(); ++s) {
      for (const size_t c : channel->CallsOf(s)) {
        by_step[s] += static_cast<Nanos>((1 - keep) * static_cast<double>(job.graph.collectives[c].transfer));
      }
    }
  }
  std::vector<Nanos> most(job.num_steps(), 0);
  for (const auto& [members, by_step] : by_members) {
    for (size_t s = 0; s < most.size(); ++s) most[s] = std::max(most[s], by_step[s]);
  }
  return most;
}

Nanos MedianTransfer(const Job& job, const Channel& channel) {
  std::vector<Nanos> transfers;
  for (const size_t c : channel.calls) transfers.push_back(job.graph.collectives[c].transfer);
  return Median(std::move(transfers));
}

}  // namespace headway::diagnose
