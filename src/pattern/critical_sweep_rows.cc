// SPDX-License-Identifier: Apache-2.0
// What a row that begins or ends changes; critical_sweep.cc holds how time between rows is charged.
#include <algorithm>
#include <utility>

#include "pattern/critical_sweep.h"
#include "trace/comm_sequence.h"

namespace headway::pattern {

using trace::Event;
using trace::EventKind;

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
  Open open;
  open.kind = event.kind;
  open.lane = event.lane;
  open.start = event.start;
  open.covered = Covered(event.kind);
  open.device_kind = kind;
  open.linked = linked;
  sums_all_.Start(event.start, kind);
  if (LeftOut(open)) {
    Push(event, open);  // its end is part of the sums, too
    return;
  }
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
    open.comm = comms_.Start(event, detail, /*blocking=*/false, chained, StepOfComm());
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
  (event.kind == EventKind::kKernel       ? running_compute_
   : event.kind == EventKind::kCommKernel ? running_comm_
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
  constexpr Nanos kNextInLine = 100 * kMicrosecond;  // a thread takes up what waits for it at once
  Nanos& last_end = stream_end_[event.lane];
  Nanos& since = queued_since_[event.lane];
  const bool any_before = last_end != INT64_MIN;
  const bool chained = any_before && event.start >= last_end && event.start - last_end <= kNextInLine;
  open.comm = comms_.Start(event, detail, /*blocking=*/false, chained, StepOfComm());
  if (!any_before || event.start - last_end > kNextInLine) since = event.start;
  last_end = std::max(last_end, event.end());
  open.queued_since = since;
  Push(event, open);
}

CriticalSweep::Frame CriticalSweep::MakeFrame(const Event& event, const Frame* outer) {
  Frame frame;
  frame.start = frame.top_since = event.start;
  frame.input = outer != nullptr && outer->input;
  frame.path = outer != nullptr ? outer->path : FunctionTree::kRoot;
  frame.comm_detail = event.kind == EventKind::kCommIssue ? event.detail : outer != nullptr ? outer->comm_detail : 0;
  const bool beside_message = outer != nullptr && outer->is_message && event.kind != EventKind::kCommHost &&
                              event.kind != EventKind::kCommWait && event.kind != EventKind::kCommIssue;
  if (outer != nullptr && outer->nature == Frame::Nature::kWait && !beside_message) {
    frame.nature = Frame::Nature::kWait;  // whatever a wait calls is part of it
    frame.is_message = outer->is_message && event.kind != EventKind::kCommWait;
    frame.node = outer->node;
    frame.beside = outer->beside;
    return frame;
  }
  // Without devices an operator, and what it calls, is the compute.
  frame.in_operator = !in_.has_device && ((outer != nullptr && outer->in_operator) || event.kind == EventKind::kCpuOp);
  WorkClass work_class = frame.in_operator ? WorkClass::kCompute : WorkClass::kHost;
  switch (event.kind) {
    case EventKind::kDataLoader: frame.input = true; break;
    case EventKind::kRuntimeSync: frame.sync = true; [[fallthrough]];
    case EventKind::kRuntime: work_class = WorkClass::kRuntime; break;
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
  frame.node = tree_.Child(frame.path, event.name, work_class);
  // A host's message is open until it is waited for: what runs meanwhile is no part of it, nor of the call that sent
  // it.
  frame.is_message = !in_.has_device && event.kind == EventKind::kCommHost;
  const bool is_passed = frame.is_message || event.kind == EventKind::kCommIssue;
  frame.beside = !is_passed ? frame.node : outer != nullptr ? outer->beside : FunctionTree::kRoot;
  frame.path = frame.is_message ? frame.beside : frame.node;
  return frame;
}

int32_t CriticalSweep::PeerOfMessage(const Event& event, trace::CommOp op) {
  // The row begins inside the call, but where start and duration were cut to whole microseconds the call may seem over.
  constexpr Nanos kCut = 2 * kMicrosecond;
  const MessageCall call = std::exchange(message_call_[event.lane], {});
  if (call.detail == 0 || event.start > call.end + kCut) return -1;
  const trace::CommDetail& detail = in_.details->comm[call.detail - 1];
  return detail.op == op ? detail.peer : -1;
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
  CloseHostStretch(now_);
  std::vector<Frame>& stack = stacks_[event.lane];
  Frame frame = MakeFrame(event, stack.empty() ? nullptr : &stack.back());
  Open open;
  open.kind = event.kind;
  open.lane = event.lane;
  open.start = event.start;
  open.node = frame.node;
  open.covered = covered_comm_;
  if (event.kind == EventKind::kCommIssue && event.detail > 0 &&
      trace::IsOneWay(in_.details->comm[event.detail - 1].op)) {
    message_call_[event.lane] = {event.detail, event.end()};
  }
  if (event.kind == EventKind::kCommHost) {
    trace::CommDetail detail;
    if (event.detail > 0) detail = in_.details->comm[event.detail - 1];
    const bool blocking = detail.op == trace::CommOp::kSend || detail.op == trace::CommOp::kRecv;
    if (blocking) {
      const int32_t peer = PeerOfMessage(event, detail.op);
      if (detail.peer < 0) detail.peer = peer;
    }
    frame.comm_detail = 0;  // it outlasts the call: what begins beside it is another one's
    open.comm = comms_.Start(event, detail, blocking, /*chained=*/false, StepOfComm());
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
  CloseHostStretch(now_);
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
    if (in_.roles[open.lane] != LaneRole::kDriving) NoteHiddenWait(open.comm, open.queued_since);
  }
  if (open.device_kind != 0) {
    sums_all_.End(ending.at, open.device_kind);
    if (LeftOut(open)) {
      free_.push_back(ending.slot);
      return;
    }
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

}  // namespace headway::pattern
