// SPDX-License-Identifier: Apache-2.0
// Imbalance that moves: in most of its steps some rank takes longer, but another one each time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "diagnose/analysis.h"
#include "diagnose/suspects.h"

namespace headway::diagnose {

struct MovingImbalance {
  Candidate candidate;
  // By rank index: what it explains of the rank's longer steps, by step.
  std::map<size_t, std::vector<Nanos>> explained;
  std::vector<Suspect> own;  // what some of them take beyond that, by themselves

  // Indices of all ranks it is about: of some the own slowness may be all.
  [[nodiscard]] std::set<size_t> Ranks() const;
};

// Ranks are put together that are struck in the same steps (the ranks of one replica get the same batch). It moves when
// there are three or more such groups (of whole replicas of several stages two), none struck in most of the struck
// steps, hardly two of them in one step, and one kind of work holds the excess. Of ranks that share processors with
// other work it is only believed when most steps are struck: chance strikes some. Nothing where any of that fails.
// O(cells of struck ranks).
[[nodiscard]] std::optional<MovingImbalance> FindMovingImbalance(const AnalysisInput& in);

}  // namespace headway::diagnose
