// SPDX-License-Identifier: Apache-2.0
// Which way out is slow, from the ends of all rings over several hosts together, whatever the hosts' clocks are.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "diagnose/ring_ways.h"

namespace headway::diagnose {

struct RingFit {
  struct Link {
    const Channel* channel = nullptr;
    RankId sender = -1, receiver = -1;
    Nanos hop = 0;  // from a member's end to that of the next one down the ring, in the longest operations
  };
  std::vector<Link> links;  // of the rings that pass the slow way, in their order
};

// Whether ranks times ends are more than 2^22 (some 2,000 ranks): nothing is fitted then. O(ends).
[[nodiscard]] bool AreTooMany(std::span<const Ring> rings);

// Behind one slow link each member of a ring ends a hop before the one ahead of it (ring_order.h), all round from the
// link's receiver to its sender, and the longer an operation takes the longer is its hop. A clock that is off moves
// all ends on its host by the same, in rings that go either way round, long or short, slow or not: least squares with
// one offset a clock and one hop (as a share of the transfer) an operation kind, over every rank's and every host's way
// out, and that at one place in all groups of a kind. A device passes a long message on in pieces: its hop grows no
// more with the transfer. Nothing where the best leaves a tenth of the squares that offsets do not explain, another one
// does about as well, the ends tell of little more than offsets and hops, or a hop is no more than what an end varies
// by. O((ranks + hosts) x ends x kinds of operation x sweeps); nothing for rings that are too many.
[[nodiscard]] std::optional<RingFit> FitRings(const Job& job, std::span<const Ring> rings);

}  // namespace headway::diagnose
