// SPDX-License-Identifier: Apache-2.0
#include "diagnose/repeats.h"

#include <algorithm>

namespace headway::diagnose {

namespace {

bool ShareSteps(const Candidate& a, const Candidate& b) {
  for (size_t s = 0; s < std::min(a.excess.size(), b.excess.size()); ++s) {
    if (a.excess[s] > 0 && b.excess[s] > 0) return true;
  }
  return false;
}

// Whether `b` says nothing that `a` does not say.
bool Covers(const Candidate& a, const Candidate& b) {
  const auto& ranks = a.finding.scope.ranks;
  const auto& fewer = b.finding.scope.ranks;
  return a.finding.cause == b.finding.cause && !fewer.empty() &&
         std::includes(ranks.begin(), ranks.end(), fewer.begin(), fewer.end()) && ShareSteps(a, b);
}

}  // namespace

void DropRepeats(std::vector<Candidate>* candidates) {
  std::vector<Candidate> kept;
  for (size_t i = 0; i < candidates->size(); ++i) {
    const Candidate& mine = (*candidates)[i];
    bool repeats = false;
    for (size_t k = 0; k < candidates->size() && !repeats; ++k) {
      const Candidate& other = (*candidates)[k];
      const bool is_same = mine.finding.scope.ranks == other.finding.scope.ranks;
      repeats = k != i && Covers(other, mine) && (!is_same || k < i);
    }
    if (!repeats) kept.push_back(std::move((*candidates)[i]));
  }
  *candidates = std::move(kept);
}

}  // namespace headway::diagnose
