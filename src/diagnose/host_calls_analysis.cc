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
      if (step != nullptr)
        cost[s] =
            static_cast<Nanos>((1 - 1 / least.ratio) * static_cast<double>(HostTime(*step, job.ranks[r].has_device)));
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

bool IsNamed(const AnalysisOutput& out, const Job& job, const std::vector<size_t>& ranks) {
  return std::any_of(out.candidates.begin(), out.candidates.end(), [&](const Candidate& c) {
    return c.finding.cause == "slow-host" && std::any_of(ranks.begin(), ranks.end(), [&](size_t r) {
             const auto& named = c.finding.scope.ranks;
             return std::find(named.begin(), named.end(), job.ranks[r].meta.rank) != named.end();
           });
  });
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
  constexpr size_t kAsked = 64;  // ranks of other hosts that a rank is held against
  const Limits limits = LimitsOf(job);
  std::vector<CallTimes> calls;
  for (const pattern::RankPattern& rank : job.ranks) calls.push_back(TimesOfCalls(rank));
  std::vector<std::pair<CallRatio, const std::vector<size_t>*>> slow;
  for (const auto& [host, ranks] : hosts) {
    std::vector<const CallTimes*> others;
    const size_t stride = std::max<size_t>(1, job.num_ranks() / kAsked);
    for (size_t r = 0; r < job.num_ranks(); r += stride) {
      if (job.ranks[r].meta.host != host) others.push_back(&calls[r]);
    }
    std::vector<CallRatio> of_ranks;
    for (const size_t r : ranks) of_ranks.push_back(CompareCalls(calls[r], others));
    const auto smaller = [](const CallRatio& a, const CallRatio& b) { return a.ratio < b.ratio; };
    const auto [least, most] = std::minmax_element(of_ranks.begin(), of_ranks.end(), smaller);
    if (std::all_of(of_ranks.begin(), of_ranks.end(), [&](const CallRatio& c) { return IsSlow(limits, c); })) {
      slow.emplace_back(*least, &ranks);
    } else if (most->alike && most->ratio > limits.healthy) {
      return;  // ranks differ as it is
    }
  }
  if (slow.size() * 2 >= hosts.size() && slow.size() > 1) return;
  for (const auto& [least, ranks] : slow) {
    if (!IsNamed(*out, job, *ranks)) out->candidates.push_back(MakeCandidate(job, *ranks, least));
  }
}

}  // namespace headway::diagnose
