// SPDX-License-Identifier: Apache-2.0
// Where the steps of a rank begin and end.
#pragma once

#include <vector>

#include "base/string_pool.h"
#include "pattern/lane_roles.h"
#include "pattern/launch_front.h"
#include "pattern/pattern.h"
#include "trace/event.h"

namespace headway::pattern {

// Where a pattern was made with --last-step drop and had a step to drop, its log says so under this name.
inline constexpr const char* kLastStepDropped = "last-step-dropped";

// Collects what may mark steps while rows pass (in file order).
class StepMarks {
 public:
  void Count(const trace::Event& event);

  struct Steps {
    std::vector<Step> steps;        // back to back, file-relative times, ordered
    std::vector<StepSplit> splits;  // the same steps as the device saw them, without their times by part
    bool marked = true;
    Nanos host_end = 0;  // of the last mark as the host set it
  };
  // ProfilerStep#N on driving lanes; else the ends of optimizer steps; else one step over all rows. A step lasts until
  // the next one starts; the last one to its own end or, where the device ran on, to the end of device work.
  // Marks of the same number are merged; a mark that reaches into one of another number ends there; marks without a
  // usable number are in step_numbers.h. Where ranks meet, the last step is cut in two at the rank's last arrival in it
  // (if that lies in its second half): behind it profilers are being stopped, which shows as holes and as operations
  // that seem to last (the tail, pattern.h). A host that runs ahead of its device marks a step while the device still
  // works on the one before: such a step begins when the device is done with what was launched before the mark
  // (`front`, settled). The first one then begins with the first kernel launched in it.
  [[nodiscard]] Steps Resolve(const StringPool& names, const std::vector<LaneRole>& roles, const LaunchFront& front,
                              bool drop_last, trace::ImportLog* log) const;

 private:
  struct Mark {
    trace::LaneId lane = 0;
    StringPool::Id name = 0;
    Nanos start = 0;
    Nanos end = 0;
  };
  std::vector<Mark> steps_, optimizers_;
  Nanos first_ = INT64_MAX, last_ = INT64_MIN;  // over rows with a usable time
  Nanos device_last_ = INT64_MIN;
  std::vector<Nanos> comm_starts_;  // the latest ones, a min-heap
};

}  // namespace headway::pattern
