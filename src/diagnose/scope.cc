// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scope.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/text.h"

namespace headway::diagnose {

void FillScope(const Job& job, std::span<const size_t> members, report::Scope* scope) {
  std::set<std::string> hosts;
  for (const size_t r : members) {
    scope->ranks.push_back(job.ranks[r].meta.rank);
    if (job.ranks[r].comms.host_known) hosts.insert(job.ranks[r].meta.host);
  }
  std::sort(scope->ranks.begin(), scope->ranks.end());
  scope->hosts.assign(hosts.begin(), hosts.end());
}

std::vector<size_t> RanksOf(const Job& job, const report::Scope& scope) {
  std::vector<size_t> out;
  for (size_t r = 0; r < job.num_ranks() && !scope.ranks.empty(); ++r) {
    if (std::binary_search(scope.ranks.begin(), scope.ranks.end(), job.ranks[r].meta.rank)) out.push_back(r);
  }
  return out;
}

std::string Who(const Job& job, const report::Scope& scope) {
  if (scope.ranks.size() == job.num_ranks() && job.num_ranks() > 2) {
    return "all " + Counted(static_cast<int64_t>(job.num_ranks()), "rank");
  }
  std::string who = (scope.ranks.size() == 1 ? "rank " : "ranks ") + FormatRanks(scope.ranks, 8);
  if (scope.hosts.size() == 1) who += " (host " + scope.hosts[0] + ")";
  return who;
}

std::string Milliseconds(Nanos t) { return FormatDurationIn(t, TimeUnit::kMilliseconds, 1) + " ms"; }

std::vector<size_t> AllRanks(const Job& job) {
  std::vector<size_t> all(job.num_ranks());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

}  // namespace headway::diagnose
