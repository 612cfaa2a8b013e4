// SPDX-License-Identifier: Apache-2.0
// How much more a rank has to do of what others do as well, by the number of calls. The first stage of a pipeline has
// an embedding, the last one a head: whether a stage between them has more layers shows in what all of them run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "diagnose/function_view.h"
#include "diagnose/job.h"

namespace headway::diagnose {

struct MoreCalls {
  Nanos per_step = 0;  // what the calls beyond the others' take, at the rank's own mean time of a call; may be negative
  std::string_view function;  // the one that holds most of it; lives as long as the job
  int64_t calls = 0;          // of it on the rank, over all steps
  int64_t usual = 0;          // and of the middle one of the others
};

// `rank` against the middle one of `others` (rank indices, at least one), function by function, over those that all of
// them run. Of a device its kernels, without one the operators. O(functions of these ranks).
[[nodiscard]] MoreCalls CallsBeyond(const Job& job, size_t rank, std::span<const size_t> others);

// By axis step: what the rank computes by the number of calls, at its own mean time of a call: without what calls vary
// by. O(rows of the rank's functions and steps).
[[nodiscard]] std::vector<Nanos> ComputeByCalls(const Job& job, FunctionView* view, size_t rank);

}  // namespace headway::diagnose
