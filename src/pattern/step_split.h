// SPDX-License-Identifier: Apache-2.0
// Steps as the device saw them, and what ran in them while rows pass in time order.
#pragma once

#include <vector>

#include "pattern/launch_front.h"
#include "pattern/pattern.h"

namespace headway::pattern {

// `marks` with number, start and marked_end as the host set them, in order; `front` settled. The first step begins
// where the device is done with earlier work, as far as that ends before the step's own work begins.
[[nodiscard]] std::vector<StepSplit> StepsOnDevice(const std::vector<Step>& marks, const LaunchFront& front);

class StepSplitSweep {
 public:
  struct Running {
    bool kernel = false, copy = false, set = false, comm_kernel = false;
    bool communication = false;  // an operation is open, on a device or a host backend
    bool runtime = false, input = false, host = false;
    bool compute = false;  // a compute kernel; without devices an operator
  };

  // Steps in order that do not overlap; file-relative times.
  explicit StepSplitSweep(std::vector<StepSplit> steps) : steps_(std::move(steps)) {}

  // Whether a part of [from, to) lies in a step: only then need it be added. Times rise from call to call.
  [[nodiscard]] bool Wants(Nanos from, Nanos to) {
    while (at_ < steps_.size() && steps_[at_].end <= from) ++at_;
    return at_ < steps_.size() && steps_[at_].start < to && from < to;
  }
  void Add(Nanos from, Nanos to, const Running& running);

  [[nodiscard]] Nanos end() const { return steps_.empty() ? INT64_MIN : steps_.back().end; }
  // Times shifted by `time_base`.
  [[nodiscard]] std::vector<StepSplit> Finish(Nanos time_base);

 private:
  std::vector<StepSplit> steps_;
  size_t at_ = 0;
};

}  // namespace headway::pattern
