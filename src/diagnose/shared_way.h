// SPDX-License-Identifier: Apache-2.0
// What a slow way out slows besides: rings of which each passes it, so that none of their kind shows what is usual.
#pragma once

#include <span>
#include <vector>

#include "diagnose/slow_channels.h"

namespace headway::diagnose {

// What passes the one side of `egress`, too: operations that take longer in just the steps in which it is slow than in
// others; and ring operations over hosts that are held against none but such as pass it, each as slow as what `egress`
// explains, in the same steps. The slowest link of a ring sets its pace, so that of the card
// holds for all. Empty where it is not known which side it is, or not slow against siblings. O(channels).
[[nodiscard]] std::vector<SlowChannel> SlowBesides(const Job& job, std::span<const Channel> channels,
                                                   const Egress& egress);

}  // namespace headway::diagnose
