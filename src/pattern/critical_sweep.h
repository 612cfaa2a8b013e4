// SPDX-License-Identifier: Apache-2.0
// The fold's heart: rows of one rank in time order -> what the rank was doing, each instant exactly once.
//
// At each instant the highest class that runs is on the rank's critical chain: compute kernel > memory operation >
// exposed communication > runtime call > other host code > nothing. On a job without devices the framework operators on
// the driving threads are the compute, and a rank is in exposed communication when an operation is open and its driving
// thread only waits or stands in a hole. docs/reading-the-report.md gives the rules in full.
#pragma once

#include <queue>
#include <vector>

#include "base/string_pool.h"
#include "pattern/comm_tracker.h"
#include "pattern/device_sums.h"
#include "pattern/exposure.h"
#include "pattern/function_tree.h"
#include "pattern/lane_roles.h"
#include "pattern/launch_tracker.h"
#include "pattern/pattern.h"
#include "pattern/step_split.h"
#include "trace/event.h"

namespace headway::pattern {

// Side tables of Event::detail.
struct DetailTables {
  std::vector<trace::CommDetail> comm;
  std::vector<trace::CopyDetail> copy;
  std::vector<trace::KernelDetail> kernel;
};

struct SweepInput {
  const StringPool* names = nullptr;
  const trace::RankMeta* meta = nullptr;
  const DetailTables* details = nullptr;
  const CorrelationSet* launched = nullptr;  // correlations of all launches in the file
  std::vector<LaneRole> roles;
  bool has_device = false;
  bool linked_only = false;  // leave rows without a launch out
  size_t max_of_group = 0;
  Nanos host_end = 0;  // where the host's part of the last step ends
};

class CriticalSweep {
 public:
  // `steps` with start, end, marked_end and number set, in order, back to back; `splits` with number, start and end, in
  // order; file-relative times.
  CriticalSweep(const SweepInput& input, std::vector<Step> steps, std::vector<StepSplit> splits);

  void Add(const trace::Event& event);  // in order of trace::Before
  // Closes what is open and moves everything into `out` (functions, steps, comms, device sums).
  void Finish(size_t max_functions, double min_share, RankPattern* out);

 private:
  struct Frame {
    uint32_t id = 0;                                  // slot in open_
    FunctionTree::Node node = FunctionTree::kRoot;    // charged with self time
    FunctionTree::Node path = FunctionTree::kRoot;    // parent of children
    FunctionTree::Node beside = FunctionTree::kRoot;  // parent of what runs beside an operation called in it
    uint32_t comm_detail = 0;
    Nanos start = 0;
    Nanos self = 0;  // time as the innermost frame of its thread
    Nanos top_since = 0;
    enum class Nature : uint8_t { kWork, kContainer, kWait } nature = Nature::kWork;
    bool input = false;  // inside a data loader
    bool in_operator = false;
    bool is_message = false;  // the row of a host backend's operation, open until it is waited for
    bool sync = false;        // waits for the device
  };
  struct Open {  // a row whose end is still to come
    trace::EventKind kind = trace::EventKind::kOther;
    trace::LaneId lane = 0;
    FunctionTree::Node node = FunctionTree::kRoot;
    int comm = CommTracker::kNone;
    int device_kind = 0;
    bool linked = true;
    Nanos start = 0;
    Nanos queued_since = 0;  // communication threads: the row, or the first of those it stood in line behind, began
    Nanos covered = 0;       // cumulative time of higher classes at its start
    double utilisation = -1;
    const char* resource = "";
  };
  struct Ending {
    Nanos at = 0;
    uint32_t order = 0;  // reverse order of starting: inner frames end before outer ones
    uint32_t slot = 0;
    bool operator>(const Ending& o) const { return at != o.at ? at > o.at : order < o.order; }
  };
  struct Choice {
    WorkClass work_class = WorkClass::kIdle;
    FunctionTree::Node node = FunctionTree::kRoot;
    int comm = CommTracker::kNone;
  };

