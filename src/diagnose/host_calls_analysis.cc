// SPDX-License-Identifier: Apache-2.0
// Hosts on which every call takes longer than the same call takes on other hosts. Needs no peers: stages run other
// layers and other numbers of calls, but a launch is a launch.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/own_edit.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

constexpr double kLeastRatio = 1.5;    // of a slow host: stages differ in which calls they make
constexpr double kFewLeastRatio = 2;   // where few functions show apart from the sum of the others
constexpr double kHealthyRatio = 1.2;  // of all ranks of the others
constexpr size_t kLeastFunctions = 2;
constexpr size_t kManyFunctions = 4;
constexpr int64_t kLeastCalls = 4;

bool IsOfHost(WorkClass c) { return c == WorkClass::kHost || c == WorkClass::kRuntime || c == WorkClass::kInput; }

// Mean own time of a call, by name. What the device hides is summed up under one name. Waits for the device are as long
// as the device takes, and may be among the calls into its library that are summed up.
using Calls = std::map<std::string_view, double>;
constexpr std::string_view kSummedUp = "(other)";

Calls CallsOf(const pattern::RankPattern& rank) {
  std::map<std::string_view, std::pair<Nanos, int64_t>> sums;
  for (size_t f = 0; f < rank.functions.size(); ++f) {
    const pattern::FunctionName& name = (*rank.function_table)[f];
    const bool may_wait = name.name.find("Synchronize") != std::string::npos ||
                          (name.name == kSummedUp && name.work_class != WorkClass::kHost);
    if (!IsOfHost(name.work_class) || may_wait) continue;
    sums[name.name].first += rank.functions[f].total;
    sums[name.name].second += rank.functions[f].calls;
  }
  Calls out;
  for (const auto& [name, sum] : sums) {
    if (sum.second >= kLeastCalls) out[name] = static_cast<double>(sum.first) / static_cast<double>(sum.second);
  }
  return out;
}

double Middle(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Proportion {
  double ratio = 0;  // of the middle function; 0 = too few to say
  size_t functions = 0;
  bool throughout = false;
};

// A rank's calls against what they take on the middle one of `others`.
Proportion Compare(const Calls& mine, const std::vector<const Calls*>& others) {
  std::vector<double> ratios;
  double summed_up = 0;
  for (const auto& [name, time] : mine) {
    std::vector<double> there;
    for (const Calls* other : others) {
      if (const auto it = other->find(name); it != other->end()) there.push_back(it->second);
    }
    if (there.empty()) continue;
    ratios.push_back(time / std::max(1.0, Middle(std::move(there))));
    if (name == kSummedUp) summed_up = ratios.back();
  }
  Proportion out;
  out.functions = ratios.size();
  if (ratios.size() < kLeastFunctions) return out;
  out.ratio = Middle(ratios);
  const auto alike =
      std::count_if(ratios.begin(), ratios.end(), [&](double r) { return r - 1 >= (out.ratio - 1) / 2; });
  const bool hidden_too = summed_up == 0 || summed_up - 1 >= (out.ratio - 1) / 2;
  const double least = ratios.size() < kManyFunctions ? kFewLeastRatio : kLeastRatio;
  out.throughout = out.ratio >= least && hidden_too && static_cast<size_t>(alike) * 4 >= ratios.size() * 3;
  return out;
}

// What the device waits for on a rank in a step.
Nanos HostTime(const pattern::Step& step) {
  Nanos sum = 0;
  for (const WorkClass c : {WorkClass::kInput, WorkClass::kHost, WorkClass::kRuntime, WorkClass::kIdle}) {
    sum += step.by_class[static_cast<size_t>(c)];
  }
  return sum;
}

Candidate MakeCandidate(const Job& job, const std::vector<size_t>& ranks, const Proportion& least) {
  Candidate candidate;
  candidate.excess.assign(job.num_steps(), 0);
  for (const size_t r : ranks) {
    std::vector<Nanos> cost(job.num_steps(), 0);
    for (size_t s = 0; s < cost.size(); ++s) {
      const pattern::Step* step = job.StepOf(r, s);
      if (step != nullptr) cost[s] = static_cast<Nanos>((1 - 1 / least.ratio) * static_cast<double>(HostTime(*step)));
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
  if (job.num_ranks() == 0 || !job.ranks.front().has_device || job.num_steps() == 0) return;
  std::map<std::string_view, std::vector<size_t>> hosts;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    if (!job.ranks[r].comms.host_known) return;
    hosts[job.ranks[r].meta.host].push_back(r);
  }
  if (hosts.size() < 2) return;
  constexpr size_t kAsked = 64;  // ranks of other hosts that a rank is held against
  std::vector<Calls> calls;
  for (const pattern::RankPattern& rank : job.ranks) calls.push_back(CallsOf(rank));
  std::vector<std::pair<Proportion, const std::vector<size_t>*>> slow;
  for (const auto& [host, ranks] : hosts) {
    std::vector<const Calls*> others;
    const size_t stride = std::max<size_t>(1, job.num_ranks() / kAsked);
    for (size_t r = 0; r < job.num_ranks(); r += stride) {
      if (job.ranks[r].meta.host != host) others.push_back(&calls[r]);
    }
    Proportion least{1e9, 0, true};
    for (const size_t r : ranks) {
      const Proportion of = Compare(calls[r], others);
      if (!of.throughout || of.ratio < least.ratio) least = of;
      if (!of.throughout) break;
    }
    if (least.throughout) {
      slow.emplace_back(least, &ranks);
    } else if (least.ratio > kHealthyRatio) {
      return;  // hosts differ as it is
    }
  }
  if (slow.size() * 2 >= hosts.size() && slow.size() > 1) return;
  for (const auto& [least, ranks] : slow) {
    if (!IsNamed(*out, job, *ranks)) out->candidates.push_back(MakeCandidate(job, *ranks, least));
  }
}

}  // namespace headway::diagnose
