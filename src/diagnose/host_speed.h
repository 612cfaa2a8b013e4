// SPDX-License-Identifier: Apache-2.0
// Hosts that are slow in some steps only. Their own other steps tell: the same calls do the same work in them, whatever
// part of the program these ranks run.
#pragma once

#include <span>
#include <vector>

#include "diagnose/function_view.h"
#include "diagnose/job.h"

namespace headway::diagnose {

struct SlowSteps {
  size_t host = 0;                       // index into the hosts given
  double ratio = 1;                      // of its calls in the struck steps, middle one of these, to its others
  double quiet = 1;                      // of its calls in the others to those of all steps
  std::vector<std::vector<Nanos>> cost;  // by rank of the host, by axis step: what calls take longer; 0 = not struck
  std::vector<size_t> quiet_steps;       // axis steps
};

// Hosts (rank indices each) on which, in half of the steps or fewer or from one on, calls of three quarters of the
// ranks take longer by 8 % and more than in the others, most kinds of calls do, and the other hosts' calls do not. Only
// of jobs without devices, where the calls are the work and are known step by step; empty of fewer than two hosts, and
// of more than 256 ranks. O(function steps of all ranks + ranks x steps x functions).
[[nodiscard]] std::vector<SlowSteps> FindSlowSteps(const Job& job, FunctionView* view,
                                                   std::span<const std::vector<size_t>> hosts);

}  // namespace headway::diagnose
