// SPDX-License-Identifier: Apache-2.0
// Work that ranks have too much of does not go away: their peers get it.
#pragma once

#include <vector>

#include "diagnose/candidate.h"
#include "diagnose/job.h"

namespace headway::diagnose {

// Of data-imbalance of named ranks: leaves them, in what the candidate's edit takes off own time, what every rank of
// their programs has where it is shared out evenly. k ranks of n that each have x more than the others keep k / n of x.
// (of imbalance that moves each step has another rank; there nothing is known of what the others had less)
void LeaveEvenShares(const Job& job, std::vector<Candidate>* candidates);

}  // namespace headway::diagnose
