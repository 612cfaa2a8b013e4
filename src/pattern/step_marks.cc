// SPDX-License-Identifier: Apache-2.0
#include "pattern/step_marks.h"

#include <algorithm>
#include <functional>
#include <set>

#include "pattern/step_numbers.h"
#include "pattern/step_split.h"

namespace headway::pattern {

namespace {

Step MakeStep(int64_t number, Nanos start, Nanos end) {
  Step step;
  step.number = number;
  step.start = start;
  step.end = step.marked_end = end;
  return step;
}

// Moves the starts of steps from where the host marks them to where the device begins them.
void FollowDevice(const LaunchFront& front, std::vector<Step>* steps) {
  if (steps->size() < 2) return;
  const Nanos first_length = (*steps)[1].start - (*steps)[0].start;
  for (size_t i = 1; i < steps->size(); ++i) {
    Step& step = (*steps)[i];
    step.start = std::max({step.start, front.DoneWithLaunchesBefore(step.start), (*steps)[i - 1].start + 1});
    step.marked_end = std::max(step.marked_end, step.start);
  }
  // How far the host was ahead before the first mark is not recorded: as far as at the second one.
  const Nanos ahead = (*steps)[1].start - (*steps)[0].start - first_length;
  const Nanos first_kernel = front.FirstLaunchedFrom((*steps)[0].start);
  if (ahead * 2 > first_length && first_kernel < (*steps)[1].start) {
    (*steps)[0].start = std::max((*steps)[0].start, first_kernel);
    (*steps)[0].marked_end = std::max((*steps)[0].marked_end, (*steps)[0].start);
  }
}

// `marks` in the order of time. No number that a mark carries is lost to a mark that reaches too far: the step before
// ends where one with a new number begins.
template <typename Mark>
std::vector<Step> StepsOf(const std::vector<Mark>& marks, const StepNumbers& numbers, const StringPool& names,
                          trace::ImportLog* log) {
  constexpr Nanos kRounding = kMicrosecond;  // times may be written in whole microseconds
  std::vector<Step> steps;
  std::set<int64_t> seen;
  for (size_t i = 0; i < marks.size(); ++i) {
    const Mark& mark = marks[i];
    const int64_t number = numbers.of_mark[i];
    if (number == StepNumbers::kLeftOut) continue;
    if (!steps.empty() && steps.back().number == number) {  // the same step seen on two threads
      steps.back().marked_end = std::max(steps.back().marked_end, mark.end);
      continue;
    }
    const Nanos overlap = steps.empty() ? 0 : steps.back().marked_end - mark.start;
    if (overlap > 0) {
      if (seen.contains(number)) continue;                       // a slower thread is still in an earlier step
      if (overlap > kRounding && !numbers.written[i]) continue;  // a part of the step
      if (mark.start == steps.back().start) {                    // would leave the step before no time: damaged times
        log->Add(trace::ProblemKind::kDropped, "step-mark-left-out", -1, names.Get(mark.name));
        continue;
      }
      if (overlap > kRounding) log->Add(trace::ProblemKind::kRepaired, "step-marks-overlap", -1, names.Get(mark.name));
      steps.back().marked_end = mark.start;
    }
    seen.insert(number);
    steps.push_back(MakeStep(number, mark.start, mark.end));
  }
  return steps;
}

}  // namespace

void StepMarks::Count(const trace::Event& event) {
  if ((event.flags & trace::kFlagClamped) != 0) return;
  if (event.kind == trace::EventKind::kStep) steps_.push_back({event.lane, event.name, event.start, event.end()});
  if (event.kind == trace::EventKind::kOptimizer) {
    optimizers_.push_back({event.lane, event.name, event.start, event.end()});
  }
  const bool device = trace::IsDeviceWork(event.kind);
  if (device || event.kind < trace::EventKind::kOverhead) {
    first_ = std::min(first_, event.start);
    last_ = std::max(last_, event.end());
  }
  if (device) device_last_ = std::max(device_last_, event.end());
  if (event.kind == trace::EventKind::kCommKernel || event.kind == trace::EventKind::kCommHost) {
    // Operations behind the last step may follow; more than this many do not.
    constexpr size_t kKept = 1024;
    comm_starts_.push_back(event.start);
    std::push_heap(comm_starts_.begin(), comm_starts_.end(), std::greater<>());
    if (comm_starts_.size() > kKept) {
      std::pop_heap(comm_starts_.begin(), comm_starts_.end(), std::greater<>());
      comm_starts_.pop_back();
    }
  }
}

StepMarks::Steps StepMarks::Resolve(const StringPool& names, const std::vector<LaneRole>& roles,
                                    const LaunchFront& front, bool drop_last, trace::ImportLog* log) const {
  Steps out;
  std::vector<Mark> marks;
  for (const Mark& mark : steps_) {
    if (mark.lane < roles.size() && roles[mark.lane] == LaneRole::kDriving) marks.push_back(mark);
  }
  const auto by_start = [](const Mark& a, const Mark& b) { return a.start < b.start; };
  std::stable_sort(marks.begin(), marks.end(), by_start);
  std::vector<std::string_view> mark_names;
  for (const Mark& mark : marks) mark_names.push_back(names.Get(mark.name));
  // A clock that stood still: which step a row belongs to is not known, and no other mark tells it either.
  const bool at_once = marks.size() > 1 && marks.front().start == marks.back().start &&
                       std::ranges::any_of(mark_names, [&](auto name) { return name != mark_names.front(); });
  if (at_once) {
    log->Add(trace::ProblemKind::kDropped, "step-marks-at-once", -1, mark_names.front());
    log->AddCount(trace::ProblemKind::kDropped, "step-marks-at-once", static_cast<int64_t>(marks.size()) - 1);
    return out;
  }
  const StepNumbers numbers = NumberSteps(mark_names);
  if (numbers.guessed > 0) {
    log->Add(trace::ProblemKind::kGuessed, "step-number-guessed", -1, numbers.guessed_name);
    log->AddCount(trace::ProblemKind::kGuessed, "step-number-guessed", numbers.guessed - 1);
  }
  if (numbers.left_out > 0) {
    log->Add(trace::ProblemKind::kDropped, "step-mark-left-out", -1, numbers.left_out_name);
    log->AddCount(trace::ProblemKind::kDropped, "step-mark-left-out", numbers.left_out - 1);
  }
  out.steps = StepsOf(marks, numbers, names, log);
  if (out.steps.empty() && first_ <= last_) {
    out.marked = false;
    marks = optimizers_;
    std::stable_sort(marks.begin(), marks.end(), by_start);
    Nanos begin = first_;
    for (const Mark& mark : marks) {
      if (mark.end <= begin) continue;  // several optimizers in a row: one step each only if work lies between them
      out.steps.push_back(MakeStep(static_cast<int64_t>(out.steps.size()), begin, mark.end));
      begin = mark.end;
    }
    if (out.steps.size() < 2) out.steps.assign(1, MakeStep(0, first_, last_));
  }
  if (!out.steps.empty()) out.host_end = out.steps.back().marked_end;
  const Nanos last_length = out.steps.empty() ? 0 : out.steps.back().marked_end - out.steps.back().start;
  out.splits = StepsOnDevice(out.steps, front);
  if (drop_last && out.splits.size() == out.steps.size() && out.splits.size() > 1) out.splits.pop_back();
  if (out.marked) FollowDevice(front, &out.steps);
  for (size_t i = 0; i < out.steps.size(); ++i) {
    Step& step = out.steps[i];
    step.end = i + 1 < out.steps.size() ? out.steps[i + 1].start : std::max(step.marked_end, device_last_);
  }
  if (drop_last && out.steps.size() > 1) {
    log->Add(trace::ProblemKind::kNote, kLastStepDropped, -1, "step #" + std::to_string(out.steps.back().number));
    out.steps.pop_back();
  } else if (out.marked && out.steps.size() > 1) {
    const Step last = out.steps.back();
    Nanos arrival = last.start;
    for (const Nanos start : comm_starts_) {
      if (start <= last.end) arrival = std::max(arrival, start);
    }
    if (arrival - last.start > last_length / 2 && arrival < last.end) {
      out.steps.back().end = arrival;
      out.steps.push_back(MakeStep(last.number, arrival, last.end));
    }
  }
  return out;
}

}  // namespace headway::pattern
