// SPDX-License-Identifier: Apache-2.0
// A device that is slow, and has as much more of one kind of work as others have: two causes on one rank.
#pragma once

#include <set>

#include "diagnose/analysis.h"
#include "diagnose/call_times.h"
#include "diagnose/sibling_merge.h"

namespace headway::diagnose {

// Where an imbalance of one kernel (or two) is known of some ranks, and the kernels of another rank of their program
// are all slow, but this one by far more: what that takes beyond the slowness of the others is the imbalance, if it is
// half to twice as much as on those. It goes from the rank's own finding to theirs. Where one of those ranks itself is
// slow besides, what it takes longer without that work becomes a finding of its own. `suspects`: nobody's peers.
// O(functions of the ranks' and their peers' steps) a pair of findings.
void TellSlowBesides(const AnalysisInput& in, const std::set<size_t>& suspects, JobCallTimes* calls_of,
                     RankCandidates* candidates);

}  // namespace headway::diagnose
