// SPDX-License-Identifier: Apache-2.0
#include "trace/group_inference.h"

#include <algorithm>
#include <string>

#include "trace/lane_assignment.h"
#include "trace/lane_clusters.h"
#include "trace/lane_runs.h"

namespace headway::trace {
namespace {

int64_t CountLanes(const std::vector<RankLanes>& lanes) {
  int64_t count = 0;
  for (const RankLanes& l : lanes) count += static_cast<int64_t>(l.locals.size());
  return count;
}

void Note(const char* what, int64_t lanes, int64_t assigned, int64_t clustered, GroupTable* table) {
  if (assigned > 0) {
    table->notes.push_back("no event names its process group: " + std::to_string(assigned) + " " + what +
                           " were assigned to the declared groups by order of creation, kinds, counts and times");
  }
  if (clustered > 0) {
    table->notes.push_back("no file declares its process groups: those of " + std::to_string(clustered) + " " + what +
                           " were inferred from matching sequences and times");
  }
  if (const int64_t left = lanes - assigned - clustered; left > 0) {
    table->notes.push_back("the process group of " + std::to_string(left) + " of " + std::to_string(lanes) + " " +
                           what + " could not be told: their operations are left out");
  }
}

}  // namespace

bool InferLaneGroups(const std::vector<RankComms>& ranks, int world_size, const ClockOffset& offset,
                     GroupTable* table) {
  bool any = false;
  for (const bool device : {true, false}) {
    const std::vector<RankLanes> lanes = CollectLanes(ranks, *table, device);
    const int64_t count = CountLanes(lanes);
    if (count == 0) continue;
    any = true;
    const int64_t assigned = AssignLanesToDeclared(lanes, offset, table);
    const int64_t clustered = ClusterLanes(lanes, world_size, offset, table);
    Note(device ? "streams" : "threads", count, assigned, clustered, table);
  }
  return any;
}

}  // namespace headway::trace
