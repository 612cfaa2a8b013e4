// SPDX-License-Identifier: Apache-2.0
#include "pattern/pattern_builder.h"

#include <algorithm>
#include <unordered_map>

#include "base/spill_sorter.h"
#include "pattern/critical_sweep.h"
#include "pattern/lane_roles.h"
#include "pattern/launch_front.h"
#include "pattern/launch_tracker.h"
#include "pattern/step_marks.h"

namespace headway::pattern {

using trace::Event;
using trace::EventKind;

const char* ToString(WorkClass c) {
  static constexpr const char* kNames[kWorkClasses] = {"compute", "memory", "communication", "runtime",
                                                       "input",   "host",   "idle"};
  return kNames[static_cast<size_t>(c)];
}

const char* ToString(StepPart part) {
  static constexpr const char* kNames[kStepParts] = {"kernels", "copies", "sets", "communication",
                                                     "runtime", "input",  "host", "other"};
  return kNames[static_cast<size_t>(part)];
}

namespace {

struct ByTime {
  static int64_t Key(const Event& event) { return event.start; }
  bool operator()(const Event& a, const Event& b) const { return trace::Before(a, b); }
};

// A table that holds equal rows once: most kernels and copies of a trace say the same few things.
template <typename T>
class DistinctRows {
 public:
  uint32_t Add(const T& row, std::vector<T>* rows) {
    std::vector<uint32_t>& bucket = index_[Hash(row)];
    for (const uint32_t id : bucket) {
      if (Equal((*rows)[id], row)) return id;
    }
    bucket.push_back(static_cast<uint32_t>(rows->size()));
    rows->push_back(row);
    return bucket.back();
  }

 private:
  static uint64_t Mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ULL ^ (h >> 31); }
  static uint64_t Hash(const trace::CopyDetail& r) { return Mix(static_cast<uint64_t>(r.bytes), r.memory_kind); }
  static uint64_t Hash(const trace::KernelDetail& r) {
    return Mix(Mix(r.geometry, static_cast<uint64_t>(r.graph_node)), static_cast<uint64_t>(r.occupancy * 1e6F));
  }
  static bool Equal(const trace::CopyDetail& a, const trace::CopyDetail& b) {
    return a.bytes == b.bytes && a.memory_kind == b.memory_kind;
  }
  static bool Equal(const trace::KernelDetail& a, const trace::KernelDetail& b) {
    return a.occupancy == b.occupancy && a.geometry == b.geometry && a.graph_node == b.graph_node;
  }
  std::unordered_map<uint64_t, std::vector<uint32_t>> index_;  // looked up only
};

}  // namespace

class PatternBuilder::State {
 public:
  explicit State(const FoldOptions& fold) : options(fold), sorter({fold.sort_buffer_bytes, fold.spill_dir}) {}

  FoldOptions options;
  SpillSorter<Event, ByTime> sorter;
  DetailTables details;
  DistinctRows<trace::CopyDetail> copies;
  DistinctRows<trace::KernelDetail> kernels;
  LaneCensus census;
  StepMarks marks;
  CorrelationSet launched;
  LaunchFront front;
  bool has_device = false;
  int64_t events = 0;
  Nanos overhead = 0;
  Nanos unknown_name_time = 0;
};

PatternBuilder::PatternBuilder(const FoldOptions& options) : state_(std::make_unique<State>(options)) {}
PatternBuilder::~PatternBuilder() = default;

int64_t PatternBuilder::events() const { return state_->events; }

