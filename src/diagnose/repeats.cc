// SPDX-License-Identifier: Apache-2.0
#include "diagnose/repeats.h"

#include <algorithm>

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

// Whether the candidate at `i` says nothing that the one at `k` does not say.
bool Covers(const std::vector<Candidate>& all, size_t k, size_t i) {
  const Candidate& a = all[k];
  const Candidate& b = all[i];
  const auto& ranks = a.finding.scope.ranks;
  const auto& fewer = b.finding.scope.ranks;
  if (k == i || a.finding.cause != b.finding.cause || fewer.empty()) return false;
  if (ranks == fewer) return k < i && ShareSteps(a, b);
  return std::includes(ranks.begin(), ranks.end(), fewer.begin(), fewer.end()) && CostsAsMuch(a, b);
}

}  // namespace

void DropRepeats(std::vector<Candidate>* candidates) {
  std::vector<bool> repeats(candidates->size(), false);
  for (size_t i = 0; i < candidates->size(); ++i) {
    for (size_t k = 0; k < candidates->size() && !repeats[i]; ++k) repeats[i] = Covers(*candidates, k, i);
  }
  std::vector<Candidate> kept;
  for (size_t i = 0; i < candidates->size(); ++i) {
    if (!repeats[i]) kept.push_back(std::move((*candidates)[i]));
  }
  *candidates = std::move(kept);
}

}  // namespace headway::diagnose
