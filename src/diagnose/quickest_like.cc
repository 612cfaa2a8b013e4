// SPDX-License-Identifier: Apache-2.0
#include "diagnose/quickest_like.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace headway::diagnose {

QuickestLike::QuickestLike(const Job& job, const Channels& slow, const std::vector<Channel>& all) : job_(job) {
  std::set<int32_t> groups, families;
  for (const Channel* channel : slow) {
    groups.insert(channel->group);
    families.insert(channel->family);
  }
  for (const Channel& channel : all) {
    if (families.count(channel.family) == 0 || groups.count(channel.group) > 0) continue;
    const Nanos transfer = MedianTransfer(job, channel);
    const auto [it, fresh] = of_kind_.try_emplace(KindOf(channel), transfer);
    it->second = std::min(it->second, transfer);
  }
}

Nanos QuickestLike::Of(const Channel& channel) const {
  const auto it = of_kind_.find(KindOf(channel));
  return it == of_kind_.end() ? 0 : it->second;
}

}  // namespace headway::diagnose
