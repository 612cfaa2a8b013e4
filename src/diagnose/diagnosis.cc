// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnosis.h"

#include <algorithm>

#include "base/text.h"
#include "diagnose/analysis.h"
#include "diagnose/balance.h"
#include "diagnose/common_steps.h"
#include "diagnose/excess.h"
#include "diagnose/price.h"
#include "diagnose/repeats.h"
#include "diagnose/summary.h"
#include "diagnose/unseen.h"

namespace headway::diagnose {

bool LacksCommunication(const Job& job) {
  if (job.num_ranks() < 2) return false;
  return std::all_of(job.ranks.begin(), job.ranks.end(),
                     [](const pattern::RankPattern& rank) { return rank.comms.instances.empty(); });
}

std::string WhyNoTime(const Job& job) {
  const bool steps =
      std::any_of(job.ranks.begin(), job.ranks.end(), [](const auto& rank) { return !rank.steps.empty(); });
  if (steps && job.steps.empty()) {
    return "no step is on three quarters of the ranks or more" +
           (job.steps_apart.empty() ? ": no step of any file is whole" : ": " + job.steps_apart);
  }
  return "the steps in these files have no length: their clocks say nothing";
}

namespace {

// "the file of rank 1 breaks off", where that rank therefore lacks a step of the others; empty = none does.
std::string WhatBreaksOff(const Job& job) {
  std::vector<RankId> ranks;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    if (!IsCut(job.ranks[r])) continue;
    for (size_t s = 0; s < job.num_steps(); ++s) {
      if (job.StepOf(r, s) != nullptr) continue;
      ranks.push_back(job.ranks[r].meta.rank);
      break;
    }
  }
  if (ranks.empty()) return "";
  const std::string named = FormatRanks(ranks, 8);
  return ranks.size() == 1 ? "the file of rank " + named + " breaks off" : "the files of ranks " + named + " break off";
}

// Of one rank, whose operations can be paired with nobody's: the exposed communication of the median step.
Nanos CommunicationOfOne(const Diagnosis& d) {
  if (d.job.num_ranks() != 1 || d.job.ranks[0].meta.world_size == 1) return 0;
  const report::StepBreakdown parts = BreakDown(d);
  return parts.comm_wait + parts.comm_transfer;
}

// Waiting that nobody is known to be waited for, and noise as large as what it should stand out of.
void SayWhatWasNotSeen(std::span<const Channel> channels, Diagnosis* d) {
  const UnseenWaits unseen = FindUnseenWaits(d->job, channels);
  if (!unseen.ranks.empty() && unseen.per_step >= d->detection_floor) {
    const std::string what = "up to " + FormatDuration(unseen.per_step) + " of transfers a step";
    const std::string why = "may be waiting for " + NameUnseen(d->job, unseen.ranks);
    d->not_checked.push_back({what, why});
    if (WhatBreaksOff(d->job).empty()) d->blind_to = what + " " + why;
  }
  if (const Nanos alone = CommunicationOfOne(*d); alone > 0 && alone >= d->detection_floor) {
    const std::string why = FormatPercent(static_cast<double>(alone) / static_cast<double>(d->job.median_step)) +
                            " of the step is communication, and one rank alone does not tell who is waited for in it";
    d->not_checked.push_back({"who is waited for", why});
    d->blind_to = why;
  }
  int64_t rows = 0;
  for (const pattern::RankPattern& rank : d->job.ranks) rows += static_cast<int64_t>(rank.comms.instances.size());
  const int64_t alone = d->job.comms.unmatched_instances;
  if (d->job.num_ranks() > 1 && alone * 10 >= rows && alone > 0) {
    const std::string what =
        FormatCount(alone) + " of " + FormatCount(rows) + " communication rows could not be paired";
    if (d->blind_to.empty()) d->blind_to = what;
    d->not_checked.push_back(
        {"who is waited for there", what + ": a rank is missing or cut off, or no event says "
                                           "who talks to whom; what fixing a cause brings may be wrong"});
  }
  // What a file does not show of its rank counts as this rank's own time, and the end of the window may wait for it.
  if (const std::string what = WhatBreaksOff(d->job); d->job.num_ranks() > 1 && !what.empty()) {
    if (d->blind_to.empty()) d->blind_to = what + ", and what a fix brings may be more";
    d->not_checked.push_back({"all that fixing a cause brings",
                              what + ": how the steps after that hang together is not known, gains may be larger"});
  }
  if (d->detection_floor * 4 < d->job.median_step || d->job.median_step <= 0) return;
  const bool few = d->job.num_steps() < 3;
  if (d->detection_floor >= d->job.median_step) {
    const std::string why =
        few ? "so few steps tell no cause from chance" : "ranks or steps differ by a whole step anyway";
    d->not_checked.push_back({"losses of any size", why});
    if (d->blind_to.empty()) d->blind_to = why;
    return;
  }
  const std::string floor = "below " + FormatDuration(d->detection_floor) + " per step";
  const std::string why = few ? "too few steps to tell a cause from chance" : "ranks or steps differ by as much anyway";
  d->not_checked.push_back({"losses " + floor, why});
  if (d->blind_to.empty()) d->blind_to = floor + " nothing could be told: " + why;
}

}  // namespace

Diagnosis Diagnose(std::vector<pattern::RankPattern> ranks, const DiagnoseOptions& options) {
  Diagnosis out;
  out.job = JoinJob(std::move(ranks), options.threads);
  out.job.load_function_steps = options.load_function_steps;
  out.waits = SplitWaits(out.job, options.threads);
  const ExcessTable excess = ComputeExcess(out.job);
  const ExcessTable beside_compute = ComputeExcess(out.job, OwnPart::kBesideCompute);
  const std::vector<Channel> channels = CollectChannels(out.job);
  FunctionView view(out.job);
  AnalysisOutput found;
  // Without any length of time there is nothing to compare.
  if (out.job.median_step <= 0) {
    out.not_checked.push_back({"everything", WhyNoTime(out.job)});
    out.blind_to = WhyNoTime(out.job);
    return out;
  }
  for (const Analysis& analysis : Analyses()) {
    if (std::find(options.skip.begin(), options.skip.end(), analysis.name) != options.skip.end()) {
      found.not_checked.push_back({analysis.what, "switched off by --skip"});
      continue;
    }
    analysis.run({out.job, excess, beside_compute, out.waits, channels, &view}, &found);
    ++out.analyses_run;
  }
  DropRepeats(&found.candidates);
  LeaveEvenShares(out.job, &found.candidates);
  Priced priced = PriceCandidates(out.job, std::move(found.candidates), options.threads);
  out.findings = std::move(priced.findings);
  out.all_removed_per_step = priced.all_removed_per_step;
  out.not_checked = std::move(found.not_checked);
  for (const std::string& doubt : out.job.doubts) out.not_checked.push_back({"the job as a whole", doubt});
  if (LacksCommunication(out.job)) {
    out.not_checked.push_back({"waiting, links and what fixing a cause brings",
                               "no communication was found in any of the traces; name your kernels with --name-rules"});
  }
  Nanos noise = 0;
  for (const Nanos n : excess.step_noise) noise = std::max(noise, n);
  out.detection_floor = std::max(out.job.median_step / 100, 3 * noise);
  SayWhatWasNotSeen(channels, &out);
  return out;
}

}  // namespace headway::diagnose
