// SPDX-License-Identifier: Apache-2.0
// What a slow way out slows besides: rings of which each passes it, so that none of their kind shows what is usual.
#pragma once

#include <span>
#include <vector>

#include "diagnose/slow_channels.h"

namespace headway::diagnose {

// What passes the one side of `egress`, too: of what is slower `in_some_steps` than in its others (FindSlowChannels,
// kOtherSteps) that which is so in just the steps in which the side is slow; and ring operations over hosts that are
// held against none but such as pass it, each taken to be as slow as what `egress` explains, in the same steps. The
// slowest link of a ring sets its pace, so that of the card holds for all. Empty where it is not known which side it
// is, or not slow against siblings. O(channels x steps).
[[nodiscard]] std::vector<SlowChannel> SlowBesides(const Job& job, std::span<const Channel> channels,
                                                   const Egress& egress, std::span<const SlowChannel> in_some_steps);

}  // namespace headway::diagnose
