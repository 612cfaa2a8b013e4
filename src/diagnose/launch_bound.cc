// SPDX-License-Identifier: Apache-2.0
#include "diagnose/launch_bound.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

int64_t LaunchesOf(const pattern::RankPattern& rank) {
  int64_t sum = 0;
  for (const pattern::Step& step : rank.steps) sum += step.launches;
  return sum;
}

bool LaunchAlike(const Job& job, const std::vector<int32_t>& ranks) {
  std::vector<int64_t> launches;
  for (const int32_t r : ranks) launches.push_back(LaunchesOf(job.ranks[static_cast<size_t>(r)]));
  const auto [least, most] = std::minmax_element(launches.begin(), launches.end());
  return *least > 0 && *most * 20 <= *least * 21;
}

void Join(const Candidate& more, const Job& job, Candidate* all) {
  all->edit.own.insert(all->edit.own.end(), more.edit.own.begin(), more.edit.own.end());
  for (size_t s = 0; s < all->excess.size(); ++s) all->excess[s] = std::max(all->excess[s], more.excess[s]);
  all->finding.when = ClassifyWhen(all->excess, job.steps);
}

}  // namespace

void WidenLaunchBound(const Job& job, RankCandidates* candidates) {
  RankCandidates out;
  std::map<int32_t, size_t> told;  // by class: where in `out`
  for (auto& [rank, candidate] : *candidates) {
    const int32_t program = job.peer_class[rank];
    const std::vector<int32_t>& members = job.classes[static_cast<size_t>(program)];
    const bool of_all = candidate.finding.cause == "launch-bound" && members.size() > 1 && LaunchAlike(job, members);
    if (const auto before = told.find(program); of_all && before != told.end()) {
      Join(candidate, job, &out[before->second].second);
      continue;
    }
    if (of_all) {
      told[program] = out.size();
      report::Finding& finding = candidate.finding;
      const std::string shows = Who(job, finding.scope);
      finding.scope = {};
      FillScope(job, std::vector<size_t>(members.begin(), members.end()), &finding.scope);
      finding.headline = Who(job, finding.scope);
      finding.sentence += " It shows on " + shows + " first; the others launch as much, and wait for it.";
    }
    out.emplace_back(rank, std::move(candidate));
  }
  *candidates = std::move(out);
}

}  // namespace headway::diagnose
