// SPDX-License-Identifier: Apache-2.0
#include "diagnose/moving_readings.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "diagnose/coordinates.h"
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

// Whether all ranks of a class are one tensor-parallel group: they get one batch, so it differs for none of them.
bool GetsOneBatch(const Job& job, int32_t peer_class, const std::vector<Siblings>& groups) {
  const size_t ranks = job.classes[static_cast<size_t>(peer_class)].size();
  return std::any_of(groups.begin(), groups.end(), [&](const Siblings& group) {
    return group.peer_class == peer_class && group.ranks.size() == ranks &&
           RoleOfDescription(group.kind) == GroupRole::kTp;
  });
}

// What the ranks of a class vary by below their peers: what strikes them lies above. Where one of them is struck in
// most steps, now this one and now that, that is what they deviate by; it does not make the others quicker.
Nanos NoiseBelow(const AnalysisInput& in, const std::vector<int32_t>& members) {
  std::vector<Nanos> below;
  for (const int32_t r : members) {
    for (size_t s = 0; s < in.job.num_steps(); ++s) {
      const Nanos x = in.excess.At(static_cast<size_t>(r), s);
      if (x != kNoValue && x <= 0) below.push_back(-x);
    }
  }
  return DeviationOf(std::move(below));
}

// `noise`: by class.
std::vector<Suspect> StruckRanks(const AnalysisInput& in, const std::vector<Siblings>& groups,
                                 const std::vector<Nanos>& noise) {
  std::vector<Suspect> struck;
  std::vector<char> differ;  // by class: whether its ranks may get different data
  for (size_t c = 0; c < in.job.classes.size(); ++c) {
    const bool may = in.job.classes[c].size() >= 3 && !GetsOneBatch(in.job, static_cast<int32_t>(c), groups);
    differ.push_back(may ? 1 : 0);
  }
  for (size_t r = 0; r < in.job.num_ranks(); ++r) {
    const auto c = static_cast<size_t>(in.job.peer_class[r]);
    if (differ[c] == 0) continue;
    Suspect suspect = StrikeSingleSteps(in.job, in.excess, r, noise[c]);
    if (suspect.struck > 0) KeepStrong(&suspect);
    // A rank struck in most steps is a case of its own beside any moving imbalance.
    if (suspect.struck > 0 && suspect.struck * 10 <= in.job.num_steps() * 6) struck.push_back(std::move(suspect));
  }
  return struck;
}

// A group's members beyond their own quiet steps, and their mean; by step.
struct Beyond {
  std::vector<std::vector<Nanos>> members;
  std::vector<Nanos> mean;
};

// Empty where a member lacks a step. A rank that is slow in all steps is so in its quiet ones, too: it does not move
// the middle that others are held against.
Beyond BeyondQuietOf(const AnalysisInput& in, const Siblings& group) {
  Beyond out;
  out.mean.assign(in.job.num_steps(), 0);
  for (const size_t r : group.ranks) {
    out.members.push_back(BeyondQuiet(in.excess, r, in.job.num_steps() / 4));  // it may move to it often
    if (out.members.back().empty()) return {};
    for (size_t s = 0; s < out.mean.size(); ++s) {
      out.mean[s] += out.members.back()[s] / static_cast<Nanos>(group.ranks.size());
    }
  }
  return out;
}

// By group and step: the middle of the means of the others.
std::vector<std::vector<Nanos>> MiddleOfOthers(const std::vector<Beyond>& groups) {
  std::vector<std::vector<Nanos>> out(groups.size(), std::vector<Nanos>(groups.front().mean.size(), 0));
  std::vector<std::pair<Nanos, size_t>> order;  // of one step, with the group
  std::vector<Nanos> sorted(groups.size());
  for (size_t s = 0; s < groups.front().mean.size(); ++s) {
    order.clear();
    for (size_t g = 0; g < groups.size(); ++g) order.emplace_back(groups[g].mean[s], g);
    std::sort(order.begin(), order.end());
    std::transform(order.begin(), order.end(), sorted.begin(), [](const auto& entry) { return entry.first; });
    for (size_t i = 0; i < order.size(); ++i) out[order[i].second][s] = MedianWithout(sorted, i);
  }
  return out;
}