  void AdvanceTo(Nanos at);
  void ChangeStep();
  void LeaveStep();
  // The step that an operation which begins now is in: none in a tail, of which it is not known yet whether it counts.
  [[nodiscard]] int32_t StepOfComm() const { return InTail() ? -1 : step_; }
  void Attribute(Nanos from, Nanos to);
  [[nodiscard]] Choice Choose() const;
  [[nodiscard]] Choice ChooseHost() const;
  // Whether the running step is the tail of the last one.
  [[nodiscard]] bool InTail() const;
  // Settles the buffered exposed time: an operation (`handle`) ended now, or the step did.
  void ResolveExposed(int handle);
  void Charge(WorkClass work_class, FunctionTree::Node node, Nanos length);
  void ChargeOwn(WorkClass work_class, FunctionTree::Node node, Nanos from, Nanos to);
  [[nodiscard]] bool EndsInMoments(Nanos at) const;
  void CloseStretch(Nanos at);
  void CloseHostStretch(Nanos at);
  void WeighHostStretches();
  void NoteHiddenWait(int handle, Nanos queued_since);
  void SettleHiddenWait(Nanos at);
  [[nodiscard]] const Frame* DrivingFrame() const;
  [[nodiscard]] StepSplitSweep::Running RunningNow() const;

  void StartDevice(const trace::Event& event);
  void StartHostFrame(const trace::Event& event);
  void StartCommLoop(const trace::Event& event);
  void End(const Ending& ending);
  void EndFrame(const Ending& ending);
  uint32_t Push(const trace::Event& event, const Open& open);
  Frame MakeFrame(const trace::Event& event, const Frame* outer);
  // Whom a message that begins here goes to or comes from, by the call it begins in; -1 = not known. Takes the call.
  int32_t PeerOfMessage(const trace::Event& event, trace::CommOp op);
  // A device row that counts in the sums over all rows and nowhere else.
  [[nodiscard]] bool LeftOut(const Open& open) const { return in_.linked_only && !open.linked; }
  [[nodiscard]] trace::CommDetail CommOf(const trace::Event& event) const;
  [[nodiscard]] Nanos Covered(trace::EventKind kind) const;

  const SweepInput in_;
  FunctionTree tree_;
  CommTracker comms_;
  LaunchTracker launches_;
  DeviceSumsSweep sums_all_, sums_linked_;
  StepSplitSweep splits_;

  std::vector<Step> steps_;
  int32_t step_ = -1;  // running step, -1 = outside
  size_t next_step_ = 0;
  Nanos now_ = 0;
  bool started_ = false;

  std::vector<std::vector<Frame>> stacks_;  // by lane; driving lanes only
  struct MessageCall {                      // the last call that hands in a message, until the message's row begins
    uint32_t detail = 0;
    Nanos end = 0;
  };
  std::vector<MessageCall> message_call_;  // by lane
  std::vector<trace::LaneId> driving_;
  std::vector<Open> open_;  // slots, reused
  std::vector<uint32_t> free_;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
  uint32_t order_ = 0;
  std::vector<uint32_t> running_compute_, running_memory_;             // slots, by start
  std::vector<uint32_t> running_comm_;                                 // device communication
  std::vector<Nanos> stream_end_;                                      // by lane: end of the last row
  std::vector<Nanos> queued_since_;                                    // by lane: start of the rows without a gap
  Nanos covered_compute_ = 0, covered_memory_ = 0, covered_comm_ = 0;  // cumulative: some row of the class or above ran
  ExposureBuffer exposed_;
  std::vector<ExposedPiece> blocked_pieces_, own_pieces_;  // scratch
  FunctionTree::Node nothing_ = FunctionTree::kRoot, waiting_ = FunctionTree::kRoot;
  struct HiddenWait {  // a wait inside an operator, to be confirmed at the next boundary
    int handle = CommTracker::kNone;
    Nanos from = 0;
    Nanos to = 0;
    FunctionTree::Node node = FunctionTree::kRoot;
    WorkClass work_class = WorkClass::kCompute;
    bool after_issue = false;  // nothing ran since the call that issued a collective
  };
  HiddenWait hidden_;
  bool after_issue_ = false;
  Nanos host_since_ = INT64_MIN;
  SliceSums behind_host_;    // of the running step
  Nanos stretch_start_ = 0;  // last boundary of the rank's own work
  FunctionTree::Node stretch_node_ = FunctionTree::kRoot;
  Nanos device_last_ = 0;
};

}  // namespace headway::pattern
