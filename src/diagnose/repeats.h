// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/candidate.h"

namespace headway::diagnose {

// Two analyses may come upon one cause, one by peers and one by what an operation should take. Of candidates with the
// same cause in common steps, where one names all ranks that another names and prices them no lower, the other goes
// (not where it counts from peers and the first does not: candidate.h; of what all take alike twice as much has to be
// priced, of a stage held against others two thirds); of a program's launches the costlier stays; of equals the one
// that claims more, else the first. Candidates that name no rank stay. Where a host is slow, what its ranks' input,
// code or launches take longer in those steps is part of that (not a stage's input that takes far longer: IsOwnMatter);
// so is a pause without a name of a stall that has one, or of code that only its ranks run; so is one kernel that is
// longer on a stage that has more to do, and a stage three quarters of whose excess are one function told of its ranks;
// so is a stage on a slow host that takes longer by no more than half again what the host does; and so are slow copies
// from pageable memory of copies that are told to be unpinned.
void DropRepeats(std::vector<Candidate>* candidates);

}  // namespace headway::diagnose
