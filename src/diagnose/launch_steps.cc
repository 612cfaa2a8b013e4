// SPDX-License-Identifier: Apache-2.0
#include "diagnose/launch_steps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "diagnose/host_waits_edit.h"
#include "diagnose/own_edit.h"
#include "diagnose/peers.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"
#include "diagnose/work_classes.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

constexpr size_t kLeastSteps = 2;  // struck, and as many quiet ones
constexpr Nanos kFromNoise = 6;
constexpr Nanos kOfStep = 500;    // a part of the step: what a rank's idle time has to rise by
constexpr Nanos kManyWaits = 16;  // more than in quiet steps: more than a loss that is read, and some statistics

bool IsHostWork(const pattern::RankPattern& rank, pattern::FunctionId function) {
  const WorkClass c = (*rank.function_table)[static_cast<size_t>(function)].work_class;
  return c == WorkClass::kRuntime || c == WorkClass::kHost || c == WorkClass::kIdle;
}

// One rank's steps: what they rise by above its quiet ones, and how many more waits they make.
struct Rises {
  size_t rank = 0;
  std::vector<Nanos> idle;   // by axis step; 0 = quiet
  std::vector<Nanos> waits;  // by axis step
};

Rises RisesOf(const Job& job, size_t rank) {
  Rises out{rank, std::vector<Nanos>(job.num_steps(), 0), std::vector<Nanos>(job.num_steps(), 0)};
  if (!job.ranks[rank].has_device) return out;
  std::vector<Nanos> idle(job.num_steps(), 0), waits(job.num_steps(), 0), known, known_waits;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const pattern::Step* step = job.StepOf(rank, s);
    if (step == nullptr) return out;
    idle[s] = IdleBehindLaunches(job.ranks[rank], *step);
    waits[s] = step->syncs;
    if (idle[s] == 0) continue;  // one long hole: says nothing of launches
    known.push_back(idle[s]);
    known_waits.push_back(waits[s]);
  }
  if (known.size() < 2 * kLeastSteps) return out;
  // A quarter of the steps are quiet at least: they, and what they vary by, are the usual.
  const auto quarter = [&](std::vector<Nanos> values) {
    std::sort(values.begin(), values.end());
    values.resize(std::max(kLeastSteps, values.size() / 4));
    return values;
  };
  const std::vector<Nanos> quiet = quarter(std::move(known));
  const Nanos usual = quiet.back(), usual_waits = quarter(std::move(known_waits)).back();
  const Nanos least = std::max(kFromNoise * (usual - quiet.front()), job.median_step / kOfStep);
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (idle[s] - usual < least) continue;
    out.idle[s] = idle[s] - usual;
    out.waits[s] = std::max<Nanos>(0, waits[s] - usual_waits);
  }
  return out;
}

// By axis step: whether three quarters of `ranks` rise in it.
std::vector<bool> CommonSteps(const std::vector<const Rises*>& ranks, size_t steps) {
  std::vector<bool> out(steps, false);
  for (size_t s = 0; s < steps; ++s) {
    const auto n = std::count_if(ranks.begin(), ranks.end(), [s](const Rises* r) { return r->idle[s] > 0; });
    out[s] = n * 4 >= std::ssize(ranks) * 3;
  }
  return out;
}

bool AreSome(const std::vector<bool>& struck) {
  const auto n = static_cast<size_t>(std::count(struck.begin(), struck.end(), true));
  return n >= kLeastSteps && n * 4 <= struck.size() * 3;
}

// The middle one over `ranks` and the struck steps.
Nanos MiddleOf(const std::vector<const Rises*>& ranks, const std::vector<bool>& struck,
               std::vector<Nanos> Rises::* field) {
  std::vector<Nanos> values;
  for (const Rises* rises : ranks) {
    for (size_t s = 0; s < struck.size(); ++s) {
      if (struck[s]) values.push_back((rises->*field)[s]);
    }
  }
  return Median(std::move(values));
}

// Whether hosts wait for their devices more often in the struck steps; else launches come late.
bool AreWaits(const std::vector<const Rises*>& ranks, const std::vector<bool>& struck) {
  return MiddleOf(ranks, struck, &Rises::waits) >= kManyWaits;
}

// Where the steps do not say in which pieces they rise, it is told by the rank's quiet ones. Of waits not even that: of
// all ranks as evenly spread as what they compute, as none is held against another.
void RemoveRise(const Job& job, const Rises& rises, const std::vector<bool>& struck, bool is_sync,
                Candidate* candidate) {
  std::vector<Nanos> cost(job.num_steps(), 0);
  std::vector<size_t> quiet;
  for (size_t s = 0; s < cost.size(); ++s) {
    cost[s] = struck[s] ? rises.idle[s] : 0;
    if (!struck[s]) quiet.push_back(s);
  }
  const std::vector<Nanos> untold = RemoveWaitsForHost(job, rises.rank, cost, &candidate->edit);
  if (!is_sync) {
    RemoveBeyondQuietSteps(job, rises.rank, untold, quiet, &candidate->edit);
  } else {
    const bool of_all = candidate->finding.scope.ranks.size() != 1;
    const std::vector<size_t> peers = of_all ? std::vector<size_t>() : SamplePeers(job, rises.rank, {});
    RemoveOwnTime(job, rises.rank, peers, untold, &candidate->edit);
  }
}

