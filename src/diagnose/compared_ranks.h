// SPDX-License-Identifier: Apache-2.0
// Which ranks of two runs are the same thing: rank 5 of 8 does not do what rank 5 of 16 does.
#pragma once

#include <set>
#include <string>

#include "diagnose/job.h"

namespace headway::diagnose {

struct ComparedRanks {
  std::set<RankId> before, after;  // what each run is represented by; equal where `alike`
  bool alike = true;               // a rank of one run may be held against that of the other
  std::string unlike;              // why not all are, and what was done; empty where both runs hold the same ranks
};

// Of runs of one size the ranks with a trace in both, else all of each.
[[nodiscard]] ComparedRanks RanksToCompare(const Job& before, const Job& after);

}  // namespace headway::diagnose
