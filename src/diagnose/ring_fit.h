// SPDX-License-Identifier: Apache-2.0
// Which link of a ring over several hosts is slow, where their clocks do not tell who ends last.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

struct RingFit {
  std::vector<RankId> senders;    // over the slow link, in the order of the ring; several where all fit as well
  std::vector<RankId> receivers;  // parallel
  Nanos hop = 0;                  // from a member's end to that of the next one down the ring
};

// Over `collectives` of one group and kind whose members are `ring`, rank indices in the order in which each sends to
// the next. Behind one slow link each member ends a hop before the one ahead of it (ring_order.h), all round from the
// link's receiver to its sender. Held against the ends on each host apart, so no offset between clocks matters: least
// squares over every place of the link, the ends of a host about their mean. Nothing where no place explains nine
// tenths of what the ends differ by, or a hop is no more than what an end varies by between calls. O(members^2 + rows).
[[nodiscard]] std::optional<RingFit> FitRing(const Job& job, std::span<const size_t> ring,
                                             std::span<const size_t> collectives);

}  // namespace headway::diagnose
