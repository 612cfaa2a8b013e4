// SPDX-License-Identifier: Apache-2.0
#include "pattern/critical_sweep.h"

#include <algorithm>
#include <utility>

namespace headway::pattern {

using trace::Event;
using trace::EventKind;

CriticalSweep::CriticalSweep(const SweepInput& input, std::vector<Step> steps)
    : in_(input), tree_(*input.names), comms_(*input.names, *input.meta, input.max_instances),
      steps_(std::move(steps)), stacks_(input.roles.size()), stream_end_(input.roles.size(), INT64_MIN) {
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
  while (now_ < at) {
    if (step_ < 0 && next_step_ < steps_.size() && steps_[next_step_].start <= now_) {
      step_ = static_cast<int32_t>(next_step_++);
      stretch_start_ = now_;
    }
    Nanos to = at;
    if (step_ >= 0) {
      to = std::min(to, steps_[static_cast<size_t>(step_)].end);
    } else if (next_step_ < steps_.size()) {
      to = std::min(to, steps_[next_step_].start);
    }
    if (to > now_) Attribute(now_, to);
    now_ = to;
    if (step_ >= 0 && now_ >= steps_[static_cast<size_t>(step_)].end) {
      ResolveExposed(comms_.EarliestEnding());
      CloseStretch(now_);
      tree_.EndStep(step_);
      step_ = -1;
    } else if (step_ < 0 && next_step_ < steps_.size() && now_ >= steps_[next_step_].start) {
      ResolveExposed(comms_.EarliestEnding());
      tree_.EndStep(-1);  // what ran before the window
    }
  }
}

void CriticalSweep::Attribute(Nanos from, Nanos to) {
  const Nanos length = to - from;
  if (!running_compute_.empty()) covered_compute_ += length;
  if (!running_compute_.empty() || !running_memory_.empty()) covered_memory_ += length;
  if (!running_compute_.empty() || !running_memory_.empty() || !running_comm_.empty()) covered_comm_ += length;

  const Choice choice = Choose();
  if (choice.work_class != WorkClass::kCommunication) {
    if (!in_.has_device && EndsInMoments(from)) ResolveExposed(comms_.EarliestEnding());
    Charge(choice.work_class, choice.node, length);
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
    if (at - begin > step.longest_stretch) {
      step.longest_stretch = at - begin;
      step.longest_stretch_start = begin;
      step.longest_stretch_function = stretch_node_;  // a node until Finish
    }
  }
  stretch_start_ = at;
  after_issue_ = false;
}

// An operation ended while a function of the driving thread ran. A synchronous collective inside an operator leaves no
// other mark than that the operator goes on at that very moment; SettleHiddenWait() sees whether it does.
void CriticalSweep::NoteHiddenWait(int handle, Nanos operation_start) {
  if (in_.has_device || step_ < 0) return;
  const Choice choice = Choose();
  if (choice.work_class == WorkClass::kCommunication || choice.work_class == WorkClass::kIdle) return;
  const Nanos begin = std::max(stretch_start_, steps_[static_cast<size_t>(step_)].start);
  const Nanos from = after_issue_ ? begin : std::max(begin, operation_start);
  if (now_ - from < kMillisecond / 2) return;
  hidden_ = {handle, from, now_, choice.node, choice.work_class, after_issue_};
}

void CriticalSweep::SettleHiddenWait(Nanos at) {
  if (hidden_.handle == CommTracker::kNone) return;
  const HiddenWait wait = std::exchange(hidden_, {});
  const Nanos length = wait.to - wait.from;
  // Right after the call that issued the operation: the thread may take its time to wake up. Elsewhere only a
  // coincidence too close for chance counts.
  const Nanos tail = wait.after_issue ? std::max(2 * kMillisecond, length / 5) : 200 * kMicrosecond + length / 50;
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

// A host backend wakes the waiting thread before it closes its own row: going on that shortly before the end was a wait.
bool CriticalSweep::EndsInMoments(Nanos at) const {
  if (exposed_.empty() || exposed_.last_end() != at) return false;
  const int handle = comms_.EarliestEnding();
  return handle != CommTracker::kNone &&
         comms_.EndOf(handle) - at <= std::max(300 * kMicrosecond, exposed_.last_length() / 10);
}

void CriticalSweep::ResolveExposed(int handle) {
  if (exposed_.empty()) return;
  exposed_.Resolve(now_, &blocked_pieces_, &own_pieces_);
  for (const ExposedPiece& piece : own_pieces_) Charge(piece.own_class, piece.own_node, piece.to - piece.from);
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

// ---- Rows begin ---------------------------------------------------------------------------------------------------

uint32_t CriticalSweep::Push(const Event& event, const Open& open) {
  uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<uint32_t>(open_.size());
    open_.push_back(open);
  } else {
    slot = free_.back();
    free_.pop_back();
    open_[slot] = open;
  }
  endings_.push({event.end(), order_++, slot});
  return slot;
}

trace::CommDetail CriticalSweep::CommOf(const Event& event) const {
  trace::CommDetail detail;
  if (event.detail > 0) detail = in_.details->comm[event.detail - 1];
  const Launch* launch = launches_.Find(event.correlation);
  if (launch == nullptr || launch->comm_detail == 0) return detail;
  // What the host call says completes what the kernel's name says: "SendRecv" kernels run all-to-all too.
  const trace::CommDetail& call = in_.details->comm[launch->comm_detail - 1];
  if (call.op != trace::CommOp::kUnknown) detail.op = call.op;
  if (detail.bytes < 0) detail.bytes = call.bytes;
  if (detail.seq < 0) detail.seq = call.seq;
  if (detail.peer < 0) detail.peer = call.peer;
  if (detail.pg_name == 0 && detail.pg_ranks == 0 && detail.pg_desc == 0) {
    detail.pg_name = call.pg_name;
    detail.pg_desc = call.pg_desc;
    detail.pg_ranks = call.pg_ranks;
    detail.group_size = call.group_size;
  }
  return detail;
}

void CriticalSweep::StartDevice(const Event& event) {
  CloseStretch(now_);
  const bool linked = event.correlation != 0 && in_.launched->Contains(event.correlation);
  const int kind = DeviceSumsSweep::Kind(event);
  if (in_.linked_only && !linked) return;
  Open open;
  open.kind = event.kind;
  open.lane = event.lane;
  open.start = event.start;
  open.covered = Covered(event.kind);
  open.device_kind = kind;
  open.linked = linked;
  sums_all_.Start(event.start, kind);
  if (linked) sums_linked_.Start(event.start, kind);
  device_last_ = std::max(device_last_, event.end());

  const Launch* launch = launches_.Find(event.correlation);
  Nanos& stream_end = stream_end_[event.lane];
  if (step_ >= 0) {
    Step& step = steps_[static_cast<size_t>(step_)];
    ++step.device_rows;
    if (launch != nullptr && !launch->is_graph && stream_end < launch->end && event.start > launch->end) {
      step.launch_delay += event.start - launch->end;
    }
  }
  if (event.kind == EventKind::kKernel) {
    open.node = tree_.Child(FunctionTree::kRoot, event.name, WorkClass::kCompute);
    if (event.detail > 0) {
      const trace::KernelDetail& detail = in_.details->kernel[event.detail - 1];
      if (detail.geometry != 0) open.node = tree_.Child(open.node, detail.geometry, WorkClass::kCompute);
      if (detail.occupancy >= 0) {
        open.utilisation = detail.occupancy;
        open.resource = "occupancy";
      }
    }
  } else if (event.kind == EventKind::kCommKernel) {
    open.node = tree_.Child(FunctionTree::kRoot, event.name, WorkClass::kCommunication);
    const trace::CommDetail detail = CommOf(event);
    const bool chained = launch != nullptr && launch->end <= stream_end && event.start - stream_end < 10 * kMicrosecond;
    open.comm = comms_.Start(event, detail, /*blocking=*/false, chained, step_);
    if (detail.bytes > 0 && event.duration > 0) {
      open.utilisation = static_cast<double>(detail.bytes) / static_cast<double>(event.duration);
      open.resource = "GB/s";
    }
  } else {
    open.node = tree_.Child(FunctionTree::kRoot, event.name, WorkClass::kMemory);
    if (event.kind == EventKind::kMemcpy && event.detail > 0 && event.duration > 0) {
      const Bytes bytes = in_.details->copy[event.detail - 1].bytes;
      if (bytes >= 0) {
        open.utilisation = static_cast<double>(bytes) / static_cast<double>(event.duration);
        open.resource = "GB/s";
      }
    }
  }
  const uint32_t slot = Push(event, open);
  (event.kind == EventKind::kKernel ? running_compute_ : event.kind == EventKind::kCommKernel ? running_comm_
                                                                                             : running_memory_)
      .push_back(slot);
  stream_end = std::max(stream_end, event.end());
}

void CriticalSweep::StartCommLoop(const Event& event) {
  Open open;
  open.kind = event.kind;
  open.lane = event.lane;
  open.start = event.start;
  open.node = tree_.Child(FunctionTree::kRoot, event.name, WorkClass::kCommunication);
  trace::CommDetail detail;
  if (event.detail > 0) detail = in_.details->comm[event.detail - 1];
  open.comm = comms_.Start(event, detail, /*blocking=*/false, /*chained=*/false, step_);
  Push(event, open);
}

CriticalSweep::Frame CriticalSweep::MakeFrame(const Event& event, const Frame* outer) {
  Frame frame;
  frame.start = frame.top_since = event.start;
  frame.input = outer != nullptr && outer->input;
  frame.path = outer != nullptr ? outer->path : FunctionTree::kRoot;
  frame.comm_detail = outer != nullptr ? outer->comm_detail : 0;
  if (outer != nullptr && outer->nature == Frame::Nature::kWait) {
    frame.nature = Frame::Nature::kWait;  // whatever a wait calls is part of it
    frame.node = outer->node;
    return frame;
  }
  // Without devices an operator, and what it calls, is the compute.
  frame.in_operator = !in_.has_device && ((outer != nullptr && outer->in_operator) || event.kind == EventKind::kCpuOp);
  WorkClass work_class = frame.in_operator ? WorkClass::kCompute : WorkClass::kHost;
  switch (event.kind) {
    case EventKind::kDataLoader: frame.input = true; break;
    case EventKind::kRuntimeSync: frame.sync = true; [[fallthrough]];
    case EventKind::kRuntime: work_class = WorkClass::kRuntime; break;
    case EventKind::kCommIssue: frame.comm_detail = event.detail; break;
    case EventKind::kCommWait:
    case EventKind::kCommHost:
      frame.nature = Frame::Nature::kWait;
      work_class = WorkClass::kCommunication;
      break;
    default: break;
  }
  if ((event.flags & trace::kFlagContainer) != 0 && !frame.input) {
    frame.nature = Frame::Nature::kContainer;
    work_class = WorkClass::kIdle;
  }
  if (frame.input && frame.nature == Frame::Nature::kWork && work_class != WorkClass::kRuntime) {
    work_class = WorkClass::kInput;
  }
  frame.node = frame.path = tree_.Child(frame.path, event.name, work_class);
  return frame;
}

void CriticalSweep::StartHostFrame(const Event& event) {
  switch (event.kind) {
    case EventKind::kStep:  // cuts time into steps, but is no function and no part of a call path
    case EventKind::kInstant:
    case EventKind::kOverhead:
    case EventKind::kDeviceSync:
    case EventKind::kDeviceAnnotation:
    case EventKind::kOther: return;
    default: break;
  }
  CloseStretch(now_);
  std::vector<Frame>& stack = stacks_[event.lane];
  Frame frame = MakeFrame(event, stack.empty() ? nullptr : &stack.back());
  Open open;
  open.kind = event.kind;
  open.lane = event.lane;
  open.start = event.start;
  open.node = frame.node;
  open.covered = covered_comm_;
  if (event.kind == EventKind::kCommHost) {
    trace::CommDetail detail;
    if (event.detail > 0) detail = in_.details->comm[event.detail - 1];
    const bool blocking = detail.op == trace::CommOp::kSend || detail.op == trace::CommOp::kRecv;
    open.comm = comms_.Start(event, detail, blocking, /*chained=*/false, step_);
  }
  if (event.kind == EventKind::kRuntime || event.kind == EventKind::kRuntimeSync) {
    if (event.correlation != 0) {
      launches_.OnLaunch(event.correlation,
                         {event.end(), frame.comm_detail, (event.flags & trace::kFlagGraphLaunch) != 0});
    }
    if (step_ >= 0) {
      Step& step = steps_[static_cast<size_t>(step_)];
      if (frame.sync) {
        ++step.syncs;
        step.sync_time += event.duration;
      } else if (event.correlation != 0) {
        ++step.launches;
      }
    }
  }
  if (!stack.empty()) stack.back().self += event.start - stack.back().top_since;
  frame.id = Push(event, open);
  stack.push_back(frame);
}

// ---- Rows end -----------------------------------------------------------------------------------------------------

void CriticalSweep::EndFrame(const Ending& ending) {
  CloseStretch(now_);
  const Open& open = open_[ending.slot];
  std::vector<Frame>& stack = stacks_[open.lane];
  auto it = std::find_if(stack.rbegin(), stack.rend(), [&](const Frame& f) { return f.id == ending.slot; });
  Frame& frame = *it;
  if (it == stack.rbegin()) frame.self += ending.at - frame.top_since;
  const bool was_wait = frame.nature == Frame::Nature::kWait;
  // Host frames are charged their uncovered time exactly, step by step, in Attribute().
  if (step_ >= 0) tree_.AddCall(frame.node, frame.self, 0, -1, "");
  const bool was_top = it == stack.rbegin();
  stack.erase(std::next(it).base());
  if (was_top && !stack.empty()) stack.back().top_since = ending.at;
  // The wait is over: for what ended last while it lasted, else for what is about to end.
  if (was_wait) ResolveExposed(comms_.LastEndedSince(open.start));
  after_issue_ = open.kind == EventKind::kCommIssue;
}

void CriticalSweep::End(const Ending& ending) {
  AdvanceTo(ending.at);
  const Open& open = open_[ending.slot];
  if (open.comm != CommTracker::kNone) {
    ResolveExposed(open.comm);
    comms_.End(open.comm);
    if (in_.roles[open.lane] != LaneRole::kDriving) NoteHiddenWait(open.comm, open.start);
  }
  if (open.device_kind != 0) {
    sums_all_.End(ending.at, open.device_kind);
    if (open.linked) sums_linked_.End(ending.at, open.device_kind);
    auto& running = open.kind == EventKind::kKernel       ? running_compute_
                    : open.kind == EventKind::kCommKernel ? running_comm_
                                                          : running_memory_;
    running.erase(std::find(running.begin(), running.end(), ending.slot));
    const Nanos total = ending.at - open.start;
    if (step_ >= 0) {
      tree_.AddCall(open.node, total, total - (Covered(open.kind) - open.covered), open.utilisation, open.resource);
    }
    CloseStretch(now_);
  } else if (in_.roles[open.lane] == LaneRole::kDriving) {
    EndFrame(ending);
  } else if (open.kind == EventKind::kCommHost) {
    if (step_ >= 0) tree_.AddCall(open.node, ending.at - open.start, 0, -1, "");
  }
  free_.push_back(ending.slot);
}

void CriticalSweep::Finish(size_t max_functions, double min_share, RankPattern* out) {
  while (!endings_.empty()) {
    const Ending ending = endings_.top();
    endings_.pop();
    End(ending);
  }
  if (!steps_.empty()) AdvanceTo(std::max(now_, steps_.back().end));
  const Nanos base = out->meta.time_base;
  const Nanos window = steps_.empty() ? 0 : steps_.back().end - steps_.front().start;
  tree_.Export(window, max_functions, min_share, out);
  for (Step& step : steps_) {
    step.longest_stretch_function = tree_.Exported(step.longest_stretch_function);
    step.longest_stretch_start += base;
    step.start += base;
    step.end += base;
    step.marked_end += base;
  }
  out->steps = std::move(steps_);
  out->device_all = sums_all_.Finish(base);
  out->device_linked = sums_linked_.Finish(base);
  comms_.Export(base, &out->comms);
  out->thinned_instances = comms_.thinned();
  if (tree_.capped() > 0) out->log.AddCount(trace::ProblemKind::kGuessed, "call-paths-capped", tree_.capped());
}

}  // namespace headway::pattern
