// SPDX-License-Identifier: Apache-2.0
#include "pattern/critical_sweep.h"

#include <algorithm>
#include <utility>

#include "base/median.h"

namespace headway::pattern {

using trace::Event;
using trace::EventKind;

CriticalSweep::CriticalSweep(const SweepInput& input, std::vector<Step> steps, std::vector<StepSplit> splits)
    : in_(input),
      tree_(*input.names),
      comms_(*input.names, *input.meta, input.max_of_group),
      splits_(std::move(splits)),
      steps_(std::move(steps)),
      stacks_(input.roles.size()),
      message_call_(input.roles.size()),
      stream_end_(input.roles.size(), INT64_MIN),
      queued_since_(input.roles.size(), INT64_MIN) {
  for (size_t i = 0; i < in_.roles.size(); ++i) {
    if (in_.roles[i] == LaneRole::kDriving) driving_.push_back(static_cast<trace::LaneId>(i));
  }
  nothing_ = tree_.ChildNamed(FunctionTree::kRoot, "(nothing recorded)", WorkClass::kIdle);
  waiting_ = tree_.ChildNamed(FunctionTree::kRoot, "(waiting for communication)", WorkClass::kCommunication);
}

void CriticalSweep::Add(const Event& event) {
  if (!started_) {
    started_ = true;
    now_ = stretch_start_ = event.start;
  }
  while (!endings_.empty() && endings_.top().at <= event.start) {
    const Ending ending = endings_.top();
    endings_.pop();
    End(ending);
  }
  AdvanceTo(event.start);
  ChangeStep();
  if (trace::IsDeviceWork(event.kind)) {
    StartDevice(event);
  } else if (event.lane < in_.roles.size() && in_.roles[event.lane] == LaneRole::kDriving) {
    StartHostFrame(event);
  } else if (event.kind == EventKind::kCommHost) {
    StartCommLoop(event);
  }
}

// ---- Time -------------------------------------------------------------------------------------------------------

void CriticalSweep::AdvanceTo(Nanos at) {
  if (splits_.Wants(now_, at)) splits_.Add(now_, at, RunningNow());
  while (now_ < at) {
    ChangeStep();
    Nanos to = at;
    if (step_ >= 0) {
      to = std::min(to, steps_[static_cast<size_t>(step_)].end);
    } else if (next_step_ < steps_.size()) {
      to = std::min(to, steps_[next_step_].start);
    }
    if (to > now_) Attribute(now_, to);
    now_ = to;
    if (step_ < 0 && next_step_ < steps_.size() && now_ >= steps_[next_step_].start) {
      ResolveExposed(comms_.EarliestEnding());
      tree_.EndStep(-1);  // what ran before the window
    }
  }
}

// Where one step ends and the next begins, what ends there is of the former and what begins there of the latter: so a
// step is left when time goes on or something begins, not before.
void CriticalSweep::ChangeStep() {
  if (step_ >= 0 && now_ >= steps_[static_cast<size_t>(step_)].end) LeaveStep();
  if (step_ < 0 && next_step_ < steps_.size() && steps_[next_step_].start <= now_) {
    step_ = static_cast<int32_t>(next_step_++);
    if (InTail()) tree_.EndTotals();
    behind_host_ = SliceSums(steps_[static_cast<size_t>(step_)].start, steps_[static_cast<size_t>(step_)].end);
    stretch_start_ = now_;
  }
}

void CriticalSweep::LeaveStep() {
  ResolveExposed(comms_.EarliestEnding());
  CloseStretch(now_);
  if (next_step_ == steps_.size()) {  // of the last one the host's part ends with its mark
    const Nanos end = std::min(now_, in_.host_end);
    if (end > host_since_) CloseHostStretch(end);
  }
  steps_[static_cast<size_t>(step_)].behind_host = behind_host_.Shares();
  tree_.EndStep(step_);
  step_ = -1;
}

bool CriticalSweep::InTail() const {
  const auto s = static_cast<size_t>(step_);
  return step_ > 0 && s + 1 == steps_.size() && EndsInTail(steps_);
}

void CriticalSweep::Attribute(Nanos from, Nanos to) {
  const Nanos length = to - from;
  if (!running_compute_.empty()) covered_compute_ += length;
  if (!running_compute_.empty() || !running_memory_.empty()) covered_memory_ += length;
  if (!running_compute_.empty() || !running_memory_.empty() || !running_comm_.empty()) covered_comm_ += length;

  const Choice choice = Choose();
  if (choice.work_class != WorkClass::kCommunication) {
    if (!in_.has_device && EndsInMoments(from)) ResolveExposed(comms_.EarliestEnding());
    ChargeOwn(choice.work_class, choice.node, from, to);
    if (step_ >= 0 && comms_.EarliestEnding() != CommTracker::kNone) {
      steps_[static_cast<size_t>(step_)].comm_overlapped += length;
    }
    stretch_node_ = choice.node;
    return;
  }
  CloseStretch(from);
  stretch_start_ = to;
  if (exposed_.Full()) ResolveExposed(CommTracker::kNone);
  const Choice own = ChooseHost();
  exposed_.Add({from, to, choice.node, own.node, own.work_class});
}

// A boundary of the rank's own work: the stretch since the last one is over.
void CriticalSweep::CloseStretch(Nanos at) {
  SettleHiddenWait(at);
  if (step_ >= 0) {
    Step& step = steps_[static_cast<size_t>(step_)];
    const Nanos begin = std::max(stretch_start_, step.start);
    const WorkClass running = stretch_node_ == FunctionTree::kRoot ? WorkClass::kIdle : tree_.work_class(stretch_node_);
    // A long kernel is no hole.
    const bool on_device = in_.has_device && (running == WorkClass::kCompute || running == WorkClass::kMemory);
    if (at - begin > step.longest_stretch && !on_device) {
      step.longest_stretch = at - begin;
      step.longest_stretch_start = begin;
      step.longest_stretch_function = stretch_node_;  // a node until Finish
    }
  }
  stretch_start_ = at;
  after_issue_ = false;
}

// A boundary on a driving thread: nothing began or ended on any of them since the last one. Before the frame that ends
// is taken off, or the one that begins is put on. Steps are the device's: the pause shows in that in which it ends, if
// it does not end with the begin of one.
void CriticalSweep::CloseHostStretch(Nanos at) {
  constexpr Nanos kWithTheBegin = 50;  // a fiftieth of it is no more than what begins a step
  const Nanos since = std::exchange(host_since_, at);
  if (!in_.has_device || step_ < 0) return;
  const Nanos begin = std::max(since, steps_.front().start);
  auto s = static_cast<size_t>(step_);
  while (s > 0 && steps_[s].start > at)
    --s;  // a host ahead of its device is done with the last step before that begins
  if (s > 0 && at - steps_[s].start <= (at - begin) / kWithTheBegin) --s;
  Step& step = steps_[s];
  if (at - begin <= step.host_stretch) return;
  const auto waits = [this](trace::LaneId lane) {
    if (stacks_[lane].empty()) return false;
    const Frame& top = stacks_[lane].back();
    return top.sync || top.nature == Frame::Nature::kWait || tree_.work_class(top.node) == WorkClass::kRuntime;
  };
  if (std::any_of(driving_.begin(), driving_.end(), waits)) return;
  step.host_stretch = at - begin;
  step.host_stretch_function = ChooseHost().node;  // a node until Finish
}

// An operation ended while a function of the driving thread ran. A synchronous collective inside an operator leaves no
// other mark than that the operator goes on at that very moment; SettleHiddenWait() sees whether it does. An operation
// that stood in line behind another had been issued by then, and was waited for from then on.
void CriticalSweep::NoteHiddenWait(int handle, Nanos queued_since) {
  if (in_.has_device || step_ < 0) return;
  const Choice choice = Choose();
  if (choice.work_class == WorkClass::kCommunication || choice.work_class == WorkClass::kIdle) return;
  const Nanos begin = std::max(stretch_start_, steps_[static_cast<size_t>(step_)].start);
  const Nanos from = after_issue_ ? begin : std::max(begin, queued_since);
  if (now_ - from < kMillisecond / 2) return;
  hidden_ = {handle, from, now_, choice.node, choice.work_class, after_issue_};
}

void CriticalSweep::SettleHiddenWait(Nanos at) {
  if (hidden_.handle == CommTracker::kNone) return;
  const HiddenWait wait = std::exchange(hidden_, {});
  const Nanos length = wait.to - wait.from;
  // Right after the call that issued the operation: the thread may take its time to wake up. Elsewhere only a
  // coincidence too close for chance counts: operators that last for a while end near something all the time.
  const Nanos tail = wait.after_issue ? std::max(2 * kMillisecond, length / 5)
                                      : std::min(length / 10, 200 * kMicrosecond + length / 50);
  if (at - wait.to > tail || step_ < 0) return;
  Charge(wait.work_class, wait.node, -length);
  Charge(WorkClass::kCommunication, waiting_, length);
  comms_.AddExposed(wait.handle, wait.from, wait.to);
  stretch_start_ = wait.to;
}

void CriticalSweep::Charge(WorkClass work_class, FunctionTree::Node node, Nanos length) {
  if (step_ < 0) return;
  steps_[static_cast<size_t>(step_)].by_class[static_cast<size_t>(work_class)] += length;
  tree_.AddOwn(node, length);
}

void CriticalSweep::ChargeOwn(WorkClass work_class, FunctionTree::Node node, Nanos from, Nanos to) {
  Charge(work_class, node, to - from);
  const bool is_hosts =
      work_class == WorkClass::kRuntime || work_class == WorkClass::kHost || work_class == WorkClass::kIdle;
  if (in_.has_device && step_ >= 0 && is_hosts) behind_host_.Add(from, to);
}

// A host backend wakes the waiting thread before it closes its own row: going on that shortly before the end was a
// wait, if it lasted for longer than what the row still does. Moments between two operators are no waits.
bool CriticalSweep::EndsInMoments(Nanos at) const {
  if (exposed_.empty() || exposed_.last_end() != at) return false;
  const int handle = comms_.EarliestEnding();
  return handle != CommTracker::kNone &&
         comms_.EndOf(handle) - at <=
             std::min(exposed_.last_length(), std::max(300 * kMicrosecond, exposed_.last_length() / 10));
}

void CriticalSweep::ResolveExposed(int handle) {
  if (exposed_.empty()) return;
  exposed_.Resolve(now_, &blocked_pieces_, &own_pieces_);
  for (const ExposedPiece& piece : own_pieces_) ChargeOwn(piece.own_class, piece.own_node, piece.from, piece.to);
  for (const ExposedPiece& piece : blocked_pieces_) {
    if (handle != CommTracker::kNone && step_ >= 0) comms_.AddExposed(handle, piece.from, piece.to);
    Charge(WorkClass::kCommunication, piece.comm_node, piece.to - piece.from);
  }
}

const CriticalSweep::Frame* CriticalSweep::DrivingFrame() const {
  const Frame* best = nullptr;
  for (const trace::LaneId lane : driving_) {
    if (stacks_[lane].empty()) continue;
    const Frame& top = stacks_[lane].back();
    if (best == nullptr || top.start > best->start) best = &top;
  }
  return best;
}

StepSplitSweep::Running CriticalSweep::RunningNow() const {
  StepSplitSweep::Running now;
  now.kernel = !running_compute_.empty();
  for (const uint32_t slot : running_memory_) (open_[slot].kind == EventKind::kMemset ? now.set : now.copy) = true;
  now.comm_kernel = !running_comm_.empty();
  now.communication = comms_.EarliestEnding() != CommTracker::kNone;
  now.compute = now.kernel;
  for (const trace::LaneId lane : driving_) {
    if (stacks_[lane].empty()) continue;
    const Frame& top = stacks_[lane].back();
    if (top.nature != Frame::Nature::kWork) continue;
    const WorkClass work_class = tree_.work_class(top.node);
    (work_class == WorkClass::kRuntime ? now.runtime : work_class == WorkClass::kInput ? now.input : now.host) = true;
    now.compute |= top.in_operator;
  }
  return now;
}

CriticalSweep::Choice CriticalSweep::Choose() const {
  if (!running_compute_.empty()) return {WorkClass::kCompute, open_[running_compute_.front()].node};
  if (!running_memory_.empty()) return {WorkClass::kMemory, open_[running_memory_.front()].node};
  if (!running_comm_.empty()) {
    const int comm = comms_.EarliestEnding();
    return {WorkClass::kCommunication, open_[running_comm_.front()].node, comm};
  }
  const Frame* frame = DrivingFrame();
  if (frame != nullptr && frame->nature == Frame::Nature::kWork) return ChooseHost();
  const int comm = comms_.EarliestEnding();
  const FunctionTree::Node node = frame != nullptr && frame->node != FunctionTree::kRoot ? frame->node : nothing_;
  if (frame != nullptr && frame->nature == Frame::Nature::kWait) return {WorkClass::kCommunication, node, comm};
  if (comm != CommTracker::kNone) return {WorkClass::kCommunication, waiting_, comm};
  return {WorkClass::kIdle, node};
}

CriticalSweep::Choice CriticalSweep::ChooseHost() const {
  const Frame* frame = DrivingFrame();
  if (frame == nullptr || frame->node == FunctionTree::kRoot) return {WorkClass::kIdle, nothing_};
  if (frame->nature == Frame::Nature::kWait) return {WorkClass::kIdle, nothing_};
  return {tree_.work_class(frame->node), frame->node};
}

Nanos CriticalSweep::Covered(EventKind kind) const {
  switch (kind) {
    case EventKind::kKernel: return 0;
    case EventKind::kMemcpy:
    case EventKind::kMemset: return covered_compute_;
    case EventKind::kCommKernel: return covered_memory_;
    default: return covered_comm_;
  }
}

// What devices hide has little own time: the functions of unusual pauses are kept for their length.
void CriticalSweep::WeighHostStretches() {
  std::vector<Nanos> lengths;
  for (const Step& step : steps_) lengths.push_back(step.host_stretch);
  const Nanos usual = lengths.size() < 3 ? 0 : LowerMedian(&lengths);
  for (const Step& step : steps_) {
    if (step.host_stretch > usual) tree_.AddWeight(step.host_stretch_function, step.host_stretch - usual);
  }
}

void CriticalSweep::Finish(size_t max_functions, double min_share, RankPattern* out) {
  while (!endings_.empty()) {
    const Ending ending = endings_.top();
    endings_.pop();
    End(ending);
  }
  if (!steps_.empty()) AdvanceTo(std::max({now_, steps_.back().end, splits_.end()}));
  if (step_ >= 0) LeaveStep();
  const Nanos base = out->meta.time_base;
  const Nanos end = steps_.empty() ? 0 : EndsInTail(steps_) ? steps_.back().start : steps_.back().end;
  const Nanos window = steps_.empty() ? 0 : end - steps_.front().start;
  WeighHostStretches();
  tree_.Export(window, max_functions, min_share, out);
  const Nanos origin = steps_.empty() ? 0 : steps_.front().start;
  for (Step& step : steps_) {
    step.longest_stretch_function = tree_.Exported(step.longest_stretch_function);
    step.longest_stretch_start += base;
    step.host_stretch_function = tree_.Exported(step.host_stretch_function);
    step.start += base;
    step.end += base;
    step.marked_end += base;
  }
  out->steps = std::move(steps_);
  out->step_splits = splits_.Finish(base);
  out->device_all = sums_all_.Finish(base);
  out->device_linked = sums_linked_.Finish(base);
  if (const int64_t rows = out->device_all.rows - out->device_linked.rows; rows > 0) {
    out->log.AddCount(trace::ProblemKind::kNote, "launch-not-in-file", rows);
  }
  comms_.Export(base, origin, &out->comms);
  out->thinned_instances = comms_.thinned();
  if (comms_.thinned() > 0) out->log.AddCount(trace::ProblemKind::kDropped, "communication-thinned", comms_.thinned());
  if (tree_.capped() > 0) out->log.AddCount(trace::ProblemKind::kGuessed, "call-paths-capped", tree_.capped());
}

}  // namespace headway::pattern
