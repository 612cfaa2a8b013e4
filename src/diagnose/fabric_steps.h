// SPDX-License-Identifier: Apache-2.0
// Steps in which the transfers of all channels take longer alike.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "diagnose/excess.h"
#include "diagnose/slow_channels.h"

namespace headway::diagnose {

// The channels beside those of `explained` groups with what they cost in such steps; empty where there are none. No
// single channel has to stand out: their sum scatters less than each, and that nearly all of them rise is what tells
// the fabric from one way out; of `explained` those that rise about as much are added. Where the ranks compute for
// longer in these steps as well it is the machines, and where, without devices, one of them stood still for as long,
// that is what the others' transfers waited for. Of channels that matter. O(cells log n + steps^2).
[[nodiscard]] std::vector<SlowChannel> FindFabricSteps(const Job& job, const ExcessTable& excess,
                                                       std::span<const Channel> channels,
                                                       const std::set<int32_t>& explained);

}  // namespace headway::diagnose
