// SPDX-License-Identifier: Apache-2.0
// What may be struck now here and now there: single ranks, groups that share a batch, whole replicas.
#pragma once

#include <vector>

#include "diagnose/analysis.h"
#include "diagnose/siblings.h"
#include "diagnose/suspects.h"

namespace headway::diagnose {

// What may move, and how many ranks or groups have to be struck before it does. Ranks of all stages that are longer
// together are so by their batch: two such replicas will do.
struct Reading {
  std::vector<Suspect> struck;
  size_t least_groups = 3;
  bool together = false;  // a group was struck, so that each of its ranks was, whatever it shows
};

// Single ranks, the groups of one kind, or whole replicas; none of them with a rank that is struck in most steps, which
// is a case of its own. `groups`: SiblingsOfGroups. O(cells log ranks) each.
[[nodiscard]] std::vector<Reading> Readings(const AnalysisInput& in, const std::vector<Siblings>& groups);

}  // namespace headway::diagnose