void PatternBuilder::OnEvent(const Event& event) {
  State& s = *state_;
  ++s.events;
  s.census.Count(event);
  s.marks.Count(event);
  if ((event.flags & trace::kFlagUnknownName) != 0) s.unknown_name_time += event.duration;
  switch (event.kind) {
    case EventKind::kOverhead: s.overhead += event.duration; return;
    case EventKind::kInstant:
    case EventKind::kDeviceAnnotation:
    case EventKind::kDeviceSync:
    case EventKind::kOther: return;
    case EventKind::kRuntime:
    case EventKind::kRuntimeSync:
      if (event.correlation != 0) {
        s.launched.Add(event.correlation);
        s.front.OnLaunch(event.correlation, event.start);
      }
      break;
    default:
      if (trace::IsDeviceWork(event.kind)) {
        s.has_device = true;
        if (s.options.split_steps && event.correlation != 0)
          s.front.OnDeviceWork(event.correlation, event.start, event.end());
      }
      if (event.kind == EventKind::kKernel && event.correlation != 0) {
        s.front.OnKernel(event.correlation, event.start, event.end());
      }
      if (event.kind == EventKind::kCommKernel && event.correlation != 0) {
        s.front.OnCommKernel(event.correlation, event.start);
      }
  }
  s.sorter.Add(event);
}

uint32_t PatternBuilder::OnComm(const trace::CommDetail& detail) {
  state_->details.comm.push_back(detail);
  return static_cast<uint32_t>(state_->details.comm.size() - 1);
}
uint32_t PatternBuilder::OnCopy(const trace::CopyDetail& detail) {
  return state_->copies.Add(detail, &state_->details.copy);
}
uint32_t PatternBuilder::OnKernel(const trace::KernelDetail& detail) {
  return state_->kernels.Add(detail, &state_->details.kernel);
}

Result<RankPattern> PatternBuilder::Finish(trace::RankMeta meta, const StringPool& names, trace::ImportLog log) {
  State& s = *state_;
  RankPattern out;
  out.log = std::move(log);
  out.meta = std::move(meta);
  out.has_device = s.has_device;
  out.events = s.events;
  out.overhead = s.overhead;
  out.unknown_name_time = s.unknown_name_time;
  out.linked_only = s.options.linked_only;

  SweepInput input;
  input.names = &names;
  input.meta = &out.meta;
  input.details = &s.details;
  input.launched = &s.launched;
  input.roles = s.census.Roles(out.meta.lanes);
  input.has_device = s.has_device;
  input.linked_only = s.options.linked_only;
  input.max_of_group = s.options.max_of_group;
  s.front.Settle();
  StepMarks::Steps steps = s.marks.Resolve(names, input.roles, s.front, s.options.drop_last_step, &out.log);
  out.steps_marked = steps.marked;
  input.host_end = steps.host_end;
  if (!s.options.split_steps) steps.splits.clear();
  CriticalSweep sweep(input, std::move(steps.steps), std::move(steps.splits));
  if (Result<void> sorted = s.sorter.Finish(); !sorted) return std::unexpected(sorted.error());
  if (Result<void> sorted = s.sorter.ForEach([&sweep](const Event& event) { sweep.Add(event); }); !sorted) {
    return std::unexpected(sorted.error());
  }
  sweep.Finish(s.options.max_functions, s.options.min_share, &out);

  if (!out.steps.empty()) {
    out.window_start = out.steps.front().start;
    out.window_end = WithoutTail(out).back().end;
  }
  trace::RankComms& comms = out.comms;
  comms.rank = out.meta.rank;
  comms.host = out.meta.host;
  comms.host_known = !out.meta.host.empty();
  comms.declared = out.meta.groups;
  for (size_t i = 0; i < input.roles.size() && i < out.meta.lanes.size(); ++i) {
    const trace::Lane& lane = out.meta.lanes[i];
    if (input.roles[i] == LaneRole::kCommLoop || lane.name.find("runloop") != std::string::npos) {
      comms.runloop_tids.push_back(lane.tid);
    }
  }
  std::sort(comms.runloop_tids.begin(), comms.runloop_tids.end());
  for (const Step& step : WithoutTail(out)) {
    comms.step_numbers.push_back(step.number);
    comms.step_starts.push_back(step.start);
  }
  out.meta.lanes.clear();
  return out;
}

}  // namespace headway::pattern
