// SPDX-License-Identifier: Apache-2.0
// The behaviour pattern of one rank: what is left of its trace after the fold. Tens of KB; everything the diagnosis
// reads is here, so that findings from a .hwp file equal findings from the trace it was made of.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "pattern/step_slices.h"
#include "trace/comm.h"
#include "trace/event.h"
#include "trace/import_log.h"

namespace headway::pattern {

// What a rank was doing, each instant exactly once: the highest class that runs (PerfTracker's priority order, with the
// host's classes split). Everything but kCommunication is the rank's own time.
enum class WorkClass : uint8_t {
  kCompute,        // compute kernels; on a job without devices the framework operators
  kMemory,         // copies and sets on the device
  kCommunication,  // exposed: a communication operation is open and nothing above runs
  kRuntime,        // CUDA/HIP runtime calls while the device is idle
  kInput,          // fetching the next batch
  kHost,           // Python and other host code while the device is idle
  kIdle,           // nothing ran: a hole on the driving thread
};
inline constexpr int kWorkClasses = 7;
[[nodiscard]] const char* ToString(WorkClass c);  // "compute", …, "idle"

using FunctionId = int32_t;  // index into RankPattern::function_table; -1 = none

// A function: a kernel with its geometry, a copy kind, a communication kernel, a runtime call, or a host call path
// (a node of the tree of frames; its own numbers are of the leaf itself, without its children).
struct FunctionName {
  std::string name;        // leaf name, addresses stripped
  FunctionId parent = -1;  // call path; always a smaller index; -1 = root
  WorkClass work_class = WorkClass::kHost;
  // Which resource mu and sigma speak of, with its unit ("occupancy", "GB/s"); empty = nothing recorded.
  std::string resource;

  bool operator==(const FunctionName&) const = default;
};

// The names of a rank's functions, in canonical order (depth first, children by class and name), so that ranks that ran
// the same functions have equal tables. Immutable and shared: ten thousand ranks of a job hold few distinct ones.
using FunctionTable = std::vector<FunctionName>;

// What one rank measured of a function; parallel to its FunctionTable.
struct FunctionTotals {
  int64_t calls = 0;
  Nanos total = 0;      // sum of durations (self time for host frames)
  Nanos uncovered = 0;  // PerfTracker's beta x window: not covered by a higher class (overlapping kernels count each)
  // Utilisation of the resource the function is meant to use, duration-weighted, and its deviation.
  double mu = 0;
  double sigma = 0;

  bool operator==(const FunctionTotals&) const = default;
};

// Own time of one function in one step. Exclusive: the sum over functions and classes is the step's length.
struct FunctionStep {
  int32_t step = 0;  // index into RankPattern::steps
  FunctionId function = -1;
  Nanos own = 0;
  int32_t calls = 0;
};

struct Step {
  int64_t number = 0;  // ProfilerStep#N
  Nanos start = 0;     // own clock, Unix ns
  // Start of the next step. Of the last step: where the rank last met others in it (what follows is its tail); if it
  // met nobody, its own end or the end of device work, whichever is later.
  Nanos end = 0;
  Nanos marked_end = 0;                        // where the mark itself ended
  std::array<Nanos, kWorkClasses> by_class{};  // sums to end - start
  // The longest uninterrupted stretch of own time without any event boundary of the driving thread, on a device job
  // with the device idle: a pause shows here.
  Nanos longest_stretch = 0;
  Nanos longest_stretch_start = 0;
  FunctionId longest_stretch_function = -1;
  // Of a job with devices, the longest time that ended in the step in which nothing began or ended on the driving
  // threads while none of them was in a runtime call or waited: a pause of the host shows here, hidden or not.
  Nanos host_stretch = 0;
  FunctionId host_stretch_function = -1;
  int32_t launches = 0;       // runtime launch calls
  int32_t device_rows = 0;    // kernels, copies, sets
  int32_t syncs = 0;          // runtime calls that wait for the device
  Nanos sync_time = 0;        // time inside them
  Nanos launch_delay = 0;     // sum over kernels of start - launch end where the stream was empty (host-bound mark)
  Nanos comm_overlapped = 0;  // communication open while own work ran
  // Of a job with devices, where in the step the device waited for its host (kRuntime, kHost and kIdle).
  StepSlices behind_host{};
};

// What an outside view of a step divides it into: at each instant the first of these that runs. Any row counts, not
// only what the rank was held up by (WorkClass): so other tools split a step, and so their figures compare.
enum class StepPart : uint8_t {
  kKernel,  // compute kernels
  kCopy,
  kSet,
  kCommunication,  // communication kernels, and the work of a host backend
  kRuntime,        // the rest are rows of the driving threads
  kInput,
  kHost,  // operators, Python and annotations; not what only groups others, nor waits for communication
  kOther,
};
inline constexpr int kStepParts = 8;
[[nodiscard]] const char* ToString(StepPart part);  // "kernels", "copies", …

// A step as the device saw it: from where the device was done with the step before (or the mark began, if later) to the
// end of what was launched in it (or of the mark). Steps behind the last one that launched anything are left out, if
// any did: the profiler was stopped before their work was recorded.
struct StepSplit {
  int64_t number = 0;
  Nanos start = 0;  // own clock, Unix ns
  Nanos end = 0;
  std::array<Nanos, kStepParts> by_part{};  // sums to end - start
  Nanos device_busy = 0;                    // a kernel ran, communication kernels included
  Nanos compute = 0;                        // a compute kernel ran; without devices an operator
  Nanos communication = 0;                  // a communication operation was open
  Nanos overlapped = 0;                     // both

