// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_merge.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/text.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

bool IsOfHost(const std::string& cause) {
  return cause == "slow-host" || cause == "slow-host-code" || cause == "shared-host" || cause == "hidden-sync" ||
         cause == "slow-input" || cause == "paused-process";
}

// The name all parts agree on (at least two thirds of them); "slow-host" where they agree on no more than that the host
// is to blame; empty = not one cause.
std::string CommonCause(const std::vector<const Candidate*>& parts) {
  std::map<std::string, size_t> counts;
  for (const Candidate* part : parts) ++counts[part->finding.cause];
  for (const auto& [cause, n] : counts) {
    if (n * 3 >= parts.size() * 2) return cause;
  }
  const bool of_host =
      std::all_of(parts.begin(), parts.end(), [](const Candidate* p) { return IsOfHost(p->finding.cause); });
  return of_host ? "slow-host" : std::string();
}

// Ranks of the class on the clock's host.
size_t RanksOn(const Job& job, int32_t peer_class, int32_t clock) {
  const auto& members = job.classes[static_cast<size_t>(peer_class)];
  return static_cast<size_t>(std::count_if(members.begin(), members.end(), [&](int32_t r) {
    return job.comms.clock_of_rank[static_cast<size_t>(r)] == clock;
  }));
}

Candidate Join(const Job& job, const std::vector<const Candidate*>& parts, const std::vector<size_t>& ranks,
               const std::string& cause) {
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
    finding.sentence = Counted(static_cast<int64_t>(ranks.size()), "rank") + " of this host alike. For rank " +
                       std::to_string((*named)->finding.scope.ranks.front()) + ": " + finding.sentence;
  }
  return out;
}

}  // namespace

void MergeHosts(const Job& job, RankCandidates* candidates) {
  std::map<std::pair<int32_t, int32_t>, std::vector<size_t>> by_host;  // (class, clock) -> candidates
  std::map<int32_t, size_t> of_class;
  for (size_t i = 0; i < candidates->size(); ++i) {
    const size_t r = (*candidates)[i].first;
    if (!job.ranks[r].comms.host_known) continue;
    by_host[{job.peer_class[r], job.comms.clock_of_rank[r]}].push_back(i);
    ++of_class[job.peer_class[r]];
  }
  std::vector<bool> gone(candidates->size(), false);
  for (const auto& [key, members] : by_host) {
    const auto& [peer_class, clock] = key;
    const size_t here = RanksOn(job, peer_class, clock);
    const size_t elsewhere = job.classes[static_cast<size_t>(peer_class)].size() - here;
    const size_t struck_elsewhere = of_class[peer_class] - members.size();
    if (members.size() < 2 || members.size() * 4 < here * 3 || elsewhere == 0 || struck_elsewhere * 4 > elsewhere)
      continue;
    std::vector<const Candidate*> parts;
    std::vector<size_t> ranks;
    for (const size_t i : members) {
      parts.push_back(&(*candidates)[i].second);
      ranks.push_back((*candidates)[i].first);
    }
    const std::string cause = CommonCause(parts);
    if (cause.empty()) continue;
    Candidate joined = Join(job, parts, ranks, cause);
    (*candidates)[members.front()].second = std::move(joined);
    for (size_t k = 1; k < members.size(); ++k) gone[members[k]] = true;
  }
  RankCandidates kept;
  for (size_t i = 0; i < candidates->size(); ++i) {
    if (!gone[i]) kept.push_back(std::move((*candidates)[i]));
  }
  *candidates = std::move(kept);
}

}  // namespace headway::diagnose
