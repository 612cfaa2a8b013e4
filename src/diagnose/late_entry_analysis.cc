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

// Where the early ones are: an eighth up from the earliest, so that of many ranks one that is far ahead of all others
// makes nobody late. Sorts its argument.
Nanos Early(std::vector<Nanos>* values) {
  std::sort(values->begin(), values->end());
  return values->empty() ? kNoValue : (*values)[(values->size() - 1) / 8];
}

// How much later than the early ones of its peers each rank arrived at the first operation of its window; by rank
// index.
std::vector<Nanos> FirstLateness(const Job& job) {
  std::vector<Nanos> arrival(job.num_ranks(), kNoValue), late(job.num_ranks(), 0);
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[r])];
    for (const trace::CommInstance& instance : job.ranks[r].comms.instances) {
      if (instance.start < job.ranks[r].window_start) continue;
      arrival[r] = Align(clock, instance.start);
      break;
    }
  }
  for (const std::vector<int32_t>& members : job.classes) {
    std::vector<Nanos> known;
    for (const int32_t r : members) {
      if (arrival[static_cast<size_t>(r)] != kNoValue) known.push_back(arrival[static_cast<size_t>(r)]);
    }
    const Nanos early = Early(&known);
    for (const int32_t r : members) {
      const auto i = static_cast<size_t>(r);
      if (arrival[i] != kNoValue) late[i] = arrival[i] - early;
    }
  }
  return late;
}

// How much later than others a rank begins its steps.
struct Skew {
  Nanos first = 0;  // the first one, against the early ones
  Nanos usual = 0;  // median of its other steps, against most: what its place in the program makes of it
  Nanos noise = 0;  // how much the others vary (DeviationOf); 0 where there are under three
};

// Starts of step s on all ranks, aligned; kNoValue where a rank lacks it.
std::vector<Nanos> StartsOf(const Job& job, size_t s) {
  std::vector<Nanos> out(job.num_ranks(), kNoValue);
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const pattern::Step* step = job.StepOf(r, s);
    if (step == nullptr) continue;
    out[r] = Align(job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[r])], step->start);
  }
  return out;
}

// Where most ranks begin: the lower middle, so that of two ranks the later one is late.
Nanos UsualStart(std::vector<Nanos> starts) {
  std::erase(starts, kNoValue);
  if (starts.empty()) return kNoValue;
  std::sort(starts.begin(), starts.end());
  return starts[(starts.size() - 1) / 2];
}

std::vector<Skew> Skews(const Job& job) {
  std::vector<Skew> out(job.num_ranks());
  const Nanos usual = UsualStart(job.graph.chain_start);
  std::vector<std::vector<Nanos>> later(job.num_ranks());
  for (size_t s = 1; s < job.num_steps(); ++s) {
    const std::vector<Nanos> starts = StartsOf(job, s);
    const Nanos middle = UsualStart(starts);
    for (size_t r = 0; r < starts.size(); ++r) {
      if (starts[r] != kNoValue) later[r].push_back(starts[r] - middle);
    }
  }
  for (size_t r = 0; r < out.size(); ++r) {
    out[r].first = job.graph.chain_start[r] - usual;
    if (later[r].size() < 3) continue;  // too few to tell a place in the program from chance
    out[r].usual = Median(later[r]);
    std::vector<Nanos> away;
    for (const Nanos x : later[r]) away.push_back(x - out[r].usual);
    out[r].noise = DeviationOf(std::move(away));
  }
  // Their places taken into account.
  std::vector<Nanos> late;
  for (const Skew& skew : out) late.push_back(skew.first - skew.usual);
  const Nanos early = late.empty() ? 0 : Early(&late);
  for (Skew& skew : out) skew.first -= early;
  return out;
}

// Of a few steps it is not known how much starts vary: a tenth of a step has to do. Ranks that share processors begin
// apart by chance: a twentieth, and more steps to know by. Clocks of hosts say no more than their residual.
Nanos Threshold(const Job& job, const Skew& skew, Nanos residual) {
  const bool has_device = job.ranks.front().has_device;
  const bool known = job.num_steps() >= (has_device ? 4 : 10);
  return std::max({job.median_step / (!known ? 10 : has_device ? 100 : 20), 5 * skew.noise, 2 * residual});
}

Nanos ResidualOf(const Job& job, size_t rank) {
  return std::max(job.comms.clocks.front().residual,
                  job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[rank])].residual);
}

}  // namespace

void RunLateEntryAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  if (job.num_ranks() < 2 || job.steps.empty() || job.comms.collectives.empty()) return;
  const std::vector<Nanos>& start = job.graph.chain_start;
  const std::vector<Skew> skews = Skews(job);
  std::vector<Nanos> sorted = start;
  std::sort(sorted.begin(), sorted.end());
  // Hosts run ahead of their devices, by different amounts: only what still shows at the first meeting held others up.
  const std::vector<Nanos> met = FirstLateness(job);
  std::vector<size_t> late;
  Nanos residual = 0;
  Candidate candidate;
  for (size_t r = 0; r < start.size(); ++r) {
    const Nanos by = skews[r].first - skews[r].usual;
    // What a rank is slower by in every step it was slower by in the step before the window, too.
    const Nanos slower = std::max<Nanos>(0, in.excess.typical[r]);
    if (by > slower) candidate.edit.starts.push_back({r, start[r] - (by - slower)});
    if (by - 2 * slower < Threshold(job, skews[r], ResidualOf(job, r)) || met[r] * 2 < by) continue;
    late.push_back(r);
    residual = std::max(residual, ResidualOf(job, r));
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
  finding.confidence_reason = job.comms.clocks.size() > 1 ? "clocks of the hosts aligned to " + FormatDuration(residual)
                                                          : "all ranks on one clock";
  finding.evidence.push_back({"start of the first step, latest after earliest", Milliseconds(apart), "", "",
                              Counted(static_cast<int64_t>(job.num_ranks()), "rank")});
  AddLastArrivers(in, &finding);
  candidate.excess.assign(job.num_steps(), 0);
  for (const size_t r : late) {
    candidate.excess.front() = std::max(candidate.excess.front(), skews[r].first - skews[r].usual);
  }
  out->candidates.push_back(std::move(candidate));
}

}  // namespace headway::diagnose
