// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/candidate.h"

namespace headway::diagnose {

// Two analyses may come upon one cause, one by peers and one by what an operation should take. Of candidates with the
// same cause in common steps, where one names all ranks that another names and prices them no lower, the other goes; of
// equals the later one. Candidates that name no rank stay. Where a host is slow, what its ranks' input, code or
// launches take longer in those steps is part of that; and so is a pause without a name of a stall that has one.
void DropRepeats(std::vector<Candidate>* candidates);

}  // namespace headway::diagnose
