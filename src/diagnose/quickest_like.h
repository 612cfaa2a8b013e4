// SPDX-License-Identifier: Apache-2.0
// What the like of a slow group's operations take where nothing slows them.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "diagnose/channel_cost.h"

namespace headway::diagnose {

// The median transfer in the quickest group that makes as many calls of the kind and size and is not slow itself. Sizes
// that are not written are taken for equal. O(calls of the families of `slow`).
class QuickestLike {
 public:
  // `job` has to outlive it.
  QuickestLike(const Job& job, const Channels& slow, const std::vector<Channel>& all);

  // 0 = there is none.
  [[nodiscard]] Nanos Of(const Channel& channel) const;

 private:
  using Kind = std::tuple<int32_t, size_t, size_t, Bytes>;  // family, calls, members, size

  [[nodiscard]] Kind KindOf(const Channel& channel) const {
    return {channel.family, channel.calls.size(), channel.ranks.size(),
            job_.comms.collectives[channel.calls.front()].bytes};
  }

  const Job& job_;
  std::map<Kind, Nanos> of_kind_;
};

}  // namespace headway::diagnose
