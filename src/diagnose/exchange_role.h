// SPDX-License-Identifier: Apache-2.0
// Which operations exchange gradients or parameters.
#pragma once

#include <vector>

#include "diagnose/channels.h"

namespace headway::diagnose {

// Channels that do the same operation in groups of one kind, and have one role.
using Family = std::vector<const Channel*>;

struct Exchanges {
  std::vector<Family> known;    // exchange gradients or parameters
  std::vector<Family> unknown;  // nothing tells what they do
};

// Reductions and gathers by what they are for. What exchanges gradients or parameters is that of data parallelism, or
// of a job's only groups; what a layer waits for (tensor parallelism, experts) can be neither merged nor hidden, and is
// in neither. Where no group has a description: of the ways in which groups divide the job the one whose members lie
// farthest apart, as ranks that share layers are neighbours; the only way if it runs in one go beside a pipeline's
// messages, not between them. O(channels x steps + rows of a rank for each group).
[[nodiscard]] Exchanges ExchangesOf(const Job& job, const std::vector<Channel>& channels);

}  // namespace headway::diagnose
