// SPDX-License-Identifier: Apache-2.0
// Hosts on which every call takes longer than the same call takes on other hosts. Needs no peers: stages run other
// layers and other numbers of calls, but a launch is a launch.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/call_times.h"
#include "diagnose/host_speed.h"
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
  double slow_of_host = 1.5;  // where four ranks and more of a host agree, and all of the others'
  double slow_of_few = 2;     // where few functions show apart from the sum of the others
  double slow_of_sum = 4;     // where only that sum shows: which calls are in it differs from stage to stage
  double healthy = 1.2;
  size_t many = 4;
};
Limits LimitsOf(const Job& job) {
  return job.ranks.front().has_device
             ? Limits{}
             : Limits{
                   .slow = 1.15, .slow_of_host = 1.08, .slow_of_few = 2, .slow_of_sum = 4, .healthy = 1.08, .many = 8};
}

constexpr size_t kManyRanks = 4;  // of a host

// `ranks`: how many the host has.
bool IsSlow(const Limits& limits, const CallRatio& calls, size_t ranks) {
  return calls.alike && calls.ratio >= (calls.functions < 2             ? limits.slow_of_sum
                                        : calls.functions < limits.many ? limits.slow_of_few
                                        : ranks >= kManyRanks           ? limits.slow_of_host
                                                                        : limits.slow);
}

// What the device waits for; without devices all of a rank's work.
bool IsOfHost(WorkClass c, bool has_device) {
  return c == WorkClass::kInput || c == WorkClass::kHost || c == WorkClass::kRuntime || c == WorkClass::kIdle ||
         (c == WorkClass::kCompute && !has_device);
}

struct SlowHost {
  std::vector<size_t> ranks;
  CallRatio least;                            // of its ranks
  std::set<std::string, std::less<>> beside;  // functions that take far longer still
};

// By axis step, what the host is to blame for on a rank: not for what takes far longer than the rest.
std::vector<Nanos> TimeOfHost(const AnalysisInput& in, const SlowHost& host, size_t rank) {
  const bool has_device = in.job.ranks[rank].has_device;
  std::vector<Nanos> out(in.job.num_steps(), 0);
  for (size_t s = 0; s < out.size(); ++s) {
    const pattern::Step* step = in.job.StepOf(rank, s);
    for (size_t c = 0; step != nullptr && c < step->by_class.size(); ++c) {
      if (IsOfHost(static_cast<WorkClass>(c), has_device)) out[s] += step->by_class[c];
    }
  }
  if (host.beside.empty()) return out;
  const std::vector<std::vector<FunctionView::Cell>> cells = in.view->SumByStep(rank);
  for (size_t s = 0; s < out.size(); ++s) {
    for (size_t n = 0; n < cells[s].size(); ++n) {
      const auto node = static_cast<FunctionView::Node>(n);
      const bool is_beside =
          IsOfHost(in.view->work_class(node), has_device) && host.beside.count(in.view->name(node)) > 0;
      if (is_beside) out[s] = std::max<Nanos>(0, out[s] - cells[s][n].own);
    }
  }
  return out;
}

// All but what was seen and its edit.
void Finish(const Job& job, const std::vector<size_t>& ranks, Candidate* candidate) {
  report::Finding& finding = candidate->finding;
  finding.cause = "slow-host";
  FillScope(job, ranks, &finding.scope);
  finding.id = "slow-host-" + std::to_string(finding.scope.ranks.front());
  finding.headline = Who(job, finding.scope);
  finding.when = ClassifyWhen(candidate->excess, job.steps);
  finding.suggestion = "look for CPU limits (cgroup quota), low clocks or other processes on this host";
  finding.confidence = report::Confidence::kLikely;
}

