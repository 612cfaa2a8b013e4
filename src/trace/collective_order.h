// SPDX-License-Identifier: Apache-2.0
// The order in which a job's collectives are numbered.
#pragma once

#include <vector>

#include "trace/comm.h"

namespace headway::trace {

// Sorts by (step, arrival, group, ordinal); `arrivals` is parallel to the collectives as they come. O(collectives) but
// for those of one step that arrive at the same nanosecond.
void SortCollectives(const std::vector<Nanos>& arrivals, int threads, std::vector<Collective>* collectives);

}  // namespace headway::trace