Candidate MakeCandidate(const Job& job, const std::vector<const Rises*>& ranks, const std::vector<bool>& struck) {
  const Nanos idle = MiddleOf(ranks, struck, &Rises::idle), waits = MiddleOf(ranks, struck, &Rises::waits);
  const bool is_sync = AreWaits(ranks, struck);
  Candidate candidate;
  candidate.excess.assign(job.num_steps(), 0);
  std::vector<size_t> members;
  for (const Rises* rises : ranks) {
    members.push_back(rises->rank);
    for (size_t s = 0; s < struck.size(); ++s) {
      if (struck[s]) candidate.excess[s] = std::max(candidate.excess[s], rises->idle[s]);
    }
  }
  candidate.against = HeldAgainst::kOtherSteps;
  report::Finding& finding = candidate.finding;
  finding.cause = is_sync ? "hidden-sync" : "launch-bound";
  FillScope(job, members, &finding.scope);
  finding.id = finding.cause + "-steps-" + std::to_string(finding.scope.ranks.front());
  finding.headline = Who(job, finding.scope);
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  finding.sentence = is_sync ? "In these steps the host waits for the device " + std::to_string(waits) +
                                   " times more than in the others, and the device stands idle each time until the "
                                   "next launch: " +
                                   Milliseconds(idle) + " more in all."
                             : "In these steps the device stands idle for " + Milliseconds(idle) +
                                   " more than in the others, in many pieces: each launch comes late.";
  finding.suggestion = is_sync ? "avoid .item(), .cpu(), nonzero and prints of tensors inside the step"
                               : "look at what the host does besides in these steps (logging, hooks, callbacks)";
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = "against the same ranks' other steps";
  finding.evidence.push_back({"device idle behind the host, more than in quiet steps", Milliseconds(idle), "0.0 ms", "",
                              "middle of " + Counted(static_cast<int64_t>(ranks.size()), "rank")});
  if (is_sync) {
    finding.evidence.push_back({"calls that wait for the device, more than in quiet steps", std::to_string(waits), "0",
                                "", "per struck step"});
  }
  // That launches come late in some steps is told by little: nothing names what delays them.
  candidate.at_most_info = candidate.is_at_least = !is_sync;
  for (const Rises* rises : ranks) RemoveRise(job, *rises, struck, is_sync, &candidate);
  return candidate;
}

}  // namespace

Nanos IdleBehindLaunches(const pattern::RankPattern& rank, const pattern::Step& step) {
  const Nanos idle = BehindHost(step.by_class);
  const bool many = step.longest_stretch_function < 0 || step.longest_stretch * 2 < idle ||
                    !IsHostWork(rank, step.longest_stretch_function);
  return step.device_rows > 50 && step.launches * 2 >= step.device_rows && many ? idle : 0;
}

std::vector<Candidate> FindLaunchSteps(const AnalysisInput& in) {
  const Job& job = in.job;
  std::vector<Candidate> out;
  if (job.num_steps() < 2 * kLeastSteps) return out;
  std::vector<Rises> all;
  for (size_t r = 0; r < job.num_ranks(); ++r) all.push_back(RisesOf(job, r));
  // A program does it on all ranks that run it; a stage of a pipeline may hide it behind what it waits for.
  std::vector<const Rises*> ranks;
  std::vector<bool> struck(job.num_steps(), false);
  for (const std::vector<int32_t>& members : job.classes) {
    std::vector<const Rises*> here;
    for (const int32_t r : members) here.push_back(&all[static_cast<size_t>(r)]);
    const std::vector<bool> common = CommonSteps(here, job.num_steps());
    if (here.size() < 2 || !AreSome(common)) continue;
    ranks.insert(ranks.end(), here.begin(), here.end());
    for (size_t s = 0; s < common.size(); ++s) struck[s] = struck[s] || common[s];
  }
  if (AreSome(struck)) {
    out.push_back(MakeCandidate(job, ranks, struck));
    // The program does it on the ranks that show it less, too: what they rise by goes with it.
    for (const Rises& rises : all) {
      if (std::find(ranks.begin(), ranks.end(), &rises) != ranks.end()) continue;
      RemoveRise(job, rises, struck, AreWaits(ranks, struck), &out.back());
    }
    return out;
  }
  for (const Rises& rises : all) {
    std::vector<bool> waits_more;
    for (const Nanos waits : rises.waits) waits_more.push_back(waits >= kManyWaits);
    if (AreSome(waits_more)) out.push_back(MakeCandidate(job, {&rises}, waits_more));
  }
  return out;
}

}  // namespace headway::diagnose
