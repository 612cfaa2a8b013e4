// SPDX-License-Identifier: Apache-2.0
#include "diagnose/sibling_merge.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/text.h"
#include "diagnose/scope.h"
#include "diagnose/siblings.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

bool IsOfHost(const std::string& cause) {
  return cause == "slow-host" || cause == "slow-host-code" || cause == "shared-host" || cause == "hidden-sync" ||
         cause == "slow-input" || cause == "paused-process";
}

// The name all parts agree on (at least two thirds of them); "slow-host" where they agree on no more than that the host
// is to blame; empty = not one cause.
std::string CommonCause(const std::vector<const Candidate*>& parts, bool is_host) {
  std::map<std::string, size_t> counts;
  for (const Candidate* part : parts) ++counts[part->finding.cause];
  for (const auto& [cause, n] : counts) {
    if (n * 3 >= parts.size() * 2) return cause;
  }
  const bool of_host =
      is_host && std::all_of(parts.begin(), parts.end(), [](const Candidate* p) { return IsOfHost(p->finding.cause); });
  return of_host ? "slow-host" : std::string();
}

Candidate Join(const Job& job, const std::vector<const Candidate*>& parts, const std::vector<size_t>& ranks,
               const std::string& cause, const char* what) {
  const auto named =
      std::find_if(parts.begin(), parts.end(), [&](const Candidate* p) { return p->finding.cause == cause; });
  Candidate out = named == parts.end() ? *parts.front() : **named;
  out.edit = {};
  for (const Candidate* part : parts) {
    out.edit.own.insert(out.edit.own.end(), part->edit.own.begin(), part->edit.own.end());
    for (size_t s = 0; s < out.excess.size(); ++s) out.excess[s] = std::max(out.excess[s], part->excess[s]);
  }
  report::Finding& finding = out.finding;
  report::Scope scope;
  FillScope(job, ranks, &scope);
  scope.function = named == parts.end() ? "" : finding.scope.function;
  finding.scope = scope;
  finding.cause = cause;
  finding.id = cause + "-" + std::to_string(scope.ranks.front());
  finding.headline = Who(job, scope);
  finding.when = ClassifyWhen(out.excess, job.steps);
  if (named == parts.end()) {
    finding.sentence = "All that the host does for its ranks takes longer than on other hosts.";
    finding.suggestion = "look for CPU limits (cgroup quota), low clocks or other processes on this host";
  } else {
    finding.sentence = Counted(static_cast<int64_t>(ranks.size()), "rank") + " of one " + what + " alike. For rank " +
                       std::to_string((*named)->finding.scope.ranks.front()) + ": " + finding.sentence;
  }
  return out;
}

// The candidates about `siblings`, by index; empty where they are not struck as one.
std::vector<size_t> StruckAsOne(const Job& job, const Siblings& siblings, const RankCandidates& candidates,
                                const std::vector<bool>& gone) {
  std::vector<size_t> here;
  size_t elsewhere = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (gone[i] || job.peer_class[candidates[i].first] != siblings.peer_class) continue;
    const bool is_here = std::binary_search(siblings.ranks.begin(), siblings.ranks.end(), candidates[i].first);
    is_here ? here.push_back(i) : static_cast<void>(++elsewhere);
  }
  const size_t others = job.classes[static_cast<size_t>(siblings.peer_class)].size() - siblings.ranks.size();
  const size_t least = siblings.is_host ? (siblings.ranks.size() * 3 + 3) / 4 : siblings.ranks.size();
  if (here.size() < std::max<size_t>(2, least) || others == 0 || elsewhere * 4 > others) here.clear();
  return here;
}

}  // namespace

void MergeSiblings(const Job& job, RankCandidates* candidates) {
  if (candidates->size() < 2) return;
  std::vector<Siblings> all = SiblingsOfHosts(job);
  for (Siblings& group : SiblingsOfGroups(job)) all.push_back(std::move(group));
  std::vector<bool> gone(candidates->size(), false);
  for (const Siblings& siblings : all) {
    const std::vector<size_t> struck = StruckAsOne(job, siblings, *candidates, gone);
    if (struck.empty()) continue;
    std::vector<const Candidate*> parts;
    std::vector<size_t> ranks;
    for (const size_t i : struck) {
      parts.push_back(&(*candidates)[i].second);
      ranks.push_back((*candidates)[i].first);
    }
    const std::string cause = CommonCause(parts, siblings.is_host);
    if (cause.empty()) continue;
    Candidate joined = Join(job, parts, ranks, cause, siblings.is_host ? "host" : "group");
    (*candidates)[struck.front()].second = std::move(joined);
    for (size_t k = 1; k < struck.size(); ++k) gone[struck[k]] = true;
    if (siblings.is_host) gone[struck.front()] = false;
  }
  RankCandidates kept;
  for (size_t i = 0; i < candidates->size(); ++i) {
    if (!gone[i]) kept.push_back(std::move((*candidates)[i]));
  }
  *candidates = std::move(kept);
}

}  // namespace headway::diagnose
