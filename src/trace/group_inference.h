// SPDX-License-Identifier: Apache-2.0
// Groups of lanes that no event names: threads of a host backend, streams of files without collective arguments.
#pragma once

#include <vector>

#include "trace/comm.h"
#include "trace/comm_sequence.h"
#include "trace/group_table.h"

namespace headway::trace {

// Completes `table->of_local` for lanes, adding groups where no file declares them. Uses the order in which groups and
// their threads are made, kinds, sizes and counts of operations, and overlap in time across ranks; chooses what is
// consistent over all ranks. Lanes it cannot place stay -1. True if there were lanes to place.
bool InferLaneGroups(const std::vector<RankComms>& ranks, int world_size, const ClockOffset& offset, GroupTable* table);

}  // namespace headway::trace
