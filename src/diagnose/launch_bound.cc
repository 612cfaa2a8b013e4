// SPDX-License-Identifier: Apache-2.0
#include "diagnose/launch_bound.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
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

bool IsAlike(const Job& job, int32_t program, std::map<int32_t, bool>* known) {
  const auto it = known->find(program);
  if (it != known->end()) return it->second;
  return (*known)[program] = LaunchAlike(job, job.classes[static_cast<size_t>(program)]);
}

// A finding about all ranks of a program.
struct Widened {
  size_t place = 0;           // in the candidates
  std::set<RankId> shown_by;  // whose devices wait
};

}  // namespace

void WidenLaunchBound(const Job& job, RankCandidates* candidates) {
  RankCandidates out;
  std::map<int32_t, bool> alike;    // by class: whether all launch as much
  std::map<int32_t, Widened> told;  // by class
  for (auto& [rank, candidate] : *candidates) {
    const int32_t program = job.peer_class[rank];
    const std::vector<int32_t>& members = job.classes[static_cast<size_t>(program)];
    const bool is_bound = candidate.finding.cause == "launch-bound" && members.size() > 1;
    const bool of_all = is_bound && IsAlike(job, program, &alike);
    if (!of_all) {
      out.emplace_back(rank, std::move(candidate));
      continue;
    }
    const auto [before, is_first] = told.try_emplace(program, Widened{out.size(), {}});
    for (const RankId shown : candidate.finding.scope.ranks) before->second.shown_by.insert(shown);
    if (is_first) {
      out.emplace_back(rank, std::move(candidate));
    } else {
      Join(candidate, job, &out[before->second.place].second);
    }
  }
  for (const auto& [program, widened] : told) {
    report::Finding& finding = out[widened.place].second.finding;
    const std::vector<int32_t>& members = job.classes[static_cast<size_t>(program)];
    finding.scope = {};
    FillScope(job, std::vector<size_t>(members.begin(), members.end()), &finding.scope);
    finding.id = "launch-bound-" + std::to_string(finding.scope.ranks.front());
    finding.headline = Who(job, finding.scope);
    const std::vector<RankId> shown(widened.shown_by.begin(), widened.shown_by.end());
    finding.sentence += " It shows on " + std::string(shown.size() == 1 ? "rank " : "ranks ") + FormatRanks(shown, 8) +
                        "; the others launch as much, and wait.";
  }
  *candidates = std::move(out);
}

}  // namespace headway::diagnose
