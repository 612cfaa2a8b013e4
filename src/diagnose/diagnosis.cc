// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnosis.h"

#include <algorithm>

#include "base/text.h"
#include "diagnose/analysis.h"
#include "diagnose/balance.h"
#include "diagnose/blind_spots.h"
#include "diagnose/common_steps.h"
#include "diagnose/excess.h"
#include "diagnose/price.h"
#include "diagnose/repeats.h"

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
