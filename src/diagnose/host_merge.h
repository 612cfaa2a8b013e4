// SPDX-License-Identifier: Apache-2.0
// One cause that strikes all ranks of a host is one finding, about the host.
#pragma once

#include <utility>
#include <vector>

#include "diagnose/candidate.h"
#include "diagnose/job.h"

namespace headway::diagnose {

// Candidates about one rank each, with its rank index.
using RankCandidates = std::vector<std::pair<size_t, Candidate>>;

// Joins those of one host and one peer class where at least three quarters of the host's ranks in the class are struck,
// at least two, by one cause (or, where they are named differently, by causes of the host), and ranks of the class on
// other hosts are not. What is joined takes the place of its first part.
void MergeHosts(const Job& job, RankCandidates* candidates);

}  // namespace headway::diagnose
