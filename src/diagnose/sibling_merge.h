// SPDX-License-Identifier: Apache-2.0
// One cause that strikes all ranks of a host, or of a small group, is one finding.
#pragma once

#include <utility>
#include <vector>

#include "diagnose/candidate.h"
#include "diagnose/job.h"

namespace headway::diagnose {

// Candidates about one rank each, with its rank index.
using RankCandidates = std::vector<std::pair<size_t, Candidate>>;

// Joins those of one peer class and
//   - one host where at least three quarters of the host's ranks in the class are struck, at least two, by one cause
//     (or, where they are named differently, by causes of the host);
//   - one process group of up to 16 ranks where every rank is struck by one cause (tensor-parallel ranks share the work
//     of one expert, or of one batch);
// and ranks of the class elsewhere are not (a quarter of them at most). Groups that overlap are joined into one, a host
// with nothing else. What is joined takes the place of its first part.
// Of a group, and of two ranks of a host, the least must cost at least a quarter of the most.
void MergeSiblings(const Job& job, RankCandidates* candidates);

// Joins what is one matter wherever it strikes: one function longer on several ranks, one habit of the program (waits
// for the device, pageable copies), about equally strong. Candidates may be of several ranks already.
void MergeAlike(const Job& job, RankCandidates* candidates);

// Joins slow hosts that several classes or groups found, each for its own ranks, where together they name three
// quarters of the host's ranks; where no file names its host, where they are three or more ranks in a row. There also
// as many with equally slow input. Candidates may be of several ranks already.
void MergeHosts(const Job& job, RankCandidates* candidates);

}  // namespace headway::diagnose
