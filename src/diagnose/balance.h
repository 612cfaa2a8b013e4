// SPDX-License-Identifier: Apache-2.0
// Work that ranks have too much of does not go away: their peers get it.
#pragma once

#include <vector>

#include "diagnose/candidate.h"
#include "diagnose/job.h"

namespace headway::diagnose {

// Of data-imbalance of named ranks: leaves them, in what the candidate's edit takes off own time, what every rank of
// their programs has where it is shared out evenly: k ranks that each have x more than the others of the n that run
// their programs keep k / n of x. Imbalance that moves names no ranks and is left as it is.
void LeaveEvenShares(const Job& job, std::vector<Candidate>* candidates);

}  // namespace headway::diagnose