// Ranks that share the work of one batch (tensor parallelism) are struck together: their mean varies less than each of
// them; so are all stages of a replica. `all`: alike in what they run, disjoint.
void StrikeTogether(const AnalysisInput& in, const std::vector<const Siblings*>& all, std::vector<Suspect>* struck) {
  constexpr size_t kLeastGroups = 3;
  std::vector<const Siblings*> groups;  // those whose members have all steps
  std::vector<Beyond> beyond;
  for (const Siblings* group : all) {
    Beyond of_group = BeyondQuietOf(in, *group);
    if (of_group.members.size() != group->ranks.size()) continue;
    groups.push_back(group);
    beyond.push_back(std::move(of_group));
  }
  if (groups.size() < kLeastGroups) return;
  const std::vector<std::vector<Nanos>> others = MiddleOfOthers(beyond);
  std::vector<Nanos> below;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t s = 0; s < others[g].size(); ++s) {
      const Nanos x = beyond[g].mean[s] - others[g][s];
      if (x <= 0) below.push_back(-x);  // what is struck lies above
    }
  }
  const Nanos noise = DeviationOf(std::move(below));
  const Nanos least = std::max(3 * noise, in.job.median_step / 100);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t i = 0; i < groups[g]->ranks.size(); ++i) {
      std::vector<Nanos> cost(in.job.num_steps(), 0);
      for (size_t s = 0; s < cost.size(); ++s) {
        const Nanos of_all = beyond[g].mean[s] - others[g][s];
        if (of_all >= least) cost[s] = std::max(of_all / 2, beyond[g].members[i][s] - others[g][s]);
      }
      Suspect suspect = MakeSuspect(groups[g]->ranks[i], in.excess, std::move(cost));
      if (suspect.struck > 0 && suspect.struck * 10 <= in.job.num_steps() * 6) struck->push_back(std::move(suspect));
    }
  }
}

}  // namespace

std::vector<Reading> Readings(const AnalysisInput& in, const std::vector<Siblings>& all) {
  std::vector<Reading> out;
  out.push_back({StruckRanks(in, all, in.excess.step_noise)});
  std::vector<Nanos> below;
  for (size_t c = 0; c < in.job.classes.size(); ++c) {
    // Of three, one that is struck pulls the middle of the other two's peers up by half of it.
    const Nanos noise = in.job.classes[c].size() > 3 ? NoiseBelow(in, in.job.classes[c]) : in.excess.step_noise[c];
    const bool is_far_less = noise * 10 < in.excess.step_noise[c] * 9;
    below.push_back(is_far_less ? noise : in.excess.step_noise[c]);
  }
  if (below != in.excess.step_noise) out.push_back({StruckRanks(in, all, below)});
  std::map<std::string, std::map<int32_t, std::vector<const Siblings*>>> kinds;  // by description, class
  for (const Siblings& group : all) kinds[group.kind][group.peer_class].push_back(&group);
  for (const auto& [kind, by_class] : kinds) {
    out.push_back({.struck = {}, .together = true});
    for (const auto& [peer_class, groups] : by_class) StrikeTogether(in, groups, &out.back().struck);
  }
  const std::vector<Siblings> replicas = SiblingsOfReplicas(in.job);
  std::vector<const Siblings*> of_all;
  for (const Siblings& replica : replicas) of_all.push_back(&replica);
  out.push_back({.struck = {}, .together = true});
  StrikeTogether(in, of_all, &out.back().struck);
  if (!replicas.empty() && SpansClasses(in.job, replicas.front())) out.back().least_groups = 2;
  return out;
}

}  // namespace headway::diagnose