Candidate MakeCandidate(const AnalysisInput& in, const SlowHost& host, bool is_named) {
  const Job& job = in.job;
  const std::vector<size_t>& ranks = host.ranks;
  const CallRatio& least = host.least;
  Candidate candidate;
  candidate.excess.assign(job.num_steps(), 0);
  for (const size_t r : ranks) {
    std::vector<Nanos> cost = TimeOfHost(in, host, r);
    for (size_t s = 0; s < cost.size(); ++s) {
      cost[s] = static_cast<Nanos>((1 - 1 / least.ratio) * static_cast<double>(cost[s]));
      candidate.excess[s] = std::max(candidate.excess[s], cost[s]);
    }
    RemoveOwnTime(job, r, {}, cost, &candidate.edit);
  }
  Finish(job, ranks, &candidate);
  candidate.longer = least.ratio;
  report::Finding& finding = candidate.finding;
  finding.sentence = "Every call of its host functions takes " + FormatRatio(least.ratio) +
                     " the time the same call takes on the other " +
                     (is_named ? "hosts." : "ranks; the files name no hosts, these may share one.");
  finding.confidence_reason = (is_named ? "all ranks of this host, in at least " : "ranks in a row, in at least ") +
                              std::to_string(least.functions) + " functions; the other " +
                              (is_named ? "hosts" : "ranks") + " agree with one another";
  finding.evidence.push_back({"time of a call, middle of the functions", FormatRatio(least.ratio), "", "1x",
                              "mean own time of a call, function by function"});
  return candidate;
}

// Whether the host is slow where it is not slower still.
bool IsSlowInQuietSteps(const Limits& limits, const SlowHost& host, const SlowSteps& some) {
  CallRatio quiet = host.least;
  quiet.ratio *= some.quiet;
  return IsSlow(limits, quiet, host.ranks.size());
}

Candidate InSomeSteps(const Job& job, const std::vector<size_t>& ranks, const SlowSteps& some) {
  Candidate candidate;
  candidate.excess.assign(job.num_steps(), 0);
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (size_t s = 0; s < candidate.excess.size(); ++s) {
      candidate.excess[s] = std::max(candidate.excess[s], some.cost[i][s]);
    }
    RemoveBeyondQuietSteps(job, ranks[i], some.cost[i], some.quiet_steps, &candidate.edit);
  }
  Finish(job, ranks, &candidate);
  report::Finding& finding = candidate.finding;
  // Another process may take its share of a host's processors now and then.
  candidate.at_most_info = !IsSteady(finding.when);
  candidate.against = HeldAgainst::kOtherSteps;
  candidate.longer = some.ratio;
  finding.sentence = "In these steps every call of its host functions takes " + FormatRatio(some.ratio) +
                     " the time the same call takes in its other steps.";
  finding.confidence_reason = "all ranks of this host in the same steps, and not those of the other hosts";
  finding.evidence.push_back({"time of a call, middle of the steps", FormatRatio(some.ratio), "1x", "",
                              "what three quarters of the functions reach; expected: its other steps"});
  return candidate;
}

bool HostsAreNamed(const Job& job) {
  return std::all_of(job.ranks.begin(), job.ranks.end(), [](const auto& r) { return r.comms.host_known; });
}

std::vector<std::vector<size_t>> RanksByHost(const Job& job) {
  std::map<std::string_view, std::vector<size_t>> hosts;
  for (size_t r = 0; r < job.num_ranks(); ++r) hosts[job.ranks[r].meta.host].push_back(r);
  std::vector<std::vector<size_t>> out;
  for (auto& [host, ranks] : hosts) out.push_back(std::move(ranks));
  return out;
}

std::vector<std::vector<size_t>> EachAlone(const Job& job) {
  std::vector<std::vector<size_t>> out;
  for (size_t r = 0; r < job.num_ranks(); ++r) out.push_back({r});
  return out;
}

// The speaker is slow: whether the host's other ranks are, too.
bool AllAreSlow(const Job& job, const CallTimes& usual, const Limits& limits, SlowHost* host) {
  for (size_t i = 1; i < host->ranks.size(); ++i) {
    const CallRatio calls = CompareCalls(TimesOfCalls(job.ranks[host->ranks[i]]), usual);
    if (!IsSlow(limits, calls, host->ranks.size())) return false;
    if (calls.ratio < host->least.ratio) host->least = calls;
  }
  return true;
}

// Whether no rank of the other hosts is slower by a third of what those of `host` are.
bool OthersAgree(const Job& job, const CallTimes& usual, const SlowHost& host) {
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    if (std::find(host.ranks.begin(), host.ranks.end(), r) != host.ranks.end()) continue;
    if ((CompareCalls(TimesOfCalls(job.ranks[r]), usual).ratio - 1) * 3 > host.least.ratio - 1) return false;
  }
  return true;
}

