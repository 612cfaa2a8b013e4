// SPDX-License-Identifier: Apache-2.0
// What removing each cause would bring, by replay, and what that makes of the candidates.
#pragma once

#include <vector>

#include "diagnose/candidate.h"
#include "diagnose/job.h"

namespace headway::diagnose {

struct Priced {
  std::vector<report::Finding> findings;  // by (severity, recoverable), largest first
  Nanos all_removed_per_step = 0;         // replay with every cause of warning or above removed at once
};

// Severity rule (docs/reading-the-report.md). Let c = recoverable time per step, s = the median step.
// (of info only what brings at least half a per cent of s is kept)
//   critical: c >= 20 % of s;  warning: c >= max(1 % of s, twice the candidate's noise);  else info.
// A cause that strikes once is judged by the same c (its total over the window, divided by the steps).
// At most two replays a candidate, on up to `threads` threads; the result does not depend on their number.
[[nodiscard]] Priced PriceCandidates(const Job& job, std::vector<Candidate> candidates, int threads = 1);

}  // namespace headway::diagnose
