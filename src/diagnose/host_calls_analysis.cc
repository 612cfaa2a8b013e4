// SPDX-License-Identifier: Apache-2.0
// Hosts on which every call takes longer than the same call takes on other hosts. Needs no peers: stages run other
// layers and other numbers of calls, but a launch is a launch.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/call_times.h"
#include "diagnose/own_edit.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

// What a slow host's calls take at least, and all ranks of the others at most. Stages differ in which calls they make;
// operators of a job without devices are many, and make most of its time.
struct Limits {
  double slow = 1.5;
  double slow_of_few = 2;  // where few functions show apart from the sum of the others
  double healthy = 1.2;
  size_t many = 4;
};
Limits LimitsOf(const Job& job) {
  return job.ranks.front().has_device ? Limits{} : Limits{.slow = 1.15, .slow_of_few = 2, .healthy = 1.08, .many = 8};
}

bool IsSlow(const Limits& limits, const CallRatio& calls) {
  return calls.alike && calls.ratio >= (calls.functions < limits.many ? limits.slow_of_few : limits.slow);
}

// What the device waits for on a rank in a step; without devices all of its work.
Nanos HostTime(const pattern::Step& step, bool has_device) {
  Nanos sum = has_device ? 0 : step.by_class[static_cast<size_t>(WorkClass::kCompute)];
  for (const WorkClass c : {WorkClass::kInput, WorkClass::kHost, WorkClass::kRuntime, WorkClass::kIdle}) {
    sum += step.by_class[static_cast<size_t>(c)];
  }
  return sum;
}

Candidate MakeCandidate(const Job& job, const std::vector<size_t>& ranks, const CallRatio& least) {
  Candidate candidate;
  candidate.excess.assign(job.num_steps(), 0);
  for (const size_t r : ranks) {
    std::vector<Nanos> cost(job.num_steps(), 0);
    for (size_t s = 0; s < cost.size(); ++s) {
      const pattern::Step* step = job.StepOf(r, s);
      if (step == nullptr) continue;
      const auto time = static_cast<double>(HostTime(*step, job.ranks[r].has_device));
      cost[s] = static_cast<Nanos>((1 - 1 / least.ratio) * time);
      candidate.excess[s] = std::max(candidate.excess[s], cost[s]);
    }
    RemoveOwnTime(job, r, {}, cost, &candidate.edit);
  }
  report::Finding& finding = candidate.finding;
  finding.cause = "slow-host";
  FillScope(job, ranks, &finding.scope);
  finding.id = "slow-host-" + std::to_string(finding.scope.ranks.front());
  finding.headline = Who(job, finding.scope);
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  finding.sentence = "Every call of its host functions takes " + FormatRatio(least.ratio) +
                     " the time the same call takes on the other hosts.";
  finding.suggestion = "look for CPU limits (cgroup quota), low clocks or other processes on this host";
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = "all ranks of this host, in at least " + std::to_string(least.functions) +
                              " functions; the other hosts agree with one another";
  finding.evidence.push_back({"time of a call, middle of the functions", FormatRatio(least.ratio), "", "1x",
                              "mean own time of a call, function by function"});
  return candidate;
}

}  // namespace

void RunHostCallsAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  if (job.num_ranks() == 0 || job.num_steps() == 0) return;
  std::map<std::string_view, std::vector<size_t>> hosts;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    if (!job.ranks[r].comms.host_known) return;
    hosts[job.ranks[r].meta.host].push_back(r);
  }
  if (hosts.size() < 2) return;
  // One rank speaks for its host; the others are asked where it is slow.
  std::vector<CallTimes> speakers;
  for (const auto& [host, ranks] : hosts) speakers.push_back(TimesOfCalls(job.ranks[ranks.front()]));
  const CallTimes usual = MiddleOf(speakers);
  const Limits limits = LimitsOf(job);
  std::vector<std::pair<CallRatio, const std::vector<size_t>*>> slow;
  size_t next = 0;
  for (const auto& [host, ranks] : hosts) {
    CallRatio least = CompareCalls(speakers[next++], usual);
    if (!IsSlow(limits, least)) {
      if (least.alike && least.ratio > limits.healthy) return;  // hosts differ as it is
      continue;
    }
    bool all = true;
    for (size_t i = 1; i < ranks.size() && all; ++i) {
      const CallRatio calls = CompareCalls(TimesOfCalls(job.ranks[ranks[i]]), usual);
      all = IsSlow(limits, calls);
      if (calls.ratio < least.ratio) least = calls;
    }
    if (all) slow.emplace_back(least, &ranks);
  }
  if (slow.size() * 2 >= hosts.size() && slow.size() > 1) return;
  for (const auto& [least, ranks] : slow) out->candidates.push_back(MakeCandidate(job, *ranks, least));
}

}  // namespace headway::diagnose
