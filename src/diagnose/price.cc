// SPDX-License-Identifier: Apache-2.0
#include "diagnose/price.h"

#include <algorithm>

namespace headway::diagnose {

using report::Finding;
using report::Severity;

namespace {

Severity Judge(const Job& job, const Candidate& candidate, Nanos recoverable) {
  if (candidate.at_most_info || recoverable < std::max(job.median_step / 50, 2 * candidate.noise)) {
    return Severity::kInfo;
  }
  return recoverable * 5 >= job.median_step ? Severity::kCritical : Severity::kWarning;
}

// Ranks whose blocked time shrinks by at least a fifth of what the edit brings.
std::vector<RankId> Victims(const Job& job, const replay::SegmentTimes& after, const Finding& finding, Nanos gain) {
  std::vector<RankId> victims;
  if (gain <= 0) return victims;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const RankId rank = job.ranks[r].meta.rank;
    if (std::binary_search(finding.scope.ranks.begin(), finding.scope.ranks.end(), rank)) continue;
    if ((job.base.blocked[r] - after.blocked[r]) * 5 >= gain) victims.push_back(rank);
  }
  return victims;
}

}  // namespace

Priced PriceCandidates(const Job& job, std::vector<Candidate> candidates) {
  Priced out;
  const Nanos steps = std::max<Nanos>(1, static_cast<Nanos>(job.num_steps()));
  const Nanos before = job.base.Makespan(job.graph);
  replay::SegmentEdit all;
  for (Candidate& candidate : candidates) {
    Finding& finding = candidate.finding;
    if (!candidate.edit.own.empty() || !candidate.edit.transfers.empty()) {
      const replay::SegmentTimes after = replay::ReplaySegments(job.graph, candidate.edit);
      const Nanos gain = std::max<Nanos>(0, before - after.Makespan(job.graph));
      finding.recoverable_per_step = gain / steps;
      finding.victims = Victims(job, after, finding, gain);
    }
    finding.severity = Judge(job, candidate, finding.recoverable_per_step);
    finding.cost_by_step = candidate.excess;
    for (const Nanos x : candidate.excess) finding.worst_step = std::max(finding.worst_step, x);
    if (finding.severity != Severity::kInfo) {
      all.own.insert(all.own.end(), candidate.edit.own.begin(), candidate.edit.own.end());
      all.transfers.insert(all.transfers.end(), candidate.edit.transfers.begin(), candidate.edit.transfers.end());
    }
    out.findings.push_back(std::move(finding));
  }
  std::stable_sort(out.findings.begin(), out.findings.end(), [](const Finding& a, const Finding& b) {
    const bool a_info = a.severity == Severity::kInfo;
    const bool b_info = b.severity == Severity::kInfo;
    if (a_info != b_info) return b_info;
    if (a.recoverable_per_step != b.recoverable_per_step) return a.recoverable_per_step > b.recoverable_per_step;
    return a.id < b.id;
  });
  if (!all.own.empty() || !all.transfers.empty()) {
    const replay::SegmentTimes after = replay::ReplaySegments(job.graph, all);
    out.all_removed_per_step = std::max<Nanos>(0, before - after.Makespan(job.graph)) / steps;
  }
  return out;
}

}  // namespace headway::diagnose