  bool operator==(const StepSplit&) const = default;
};

struct RankPattern {
  trace::RankMeta meta;  // without lanes' rows; `source` is the trace's
  // By start. The last one may be in two, under one number: up to where the rank last met others in it, and its tail.
  // Beside other ranks' profilers that are being stopped the tail may be anything, so totals and window are without it.
  std::vector<Step> steps;
  std::vector<Step> unread_steps;      // recorded, but a selection left them out: they tell where a rank usually is
  std::vector<StepSplit> step_splits;  // of a trace where asked for; pattern files do not hold them
  bool steps_marked = true;            // false: no marks in the file, the window is one step or steps were inferred
  bool has_device = false;             // device rows exist
  std::shared_ptr<const FunctionTable> function_table;  // never null in a finished pattern
  std::vector<FunctionTotals> functions;                // parallel to *function_table
  std::vector<FunctionStep> function_steps;             // by (step, function)
  trace::RankComms comms;
  Nanos window_start = 0;  // first and last instant of the steps; own clock
  Nanos window_end = 0;
  int64_t events = 0;
  // Device figures over the whole file in whole ns, by interval union: what the peers' tables print. Time by the set of
  // kinds that run at once, so that every union, overlap and exposed share is a sum (docs/reading-the-report.md).
  struct DeviceSums {
    static constexpr int kCompute = 1, kCommunication = 2, kCopy = 4, kSet = 8;  // bits of the index
    Nanos first = 0, last = 0;                                                   // first start, last end; own clock
    std::array<Nanos, 16> by_kinds{};                                            // [0] = idle inside the span
    int64_t rows = 0;

    // Time in which at least one of `kinds` runs, and none of `without`.
    [[nodiscard]] Nanos Union(int kinds, int without = 0) const {
      Nanos sum = 0;
      for (int mask = 1; mask < 16; ++mask) {
        if ((mask & kinds) != 0 && (mask & without) == 0) sum += by_kinds[static_cast<size_t>(mask)];
      }
      return sum;
    }
    bool operator==(const DeviceSums&) const = default;
  };
  DeviceSums device_all;     // --gpu-events all; both are known whichever was asked for
  DeviceSums device_linked;  // --gpu-events linked
  // Busy time that is there only thanks to rows without a launch in the file.
  [[nodiscard]] Nanos BusyWithoutLaunch() const { return device_all.Union(15) - device_linked.Union(15); }
  bool linked_only = false;  // the fold left rows without a launch out of everything else too
  Nanos unknown_name_time = 0;
  Nanos overhead = 0;  // the profiler's own events
  int64_t thinned_instances = 0;
  trace::ImportLog log;
};

// Whether the last of a rank's steps is a tail.
[[nodiscard]] inline bool EndsInTail(std::span<const Step> steps) {
  return steps.size() > 1 && steps.back().number == steps[steps.size() - 2].number;
}
[[nodiscard]] inline bool HasTail(const RankPattern& rank) { return EndsInTail(rank.steps); }

// The steps without a tail: each number once.
[[nodiscard]] inline std::span<const Step> WithoutTail(const RankPattern& rank) {
  return std::span(rank.steps).first(rank.steps.size() - (HasTail(rank) ? 1 : 0));
}

}  // namespace headway::pattern
