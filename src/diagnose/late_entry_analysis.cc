// SPDX-License-Identifier: Apache-2.0
// Ranks that enter the window later than the others: the first waits in it have their cause before it.
#include <algorithm>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/scope.h"

namespace headway::diagnose {

namespace {

// Who holds the others up inside the window, once everybody has entered: no culprit yet, but where to look next.
void AddLastArrivers(const AnalysisInput& in, report::Finding* finding) {
  const Job& job = in.job;
  std::vector<std::pair<Nanos, size_t>> late;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    Nanos sum = 0;
    for (size_t s = 0; s < job.num_steps(); ++s) sum += in.waits.lateness[r * job.num_steps() + s];
    if (sum > 0) late.emplace_back(-sum, r);
  }
  std::sort(late.begin(), late.end());
  for (size_t i = 0; i < late.size() && i < 3; ++i) {
    const size_t r = late[i].second;
    finding->evidence.push_back({"inside the window rank " + std::to_string(job.ranks[r].meta.rank) + " arrives last",
                                 FormatDuration(-late[i].first), "", "",
                                 Counted(in.waits.last[r], "time") + ", after the second latest"});
  }
}

// How long after the first member each rank arrived at the first collective it took part in; by rank index.
std::vector<Nanos> FirstLateness(const Job& job) {
  std::vector<Nanos> late(job.num_ranks(), -1);
  size_t missing = late.size();
  for (const int32_t c : job.graph.order) {
    if (missing == 0) break;
    const auto& members = job.comms.collectives[static_cast<size_t>(c)].members;
    const auto arrival = [&job](const trace::CollectiveMember& m) {
      const auto r = static_cast<size_t>(m.rank_index);
      return Align(job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[r])],
                   job.ranks[r].comms.instances[static_cast<size_t>(m.instance)].start);
    };
    Nanos first = INT64_MAX;
    for (const auto& member : members) first = std::min(first, arrival(member));
    for (const auto& member : members) {
      Nanos& mine = late[static_cast<size_t>(member.rank_index)];
      if (mine >= 0) continue;
      mine = arrival(member) - first;
      --missing;
    }
  }
  return late;
}

}  // namespace

void RunLateEntryAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  if (job.num_ranks() < 2 || job.steps.empty() || job.comms.collectives.empty()) return;
  const std::vector<Nanos>& start = job.graph.chain_start;
  std::vector<Nanos> sorted = start;
  std::sort(sorted.begin(), sorted.end());
  // Where most ranks enter: the lower middle, so that of two ranks the later one is late.
  const Nanos usual = sorted[(sorted.size() - 1) / 2];
  Nanos noise = 0;
  // Of one or two steps the noise between steps is not known; the tenth of a step has to do.
  if (job.num_steps() >= 3) {
    for (const Nanos n : in.excess.step_noise) noise = std::max(noise, n);
  }
  const Nanos threshold = std::max({job.median_step / 10, 5 * noise, 2 * job.comms.clocks.front().residual});
  // Hosts run ahead of their devices, by different amounts: only what still shows at the first meeting held others up.
  const std::vector<Nanos> met = FirstLateness(job);
  std::vector<size_t> late;
  Candidate candidate;
  for (size_t r = 0; r < start.size(); ++r) {
    // What a rank is slower by in every step it was slower by in the step before the window, too.
    if (start[r] - usual - 2 * std::max<Nanos>(0, in.excess.typical[r]) < threshold) continue;
    if (met[r] * 2 < start[r] - usual) continue;
    late.push_back(r);
    candidate.edit.starts.push_back({r, usual});
  }
  if (late.empty()) return;
  report::Finding& finding = candidate.finding;
  finding.cause = "late-entry";
  FillScope(job, late, &finding.scope);
  finding.id = "late-entry-" + std::to_string(finding.scope.ranks.front());
  finding.headline = Who(job, finding.scope);
  finding.when = {report::WhenKind::kOnce, {job.steps.front()}};
  const Nanos apart = sorted.back() - sorted.front();
  finding.sentence = "The ranks enter the first step up to " + FormatDuration(apart) + " apart; " + finding.headline +
                     (late.size() == 1 ? " comes" : " come") + " last. The cause lies before the window.";
  finding.suggestion = "record more steps before this one, or start the profiler at the same step on all ranks";
  finding.confidence = job.comms.clocks.size() > 1 ? report::Confidence::kLikely : report::Confidence::kSure;
  finding.confidence_reason = job.comms.clocks.size() > 1 ? "clocks of the hosts aligned to " +
                                                                FormatDuration(job.comms.clocks.front().residual)
                                                          : "all ranks on one clock";
  finding.evidence.push_back({"start of the first step, latest after earliest", Milliseconds(apart), "", "",
                              Counted(static_cast<int64_t>(job.num_ranks()), "rank")});
  AddLastArrivers(in, &finding);
  candidate.excess.assign(job.num_steps(), 0);
  candidate.excess.front() = sorted.back() - usual;
  candidate.noise = noise;
  out->candidates.push_back(std::move(candidate));
}

}  // namespace headway::diagnose
