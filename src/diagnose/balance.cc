// SPDX-License-Identifier: Apache-2.0
#include "diagnose/balance.h"

#include <set>

#include "diagnose/scope.h"

namespace headway::diagnose {

namespace {

// How many ranks run what these run.
size_t RanksOfTheirPrograms(const Job& job, const report::Scope& scope) {
  std::set<int32_t> programs;
  for (const size_t r : RanksOf(job, scope)) programs.insert(job.peer_class[r]);
  size_t n = 0;
  for (const int32_t program : programs) n += job.classes[static_cast<size_t>(program)].size();
  return n;
}

}  // namespace

void LeaveEvenShares(const Job& job, std::vector<Candidate>* candidates) {
  for (Candidate& candidate : *candidates) {
    const std::vector<RankId>& ranks = candidate.finding.scope.ranks;
    if (candidate.finding.cause != "data-imbalance" || ranks.empty()) continue;
    const size_t n = RanksOfTheirPrograms(job, candidate.finding.scope);
    if (n <= ranks.size()) continue;
    const double kept = static_cast<double>(ranks.size()) / static_cast<double>(n);
    for (replay::SegmentEdit::Own& own : candidate.edit.own) {
      own.own += static_cast<Nanos>(kept * static_cast<double>(job.graph.marks[own.mark].Own() - own.own));
    }
  }
}

}  // namespace headway::diagnose
