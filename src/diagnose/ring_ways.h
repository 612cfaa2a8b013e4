// SPDX-License-Identifier: Apache-2.0
// Which one way out could slow which rings, and at which place of each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnose/channels.h"

namespace headway::diagnose {

// One kind of ring operation of one group, and the order it goes round in.
struct Ring {
  const Channel* channel = nullptr;
  std::vector<size_t> members;  // rank indices, each sends to the next one, the last to the first
};

// The place of the sender in each ring; kNoPlace where the ring does not pass this way.
using Way = std::vector<size_t>;
inline constexpr size_t kNoPlace = SIZE_MAX;

// Those out of each rank, out of each host that no ring leaves twice, and out of the same place in all groups of a
// kind, which is a host whose name is not known. Ascending, each once. O(ways x rings).
[[nodiscard]] std::vector<Way> WaysOut(const Job& job, std::span<const Ring> rings);

}  // namespace headway::diagnose
