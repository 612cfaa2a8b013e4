// SPDX-License-Identifier: Apache-2.0
// What was planted and what it costs, measured by running the same job (same seed, same noise) without it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "synth/simulate.h"

namespace headway::synth {

struct Victim {
  std::string waits_in;  // "tp", "dp", "pp recv", ...
  int behind = -1;       // the rank that most of the waiting was for
  double ms = 0;         // more than in the healthy job, per struck step
};

struct FaultTruth {
  FaultSpec fault;
  std::vector<int> ranks;        // struck, and to blame; empty where nobody is (BlamesNobody)
  std::vector<int> steps;        // recorded steps struck
  double magnitude_ms = 0;       // median excess of a struck rank in a struck step
  double recoverable_ms = 0;     // mean over recorded steps: how much shorter the job is without this fault alone
  double struck_step_ms = 0;     // the same per struck step
  double effect_over_noise = 0;  // struck_step_ms / step_noise_ms
  std::map<int, Victim> victims;
};

struct Truth {
  double step_noise_ms = 0;    // standard deviation over the healthy job's recorded steps
  double healthy_step_ms = 0;  // mean
  double step_ms = 0;          // mean of the job as written
  double recoverable_ms = 0;   // of all faults together
  std::vector<FaultTruth> faults;
};

double Mean(const std::vector<double>& values);
double StandardDeviation(const std::vector<double>& values);

// Measures `faulty` = Simulate(spec).
Truth Measure(const JobSpec& spec, const JobRun& faulty);

// Replaces target_ms and target_effect by a `size` for which the fault alone lengthens a struck step by so much, within
// 5 % where the size can be chosen freely and is not limited. Returns the spec with sizes set everywhere.
JobSpec Calibrated(JobSpec spec);

// truth.json, with the keys of cpu_ddp and cpu_mesh and those of the structs above.
std::string TruthJson(const JobSpec& spec, const JobRun& run, const Truth& truth);

}  // namespace headway::synth
