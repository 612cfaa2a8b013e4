// SPDX-License-Identifier: Apache-2.0
// Then against now: two runs of a job held against each other, step by step and function by function.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "report/report_doc.h"

namespace headway::diagnose {

struct FunctionDelta {
  std::string path;
  pattern::WorkClass work_class = pattern::WorkClass::kHost;
  Nanos before = 0, after = 0;               // own time per step, mean over ranks
  double calls_before = 0, calls_after = 0;  // per step
};

struct CollectiveDelta {
  std::string name;                               // "mesh_dp [4] all-reduce"
  Nanos transfer_before = 0, transfer_after = 0;  // median of one operation
  double count_before = 0, count_after = 0;       // per step, of those that were paired
  Bytes bytes_before = -1, bytes_after = -1;      // mean of one operation
};

struct Comparison {
  Nanos step_before = 0, step_after = 0;  // medians
  Nanos noise = 0;                        // of the difference: both runs' deviations between steps, combined
  std::array<Nanos, pattern::kWorkClasses> class_before{}, class_after{};  // per step, mean over ranks
  Nanos wait_before = 0, wait_after = 0;                                   // part of the communication class
  std::vector<FunctionDelta> functions;                                    // largest change first
  std::vector<CollectiveDelta> collectives;
  double alone_before = 0, alone_after = 0;  // per step: of each of these up to so many more, which were not paired
  std::string unlike;                 // why ranks of the runs are not the same, and what was compared; empty = they are
  std::vector<std::string> changed;   // the same, versions, world size, groups, shapes: one sentence each
  std::vector<std::string> reserved;  // what keeps either run from telling all: one sentence each
  double share_of_ranks_slower = 0;   // ranks (of those in both) whose own time grew beyond the noise
};

[[nodiscard]] Comparison Compare(const Diagnosis& before, const Diagnosis& after);

// The step grew by more than `threshold` (0.05 = 5 %) and by more than three times the noise.
[[nodiscard]] bool IsRegression(const Comparison& comparison, double threshold);

// A finding "uniform-slow" when the job slowed down and at least three quarters of the ranks did so in their own time
// or all transfers grew: what peers cannot show. Nothing otherwise.
[[nodiscard]] std::vector<report::Finding> UniformFindings(const Comparison& comparison, const Job& job);

// Sections what-changed, by-class, by-function, by-collective.
[[nodiscard]] std::vector<report::Section> ComparisonSections(const Comparison& comparison);

}  // namespace headway::diagnose
