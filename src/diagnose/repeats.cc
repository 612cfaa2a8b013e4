// SPDX-License-Identifier: Apache-2.0
#include "diagnose/repeats.h"

#include <algorithm>
#include <numeric>

namespace headway::diagnose {

namespace {

// Whether `a` costs at least as much in every step in which `b` costs anything.
bool CostsAsMuch(const Candidate& a, const Candidate& b) {
  bool shared = false;
  for (size_t s = 0; s < std::min(a.excess.size(), b.excess.size()); ++s) {
    if (b.excess[s] <= 0) continue;
    if (a.excess[s] < b.excess[s]) return false;
    shared = true;
  }
  return shared;
}

bool ShareSteps(const Candidate& a, const Candidate& b) {
  for (size_t s = 0; s < std::min(a.excess.size(), b.excess.size()); ++s) {
    if (a.excess[s] > 0 && b.excess[s] > 0) return true;
  }
  return false;
}

// Of the same ranks: struck in common steps.
bool IsSame(const Candidate& a, const Candidate& b) {
  const auto& ranks = b.finding.scope.ranks;
  return a.finding.cause == b.finding.cause && !ranks.empty() && a.finding.scope.ranks == ranks && ShareSteps(a, b);
}

// Seen by what one rank shows and by what all show, it is the same; the latter sees more of it.
bool IsOfProgram(const Candidate& candidate) { return candidate.finding.cause == "launch-bound"; }

Nanos Cost(const Candidate& candidate) {
  return std::accumulate(candidate.excess.begin(), candidate.excess.end(), Nanos{0});
}

// `a` names more ranks, and says all that `b` says. What a program does it does everywhere, though it shows in other
// steps elsewhere.
bool Covers(const Candidate& a, const Candidate& b) {
  const auto& ranks = a.finding.scope.ranks;
  const auto& fewer = b.finding.scope.ranks;
  const bool of_program = IsOfProgram(a) && ShareSteps(a, b);
  return a.finding.cause == b.finding.cause && !fewer.empty() && ranks.size() > fewer.size() &&
         std::includes(ranks.begin(), ranks.end(), fewer.begin(), fewer.end()) && (of_program || CostsAsMuch(a, b));
}

}  // namespace

void DropRepeats(std::vector<Candidate>* candidates) {
  std::vector<Candidate> different;  // what goes covers nothing itself
  for (Candidate& candidate : *candidates) {
    const auto known = std::find_if(different.begin(), different.end(),
                                    [&](const Candidate& before) { return IsSame(before, candidate); });
    if (known == different.end()) {
      different.push_back(std::move(candidate));
    } else if (IsOfProgram(candidate) && Cost(candidate) > Cost(*known)) {
      *known = std::move(candidate);
    }
  }
  std::vector<bool> covered;
  for (const Candidate& b : different) {
    covered.push_back(
        std::any_of(different.begin(), different.end(), [&](const Candidate& a) { return Covers(a, b); }));
  }
  candidates->clear();
  for (size_t i = 0; i < different.size(); ++i) {
    if (!covered[i]) candidates->push_back(std::move(different[i]));
  }
}

}  // namespace headway::diagnose
