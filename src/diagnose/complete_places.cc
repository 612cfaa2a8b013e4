// SPDX-License-Identifier: Apache-2.0
#include "diagnose/complete_places.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "diagnose/own_edit.h"
#include "diagnose/scope.h"

namespace headway::diagnose {
namespace {

constexpr size_t kLeastPrograms = 3;

// Places among the ranks of a program, by class.
using Places = std::map<int32_t, std::set<size_t>>;

size_t PlaceOf(const Job& job, size_t rank) {
  const std::vector<int32_t>& members = job.classes[static_cast<size_t>(job.peer_class[rank])];
  return static_cast<size_t>(std::lower_bound(members.begin(), members.end(), static_cast<int32_t>(rank)) -
                             members.begin());
}

// What most programs have; empty where no two thirds agree.
std::set<size_t> UsualPlaces(const Places& places) {
  std::map<std::set<size_t>, size_t> votes;
  for (const auto& [program, of_program] : places) ++votes[of_program];
  const auto most =
      std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->second * 3 >= places.size() * 2 ? most->first : std::set<size_t>();
}

// Suspects at the one place that a program lacks.
std::vector<size_t> Missing(const Job& job, const Places& places, const std::set<size_t>& suspects) {
  const std::set<size_t> usual = UsualPlaces(places);
  std::vector<size_t> out;
  for (const auto& [program, of_program] : places) {
    if (of_program.size() + 1 != usual.size() ||
        !std::includes(usual.begin(), usual.end(), of_program.begin(), of_program.end())) {
      continue;
    }
    const auto lacks = std::find_if(usual.begin(), usual.end(), [&](size_t p) { return of_program.count(p) == 0; });
    const std::vector<int32_t>& members = job.classes[static_cast<size_t>(program)];
    if (*lacks >= members.size()) continue;
    const auto rank = static_cast<size_t>(members[*lacks]);
    if (suspects.count(rank) > 0) out.push_back(rank);
  }
  return out;
}

}  // namespace

void CompletePlaces(const Job& job, const std::set<size_t>& suspects, RankCandidates* candidates) {
  for (auto& [first, candidate] : *candidates) {
    report::Finding& finding = candidate.finding;
    if (finding.scope.ranks.size() < kLeastPrograms) continue;
    std::vector<size_t> ranks = RanksOf(job, finding.scope);
    Places places;
    for (const size_t r : ranks) places[job.peer_class[r]].insert(PlaceOf(job, r));
    if (places.size() < kLeastPrograms) continue;
    const std::vector<size_t> missing = Missing(job, places, suspects);
    if (missing.empty()) continue;
    for (const size_t r : missing) {
      ranks.push_back(r);
      RemoveOwnTime(job, r, {}, candidate.excess, &candidate.edit);
    }
    std::sort(ranks.begin(), ranks.end());
    report::Scope scope;
    FillScope(job, ranks, &scope);
    scope.function = finding.scope.function;
    finding.scope = scope;
    finding.headline = Who(job, scope);
    std::vector<RankId> added;
    for (const size_t r : missing) added.push_back(job.ranks[r].meta.rank);
    finding.sentence += (added.size() == 1 ? " Rank " : " Ranks ") + FormatRanks(added, 4) +
                        ", at the same place of another program, " + (added.size() == 1 ? "suffers" : "suffer") +
                        " from something else besides.";
  }
}

}  // namespace headway::diagnose
