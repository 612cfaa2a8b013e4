// SPDX-License-Identifier: Apache-2.0
// Which lane belongs to which declared group, consistently over all ranks.
#pragma once

#include <vector>

#include "trace/group_table.h"
#include "trace/lane_runs.h"

namespace headway::trace {

// Sets table->of_local of the lanes of ranks that know which groups they are in (their own file, or another rank's that
// lists them). Lanes and groups ascend together in order of creation; which groups have no lane (point-to-point only,
// or idle) is decided by how well each choice agrees with what the other members of the group show. Lanes that agree
// with nothing stay -1. Returns how many lanes were assigned.
int64_t AssignLanesToDeclared(const std::vector<RankLanes>& lanes, const ClockOffset& offset, GroupTable* table);

}  // namespace headway::trace
