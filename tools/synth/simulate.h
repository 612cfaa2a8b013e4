// SPDX-License-Identifier: Apache-2.0
// Runs a whole job on the simulated machine.
#pragma once

#include <memory>
#include <vector>

#include "synth/emitter.h"
#include "synth/engine.h"

namespace headway::synth {

struct JobRun {
  std::unique_ptr<Job> job;
  std::vector<RankRecord> ranks;

  // When the last rank has done all work of the step, host and device; first recorded step = spec.warmup.
  Time StepEnd(int step) const;
  // Duration of each recorded step in ms: from the end of the step before (StepEnd) to its own.
  std::vector<double> StepMs() const;
};

JobRun Simulate(const JobSpec& spec);

// Transfer times of the job's collectives.
Transfer TransferOf(const Job& job);

}  // namespace headway::synth
