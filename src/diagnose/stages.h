// SPDX-License-Identifier: Apache-2.0
// The stages of a pipeline and how long each of them takes, beside the others.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/analysis.h"

namespace headway::diagnose {

struct Stage {
  int32_t number = 0;     // for the order among stages; the stage's own where `is_number`
  bool is_number = true;  // else stages are missing, and only its ranks name it
  std::vector<size_t> ranks;
  size_t speaker = 0;      // of its ranks with most steps the one nearest to `own`: what one has to tell for all
  std::vector<Nanos> own;  // by axis step: of the faster quarter of its ranks; kNoValue where none has the step
};

// By number; empty where no stages are known.
[[nodiscard]] std::vector<Stage> Stages(const AnalysisInput& in);

// The same without what they wait for their batches and, of devices, for launches that come late.
[[nodiscard]] std::vector<Stage> WithoutWaits(const Job& job, std::vector<Stage> stages);

// What of it they wait for their batches.
[[nodiscard]] std::vector<Stage> OnlyInput(const Job& job, std::vector<Stage> stages);

// By step: how much longer the stage takes than the middle one of the others; 0 where a stage lacks the step.
[[nodiscard]] std::vector<Nanos> BeyondOthers(const Job& job, const Stage& stage, const std::vector<Stage>& stages);

// By step: how much longer it waits for its batches than the middle one of the others, at least 0.
[[nodiscard]] std::vector<Nanos> InputBeyondOthers(const Job& job, const Stage& stage,
                                                   const std::vector<Stage>& stages);

}  // namespace headway::diagnose
