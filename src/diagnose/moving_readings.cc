// SPDX-License-Identifier: Apache-2.0
#include "diagnose/moving_readings.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

// Leaves the steps that cost about as much as its worst ones: beside those, a slow host shows in all others, too.
void KeepStrong(Suspect* suspect) {
  constexpr int kPerCent = 35;  // of the usual strength: the middle of those half as strong as the worst, or more
  const Nanos worst = *std::max_element(suspect->cost.begin(), suspect->cost.end());
  const Nanos strong = MedianOfStruck(suspect->cost, (worst + 1) / 2);
  for (size_t s = 0; s < suspect->cost.size(); ++s) {
    if (suspect->cost[s] * 100 < strong * kPerCent) suspect->Take(s, suspect->cost[s]);
  }
}

std::vector<Suspect> StruckRanks(const AnalysisInput& in) {
  std::vector<Suspect> struck;
  for (size_t r = 0; r < in.job.num_ranks(); ++r) {
    if (in.job.classes[static_cast<size_t>(in.job.peer_class[r])].size() < 3) continue;
    Suspect suspect = StrikeSingleSteps(in.job, in.excess, r);
    if (suspect.struck > 0) KeepStrong(&suspect);
    // A rank struck in most steps is a case of its own beside any moving imbalance.
    if (suspect.struck > 0 && suspect.struck * 10 <= in.job.num_steps() * 6) struck.push_back(std::move(suspect));
  }
  return struck;
}

// Mean own time of a group by step; kNoValue where a member lacks it.
std::vector<Nanos> MeanOwn(const AnalysisInput& in, const Siblings& group) {
  std::vector<Nanos> out(in.job.num_steps(), 0);
  for (size_t s = 0; s < out.size(); ++s) {
    for (const size_t r : group.ranks) {
      const Nanos own = in.excess.own[r * out.size() + s];
      if (own == kNoValue) {
        out[s] = kNoValue;
        break;
      }
      out[s] += own / static_cast<Nanos>(group.ranks.size());
    }
  }
  return out;
}

// By group and step: its mean minus the median of the others', beyond what it usually is above them (a slow host).
std::vector<std::vector<Nanos>> ExcessOfGroups(const std::vector<std::vector<Nanos>>& means) {
  std::vector<std::vector<Nanos>> out(means.size(), std::vector<Nanos>(means.front().size(), kNoValue));
  std::vector<std::pair<Nanos, size_t>> order;  // of one step, with the group
  for (size_t s = 0; s < means.front().size(); ++s) {
    order.clear();
    for (size_t g = 0; g < means.size(); ++g) {
      if (means[g][s] != kNoValue) order.emplace_back(means[g][s], g);
    }
    if (order.size() < 2) continue;
    std::sort(order.begin(), order.end());
    std::vector<Nanos> sorted;
    for (const auto& [mean, g] : order) sorted.push_back(mean);
    for (size_t i = 0; i < order.size(); ++i) out[order[i].second][s] = order[i].first - MedianWithout(sorted, i);
  }
  for (std::vector<Nanos>& row : out) {
    std::vector<Nanos> known;
    std::copy_if(row.begin(), row.end(), std::back_inserter(known), [](Nanos x) { return x != kNoValue; });
    std::sort(known.begin(), known.end());
    const Nanos usual = known.empty() ? 0 : std::max<Nanos>(0, known[known.size() / 4]);  // it may move to it often
    for (Nanos& x : row) x -= x == kNoValue ? 0 : usual;
  }
  return out;
}

// Ranks that share the work of one batch (tensor parallelism) are struck together: their mean varies less than each of
// them; so are all stages of a replica. `groups`: alike in what they run, disjoint.
void StrikeTogether(const AnalysisInput& in, const std::vector<const Siblings*>& groups, std::vector<Suspect>* struck) {
  if (groups.size() < 3) return;
  std::vector<std::vector<Nanos>> means;
  for (const Siblings* group : groups) means.push_back(MeanOwn(in, *group));
  const std::vector<std::vector<Nanos>> excess = ExcessOfGroups(means);
  std::vector<Nanos> away;
  for (const std::vector<Nanos>& row : excess) {
    for (const Nanos x : row) {
      if (x != kNoValue && x <= 0) away.push_back(-x);  // what is struck lies above
    }
  }
  const Nanos noise = DeviationOf(std::move(away));
  const Nanos least = std::max(3 * noise, in.job.median_step / 100);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const size_t r : groups[g]->ranks) {
      std::vector<Nanos> cost(in.job.num_steps(), 0);
      for (size_t s = 0; s < cost.size(); ++s) {
        if (excess[g][s] == kNoValue || excess[g][s] < least) continue;
        cost[s] = std::max(excess[g][s] / 2, in.excess.At(r, s));
      }
      Suspect suspect = MakeSuspect(r, in.excess, std::move(cost));
      if (suspect.struck > 0 && suspect.struck * 10 <= in.job.num_steps() * 6) struck->push_back(std::move(suspect));
    }
  }
}

}  // namespace

std::vector<Reading> Readings(const AnalysisInput& in, const std::vector<Siblings>& all) {
  std::vector<Reading> out;
  out.push_back({StruckRanks(in)});
  std::map<std::string, std::map<int32_t, std::vector<const Siblings*>>> kinds;  // by description, class
  for (const Siblings& group : all) kinds[group.kind][group.peer_class].push_back(&group);
  for (const auto& [kind, by_class] : kinds) {
    out.emplace_back();
    for (const auto& [peer_class, groups] : by_class) StrikeTogether(in, groups, &out.back().struck);
  }
  const std::vector<Siblings> replicas = SiblingsOfReplicas(in.job);
  std::vector<const Siblings*> of_all;
  for (const Siblings& replica : replicas) of_all.push_back(&replica);
  out.emplace_back();
  StrikeTogether(in, of_all, &out.back().struck);
  if (!replicas.empty() && SpansClasses(in.job, replicas.front())) out.back().least_groups = 2;
  return out;
}

}  // namespace headway::diagnose
