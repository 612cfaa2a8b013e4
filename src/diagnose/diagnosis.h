// SPDX-License-Identifier: Apache-2.0
// The main job: patterns of a job's ranks in, ranked causes out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/job.h"
#include "diagnose/waits.h"
#include "report/finding.h"

namespace headway::diagnose {

struct DiagnoseOptions {
  std::vector<std::string> skip;            // names of analyses not to run
  FunctionStepsLoader load_function_steps;  // see Job
  int threads = 1;
};

struct Diagnosis {
  Job job;
  WaitTable waits;
  std::vector<report::Finding> findings;  // by severity (info last), then recoverable time
  std::vector<report::NotChecked> not_checked;
  Nanos all_removed_per_step = 0;  // gain of fixing everything at warning or above together
  Nanos detection_floor = 0;  // per step: what would have been seen at least (the largest of the analyses' thresholds)
  std::string blind_to;       // what keeps that from being said; empty = nothing does
  int32_t analyses_run = 0;
};

// Several ranks were read and none of them communicates: names that no rule knows, or traces of something else. What
// peers show still counts; who waits for whom cannot be said.
[[nodiscard]] bool LacksCommunication(const Job& job);
// No step has any length: nothing was looked at.
[[nodiscard]] inline bool LacksTime(const Job& job) { return job.median_step <= 0; }
// Why not, in a sentence.
[[nodiscard]] std::string WhyNoTime(const Job& job);

[[nodiscard]] Diagnosis Diagnose(std::vector<pattern::RankPattern> ranks, const DiagnoseOptions& options = {});

}  // namespace headway::diagnose
