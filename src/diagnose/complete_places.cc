// SPDX-License-Identifier: Apache-2.0
#include "diagnose/complete_places.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "diagnose/excess.h"
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

// How much longer the rank usually takes than the middle one of those of its program that are not at these places; 0
// where all are.
Nanos BeyondOtherPlaces(const AnalysisInput& in, size_t rank, const std::set<size_t>& places) {
  const std::vector<int32_t>& members = in.job.classes[static_cast<size_t>(in.job.peer_class[rank])];
  const auto own = [&](size_t r, size_t s) { return in.excess.own[r * in.excess.steps + s]; };
  std::vector<Nanos> by_step;
  for (size_t s = 0; s < in.excess.steps; ++s) {
    std::vector<Nanos> others;
    for (size_t p = 0; p < members.size(); ++p) {
      const auto other = static_cast<size_t>(members[p]);
      if (places.count(p) == 0 && own(other, s) != kNoValue) others.push_back(own(other, s));
    }
    if (!others.empty() && own(rank, s) != kNoValue) by_step.push_back(own(rank, s) - Median(std::move(others)));
  }
  return Median(std::move(by_step));
}

// Ranks at the usual places that a program lacks: of one place suspects, and those that merely stand out too little, by
// half of what it is in the middle; of all places (their own middle is what they were held against) where all of its
// ranks there do.
std::vector<size_t> Missing(const AnalysisInput& in, const Places& places, const std::set<size_t>& suspects) {
  const Job& job = in.job;
  const std::set<size_t> usual = UsualPlaces(places);
  if (usual.empty()) return {};
  const auto rank_at = [&](size_t program, size_t p) { return static_cast<size_t>(job.classes[program][p]); };
  std::vector<Nanos> named;
  for (const auto& [program, of_program] : places) {
    if (of_program != usual) continue;
    for (const size_t p : usual) {
      named.push_back(BeyondOtherPlaces(in, rank_at(static_cast<size_t>(program), p), usual));
    }
  }
  const Nanos middle = Median(std::move(named));
  const auto takes_it = [&](size_t rank) { return middle > 0 && 2 * BeyondOtherPlaces(in, rank, usual) >= middle; };
  std::vector<size_t> out;
  for (size_t program = 0; program < job.classes.size(); ++program) {
    const auto known = places.find(static_cast<int32_t>(program));
    const std::set<size_t> of_program = known == places.end() ? std::set<size_t>() : known->second;
    if (*usual.rbegin() >= job.classes[program].size() ||
        !std::includes(usual.begin(), usual.end(), of_program.begin(), of_program.end())) {
      continue;
    }
    std::vector<size_t> lacks;
    for (const size_t p : usual) {
      if (of_program.count(p) == 0) lacks.push_back(rank_at(program, p));
    }
    const bool is_suspect = lacks.size() == 1 && !of_program.empty() && suspects.count(lacks.front()) > 0;
    const bool is_known = lacks.size() == 1 || of_program.empty();
    const bool take_it = is_known && std::all_of(lacks.begin(), lacks.end(), takes_it);
    if (is_suspect || take_it) out.insert(out.end(), lacks.begin(), lacks.end());
  }
  return out;
}

}  // namespace

void CompletePlaces(const AnalysisInput& in, const std::set<size_t>& suspects, RankCandidates* candidates) {
  const Job& job = in.job;
  for (auto& [first, candidate] : *candidates) {
    report::Finding& finding = candidate.finding;
    if (finding.scope.ranks.size() < kLeastPrograms) continue;
    std::vector<size_t> ranks = RanksOf(job, finding.scope);
    Places places;
    for (const size_t r : ranks) places[job.peer_class[r]].insert(PlaceOf(job, r));
    if (places.size() < kLeastPrograms) continue;
    std::vector<size_t> missing = Missing(in, places, suspects);
    if (missing.empty()) continue;
    std::sort(missing.begin(), missing.end());
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
    std::vector<RankId> besides, weak;
    for (const size_t r : missing) (suspects.count(r) > 0 ? besides : weak).push_back(job.ranks[r].meta.rank);
    const auto tell = [&](const std::vector<RankId>& added, const char* one, const char* several) {
      if (added.empty()) return;
      finding.sentence += (added.size() == 1 ? " Rank " : " Ranks ") + FormatRanks(added, 4) + ", at the same " +
                          (added.size() == 1 ? "place" : "places") + " of another program, " +
                          (added.size() == 1 ? one : several) + ".";
    };
    tell(besides, "suffers from something else besides", "suffer from something else besides");
    tell(weak, "stands out less", "stand out less");
  }
}

}  // namespace headway::diagnose
