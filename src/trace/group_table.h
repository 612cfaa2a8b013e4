// SPDX-License-Identifier: Apache-2.0
// Which process group of the job each rank's local groups are: from names, descriptions and rank lists. What no name
// settles (lanes) is left to trace/group_inference.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/comm.h"

namespace headway::trace {

struct GroupTable {
  std::vector<JobGroup> groups;
  std::vector<std::vector<RankId>> written_order;  // parallel: members as written; a peer counts in this order
  // [rank index][local group] -> group, -1 = not known
  std::vector<std::vector<int32_t>> of_local;
  // [rank index] -> the groups this rank's file declares or names, in order of creation, without repeats
  std::vector<std::vector<int32_t>> declared;
  std::vector<std::string> notes;

  // The group with exactly these members (any order) and description, added if new. O(members), mostly memcmp.
  int32_t FindOrAdd(const std::vector<RankId>& ranks, std::string_view desc);

 private:
  std::unordered_map<uint64_t, std::vector<int32_t>> index_;  // looked up only
};

// Fills everything that names and lists settle. A group is its rank set, its description and, where one rank has
// several with both equal, its place among them in order of creation; never its local name alone. Lists cut at 30 are
// completed from the same rank's metadata, else from a like group of another rank, else (size = world) from the world.
[[nodiscard]] GroupTable ResolveNamedGroups(const std::vector<RankComms>& ranks, int world_size);

// The number of ranks in the job: `world_size`, or where it is unknown what lists and files show.
[[nodiscard]] int WorldSize(const std::vector<RankComms>& ranks, int world_size);

}  // namespace headway::trace
