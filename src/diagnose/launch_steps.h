// SPDX-License-Identifier: Apache-2.0
// Steps in which devices stand idle behind their hosts more than in the others: a loss printed now and then, a hook
// that runs in every fourth step. Over all steps together that is little, in those steps it is far out of what varies.
#pragma once

#include <vector>

#include "diagnose/analysis.h"

namespace headway::diagnose {

// What the device waits for its host in the step, in many small holes; 0 where it is one long one, which is a call that
// takes its time, or where most rows have no launch of their own (graphs: gaps between them are not the host's).
[[nodiscard]] Nanos IdleBehindLaunches(const pattern::RankPattern& rank, const pattern::Step& step);

// Hidden waits and slow launches in some steps, two at least and three quarters at most: of all ranks of those programs
// in which three quarters of the ranks agree on the steps, else hidden waits of single ranks that make far more waiting
// calls in theirs.
// O(ranks * steps).
[[nodiscard]] std::vector<Candidate> FindLaunchSteps(const AnalysisInput& in);

}  // namespace headway::diagnose
