// SPDX-License-Identifier: Apache-2.0
// What the transfers of some channels take and would save.
#pragma once

#include <vector>

#include "diagnose/channels.h"

namespace headway::diagnose {

using Channels = std::vector<const Channel*>;

// No like to compare with: what a slow link or network costs is given as if it were four times faster.
inline constexpr double kAsIfFaster = 0.25;

// Mean over the ranks that take part of exposed transfer per step.
[[nodiscard]] Nanos ExposedPerStep(const Job& job, const Channels& channels);

// By axis step: what the slowest group would save if its transfers took `keep` of their time; groups of other members
// run side by side.
[[nodiscard]] std::vector<Nanos> ExcessBySteps(const Job& job, const Channels& channels, double keep);

// Of one call.
[[nodiscard]] Nanos MedianTransfer(const Job& job, const Channel& channel);

}  // namespace headway::diagnose
