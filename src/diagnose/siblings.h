// SPDX-License-Identifier: Apache-2.0
// Sets of peers that one cause may strike together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

struct Siblings {
  int32_t peer_class = -1;
  std::vector<size_t> ranks;  // of the class, by index, ascending
  bool is_host = false;
  std::string kind;  // of a group: its description, else how its ranks are laid out
};

// The ranks of each class on each host whose name is known.
[[nodiscard]] std::vector<Siblings> SiblingsOfHosts(const Job& job);

// Process groups of 2 to 16 ranks that are all there and of one class; larger ones first.
[[nodiscard]] std::vector<Siblings> SiblingsOfGroups(const Job& job);

// Ranks that work on one batch: joined by tensor-parallel and pipeline groups and by sends, with peer_class -1 as each
// stage is a class of its own. Empty unless they are several, all of one size. O(ranks in groups).
[[nodiscard]] std::vector<Siblings> SiblingsOfReplicas(const Job& job);

// Whether the ranks share a clock. Whatever disturbs a host strikes all that is on it.
[[nodiscard]] bool AreOnOneHost(const Job& job, std::span<const size_t> ranks);

// Whether not all of its ranks run the same program.
[[nodiscard]] bool SpansClasses(const Job& job, const Siblings& group);

}  // namespace headway::diagnose
