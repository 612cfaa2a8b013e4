// SPDX-License-Identifier: Apache-2.0
// Which operations exchange gradients or parameters.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/channels.h"

namespace headway::diagnose {

// Channels that do the same operation in groups of one kind, and have one role.
using Family = std::vector<const Channel*>;

enum class Role : uint8_t { kExchange, kUnknown };  // kUnknown: those whose role nothing tells

// Reductions and gathers of this role. What exchanges gradients or parameters is that of data parallelism, or of a
// job's only groups; what a layer waits for (tensor parallelism, experts) can be neither merged nor hidden. Where no
// group has a description: of the ways in which groups divide the job the one whose members lie farthest apart, as
// ranks that share layers are neighbours; the only way if it runs in one go beside a pipeline's messages, not between
// them. O(channels + rows of a rank a group).
[[nodiscard]] std::vector<Family> FamiliesOf(const Job& job, const std::vector<Channel>& channels, Role wanted);

}  // namespace headway::diagnose
