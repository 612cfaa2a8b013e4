// SPDX-License-Identifier: Apache-2.0
#include "diagnose/beyond_group.h"

#include <algorithm>
#include <map>

namespace headway::diagnose {

namespace {

using SuspectOf = std::map<size_t, const Suspect*>;  // by rank index

// In how many of the struck steps of the others, on average, `rank` takes longer by half as much or more.
double ShareTogether(const ExcessTable& table, const Siblings& group, size_t rank, const SuspectOf& struck) {
  double sum = 0;
  for (const size_t other : group.ranks) {
    const auto it = struck.find(other);
    if (other == rank || it == struck.end()) continue;
    const std::vector<size_t> steps = it->second->StruckSteps();
    if (steps.empty()) continue;
    const auto together = std::count_if(steps.begin(), steps.end(), [&](size_t s) {
      const Nanos mine = table.At(rank, s);
      return mine != kNoValue && mine * 2 >= it->second->cost[s];
    });
    sum += static_cast<double>(together) / static_cast<double>(steps.size());
  }
  return sum / static_cast<double>(group.ranks.size() - 1);
}

// The group whose others are struck when `rank` is; null = there is none.
const Siblings* GroupOf(const AnalysisInput& in, std::span<const Siblings> groups, size_t rank,
                        const SuspectOf& struck) {
  constexpr double kMostSteps = 0.75;
  const Siblings* best = nullptr;
  double most = kMostSteps;
  for (const Siblings& group : groups) {
    const bool is_all = group.ranks.size() == in.job.classes[static_cast<size_t>(group.peer_class)].size();
    if (is_all || !std::binary_search(group.ranks.begin(), group.ranks.end(), rank)) continue;
    const double share = ShareTogether(in.excess, group, rank, struck);
    if (share <= most) continue;
    most = share;
    best = &group;
  }
  return best;
}

// By step: how far the rank's excess lies above that of the middle one of the others.
std::vector<Nanos> BeyondOthers(const ExcessTable& table, const Siblings& group, size_t rank) {
  std::vector<Nanos> out(table.steps, 0);
  for (size_t s = 0; s < out.size(); ++s) {
    std::vector<Nanos> others;
    for (const size_t r : group.ranks) {
      if (r != rank && table.At(r, s) != kNoValue) others.push_back(table.At(r, s));
    }
    if (table.At(rank, s) != kNoValue && !others.empty()) out[s] = table.At(rank, s) - Median(std::move(others));
  }
  return out;
}

}  // namespace

std::vector<Suspect> TakeBeyondGroup(const AnalysisInput& in, std::span<const Siblings> groups,
                                     std::vector<Suspect>* struck) {
  const std::vector<Suspect> before = *struck;
  SuspectOf of_rank;
  for (const Suspect& suspect : before) of_rank[suspect.rank] = &suspect;
  std::vector<Suspect> out;
  for (Suspect& suspect : *struck) {
    const Siblings* group = GroupOf(in, groups, suspect.rank, of_rank);
    if (group == nullptr) continue;
    std::vector<Nanos> beyond = BeyondOthers(in.excess, *group, suspect.rank);
    const Nanos noise = in.excess.step_noise[static_cast<size_t>(in.job.peer_class[suspect.rank])];
    const Nanos least = std::max(4 * noise, in.job.median_step / 50);
    std::replace_if(beyond.begin(), beyond.end(), [least](Nanos x) { return x < least; }, Nanos{0});
    Suspect own = MakeSuspect(suspect.rank, *suspect.table, std::move(beyond));
    own.is_part = true;
    if (own.total * 200 < in.job.median_step * static_cast<Nanos>(own.cost.size())) continue;
    for (size_t s = 0; s < own.cost.size(); ++s) suspect.Take(s, own.cost[s]);
    out.push_back(std::move(own));
  }
  std::erase_if(*struck, [](const Suspect& suspect) { return suspect.struck == 0; });
  return out;
}

}  // namespace headway::diagnose
