// SPDX-License-Identifier: Apache-2.0
#include "pattern/step_split.h"

#include <algorithm>
#include <utility>

namespace headway::pattern {

namespace {

StepPart Highest(const StepSplitSweep::Running& running) {
  if (running.kernel) return StepPart::kKernel;
  if (running.copy) return StepPart::kCopy;
  if (running.set) return StepPart::kSet;
  if (running.communication) return StepPart::kCommunication;
  if (running.runtime) return StepPart::kRuntime;
  if (running.input) return StepPart::kInput;
  return running.host ? StepPart::kHost : StepPart::kOther;
}

}  // namespace

std::vector<StepSplit> StepsOnDevice(const std::vector<Step>& marks, const LaunchFront& front) {
  std::vector<StepSplit> steps;
  if (marks.empty()) return steps;
  size_t with_work = 0;  // up to the last one that launched any
  const LaunchFront::Work first = front.LaunchedIn(marks.front().start, marks.front().marked_end);
  Nanos free = first.none() ? INT64_MIN : front.EarlierWorkDone(marks.front().start, first.first_start);
  for (const Step& mark : marks) {
    StepSplit step;
    step.number = mark.number;
    step.start = std::max(mark.start, free);
    const LaunchFront::Work work = front.LaunchedIn(mark.start, mark.marked_end);
    step.end = std::max({mark.marked_end, work.last_end, step.start});
    free = step.end;
    steps.push_back(step);
    if (!work.none()) with_work = steps.size();
  }
  if (with_work > 0) steps.resize(with_work);
  return steps;
}

void StepSplitSweep::Add(Nanos from, Nanos to, const Running& running) {
  const auto part = static_cast<size_t>(Highest(running));
  for (size_t i = at_; i < steps_.size() && steps_[i].start < to; ++i) {
    StepSplit& step = steps_[i];
    const Nanos length = std::min(to, step.end) - std::max(from, step.start);
    if (length <= 0) continue;
    step.by_part[part] += length;
    if (running.kernel || running.comm_kernel) step.device_busy += length;
    if (running.compute) step.compute += length;
    if (running.communication) step.communication += length;
    if (running.compute && running.communication) step.overlapped += length;
  }
}

std::vector<StepSplit> StepSplitSweep::Finish(Nanos time_base) {
  for (StepSplit& step : steps_) {
    step.start += time_base;
    step.end += time_base;
  }
  return std::exchange(steps_, {});
}

}  // namespace headway::pattern