// Functions of its ranks that take far longer than it is slow: that has another reason.
std::set<std::string, std::less<>> FarBeyond(const Job& job, const CallTimes& usual, const SlowHost& host) {
  std::set<std::string, std::less<>> out;
  for (const size_t r : host.ranks) {
    const CallTimes mine = TimesOfCalls(job.ranks[r]);
    for (const auto& [name, time] : mine) {
      if (IsOwnMatter(RatioOf(mine, usual, name), host.least.ratio)) out.emplace(name);
    }
  }
  return out;
}

// Hosts hold ranks in a row: slow ranks are taken for one host where they are one row, of two ranks at least and of
// half the job at most.
std::vector<SlowHost> JoinNeighbours(const Job& job, const std::vector<SlowHost>& slow) {
  if (slow.size() < 2 || slow.size() * 2 > job.num_ranks()) return {};
  SlowHost all = slow.front();
  for (size_t i = 1; i < slow.size(); ++i) {
    const size_t r = slow[i].ranks.front();
    if (job.ranks[r].meta.rank != job.ranks[all.ranks.back()].meta.rank + 1) return {};
    all.ranks.push_back(r);
    if (slow[i].least.ratio < all.least.ratio) all.least = slow[i].least;
    all.beside.insert(slow[i].beside.begin(), slow[i].beside.end());
  }
  return {std::move(all)};
}

// Hosts that are slow over the window as a whole.
std::vector<SlowHost> SlowHosts(const Job& job, const std::vector<std::vector<size_t>>& hosts, bool named) {
  // One rank speaks for its host; the others are asked where it is slow.
  constexpr size_t kMostAsked = 256;  // evenly spread: what is usual of so many is so of all
  const size_t stride = std::max<size_t>(1, hosts.size() / kMostAsked);
  std::vector<CallTimes> asked;
  for (size_t h = 0; h < hosts.size(); h += stride) asked.push_back(TimesOfCalls(job.ranks[hosts[h].front()]));
  // What one host alone calls says nothing about it. Of ranks whose host is not known up to half may be on a slow one.
  const CallTimes usual = TimesAmong(asked, named ? 0.5 : 0.25, named ? 2 : asked.size() / 2 + 1);
  const Limits limits = LimitsOf(job);
  std::vector<SlowHost> slow;
  for (size_t h = 0; h < hosts.size(); ++h) {
    const CallRatio first = CompareCalls(TimesOfCalls(job.ranks[hosts[h].front()]), usual);
    if (!named && first.ratio == 0) return {};  // it may be on the slow host, too
    if (!IsSlow(limits, first, hosts[h].size())) {
      if (first.alike && first.ratio > limits.healthy) return {};  // hosts differ as it is
      continue;
    }
    SlowHost host{.ranks = hosts[h], .least = first, .beside = {}};
    if (!AllAreSlow(job, usual, limits, &host)) continue;
    if (host.least.ratio >= limits.slow || OthersAgree(job, usual, host)) slow.push_back(std::move(host));
  }
  for (SlowHost& host : slow) host.beside = FarBeyond(job, usual, host);
  if (!named) return JoinNeighbours(job, slow);
  return slow.size() * 2 >= hosts.size() && slow.size() > 1 ? std::vector<SlowHost>() : slow;
}

}  // namespace

void RunHostCallsAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  if (job.num_ranks() == 0 || job.num_steps() == 0) return;
  const bool named = HostsAreNamed(job);
  // Operators take what their shapes need: without host names a row of ranks may as well be a wider stage.
  if (!named && !job.ranks.front().has_device) return;
  const std::vector<std::vector<size_t>> hosts = named ? RanksByHost(job) : EachAlone(job);
  if (hosts.size() < 2) return;
  std::vector<SlowHost> slow = SlowHosts(job, hosts, named);
  for (const SlowSteps& some : named ? FindSlowSteps(job, in.view, hosts) : std::vector<SlowSteps>()) {
    const std::vector<size_t>& ranks = hosts[some.host];
    const auto known = std::find_if(slow.begin(), slow.end(), [&](const SlowHost& h) { return h.ranks == ranks; });
    if (known != slow.end() && IsSlowInQuietSteps(LimitsOf(job), *known, some)) continue;
    if (known != slow.end()) slow.erase(known);
    out->candidates.push_back(InSomeSteps(job, ranks, some));
  }
  for (const SlowHost& host : slow) out->candidates.push_back(MakeCandidate(in, host, named));
}

}  // namespace headway::diagnose
