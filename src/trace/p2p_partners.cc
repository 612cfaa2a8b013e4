// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_partners.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace headway::trace {
namespace {

constexpr double kFits = 0.6;

struct Candidate {
  size_t i = 0, j = 0;
  double score = 0;
  Nanos scatter = 0;
  bool by_ends = false;

  [[nodiscard]] bool Has(size_t rank) const { return i == rank || j == rank; }
};

// As close as this is no choice.
Nanos AboutAsGood(Nanos scatter) { return 2 * scatter + 2 * kMicrosecond; }

}  // namespace

std::vector<std::pair<size_t, size_t>> ChoosePartners(size_t n, const std::function<PartnerFit(size_t, size_t)>& fit) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      const PartnerFit f = fit(i, j);
      if (f.score > kFits) candidates.push_back({i, j, f.score, f.by_ends ? f.scatter : 0, f.by_ends});
    }
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.scatter != b.scatter) return a.scatter < b.scatter;
    if (a.score != b.score) return a.score > b.score;
    return std::tie(a.i, a.j) < std::tie(b.i, b.j);
  });
  enum State : uint8_t { kFree, kUndecided, kPaired };
  std::vector<State> state(n, kFree);
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t c = 0; c < candidates.size(); ++c) {
    const Candidate& best = candidates[c];
    if (state[best.i] != kFree || state[best.j] != kFree) continue;
    const auto rivals = [&](const Candidate& other) {
      return state[other.i] != kPaired && state[other.j] != kPaired && (other.Has(best.i) || other.Has(best.j)) &&
             other.scatter <= AboutAsGood(best.scatter);
    };
    // Candidates are in order: a rival that an undecided rank had before is as close.
    const auto at = candidates.begin() + static_cast<std::ptrdiff_t>(c);
    const bool ambiguous =
        best.by_ends && (std::any_of(candidates.begin(), at, rivals) || std::any_of(at + 1, candidates.end(), rivals));
    state[best.i] = state[best.j] = ambiguous ? kUndecided : kPaired;
    if (!ambiguous) pairs.emplace_back(best.i, best.j);
  }
  return pairs;
}

}  // namespace headway::trace
