// SPDX-License-Identifier: Apache-2.0
// Facts that the tests of Holistic Trace Analysis assert about its example traces, found in the rows as our reader
// gives them. HTA leaves the last ProfilerStep out and does not say so; where its figures rest on that, the test does,
// too.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/outside/read_job.h"
#include "trace/importers/kineto/recorded_rows.h"

namespace headway::trace::kineto {
namespace {

Recorded ReadFile(const std::string& path) {
  std::string text;
  for (const InputItem& item : ListInputs(std::vector<std::string>{path}).items) {
    auto source = item.Open();
    if (source) text += ReadAll(**source);
  }
  return ReadTrace(text);
}

bool Inside(const Event& inner, const Event& outer) { return outer.start <= inner.start && inner.end() <= outer.end(); }

// ProfilerStep rows of the host, in time order.
std::vector<Event> StepRows(const Recorded& read) {
  std::vector<Event> steps;
  for (const Event& event : read.rows.events) {
    if (event.kind == EventKind::kStep) steps.push_back(event);
  }
  std::sort(steps.begin(), steps.end(), Before);
  return steps;
}

std::map<uint32_t, Event> LaunchRows(const Recorded& read) {
  std::map<uint32_t, Event> launches;
  for (const Event& event : read.rows.events) {
    const bool runtime = event.kind == EventKind::kRuntime || event.kind == EventKind::kRuntimeSync;
    if (runtime && event.correlation != 0) launches[event.correlation] = event;
  }
  return launches;
}

TEST(Hta, TheLongestCollectiveOfNcclData) {
  const std::string path = SharedData() + "/hta/nccl_parser_config/nccl_data.json.gz";
  SKIP_WITHOUT(path);
  const Recorded read = ReadFile(path);
  const Event* longest = nullptr;
  for (const Event& event : read.rows.events) {
    if (event.kind != EventKind::kCommKernel || read.rows.comms.at(event.detail - 1).pg_ranks == 0) continue;
    if (longest == nullptr || event.duration > longest->duration) longest = &event;
  }
  ASSERT_NE(longest, nullptr);
  const CommDetail& comm = read.rows.comms.at(longest->detail - 1);
  EXPECT_EQ(comm.op, CommOp::kAllReduce);
  EXPECT_EQ(comm.bytes, 2'049'000 * 4);  // in and out elements, floats
  EXPECT_EQ(read.Name(comm.pg_name), "0");
  EXPECT_EQ(read.Name(comm.pg_desc), "default_pg");
  EXPECT_EQ(read.Name(comm.pg_ranks), "[0, 1]");
}

// 4,876 kernels (all but those launched in the last step), 27 of them in an Optimizer.step that the device began before
// the host began the last step; 3 names of device annotations, 12 of host annotations.
TEST(Hta, AnnotationsOfKernelsInNanoseconds) {
  const std::string path = SharedData() + "/hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz";
  SKIP_WITHOUT(path);
  const Recorded read = ReadFile(path);
  const std::vector<Event> steps = StepRows(read);
  ASSERT_EQ(steps.size(), 5U);
  const Nanos cut = steps.back().start;
  const std::map<uint32_t, Event> launches = LaunchRows(read);
  std::vector<Event> annotations, kernels;
  std::set<std::string> device_names, host_names;
  for (const Event& event : read.rows.events) {
    if (event.kind == EventKind::kDeviceAnnotation) {
      device_names.insert(read.Name(event.name));
      if (event.start < cut) annotations.push_back(event);
    } else if (IsDeviceWork(event.kind)) {
      if (launches.at(event.correlation).start < cut) kernels.push_back(event);
    } else if (event.kind == EventKind::kStep || event.kind == EventKind::kAnnotation ||
               event.kind == EventKind::kOptimizer || read.Name(event.name).starts_with("nccl:")) {
      if (event.start < cut) host_names.insert(read.Name(event.name));
    }
  }
  EXPECT_EQ(kernels.size(), 4'876U);
  EXPECT_EQ(device_names.size(), 3U);
  std::map<std::string, int> in_annotation;
  std::string of_copy;
  for (const Event& kernel : kernels) {
    const Event* innermost = nullptr;
    for (const Event& a : annotations) {
      if (a.lane != kernel.lane || !Inside(kernel, a)) continue;
      if (innermost == nullptr || a.start > innermost->start) innermost = &a;
    }
    if (innermost != nullptr) ++in_annotation[read.Name(innermost->name)];
    if (kernel.correlation != 135'139) continue;
    EXPECT_EQ(read.Name(kernel.name), "Memcpy DtoD (Device -> Device)");
    of_copy = innermost == nullptr ? "" : read.Name(innermost->name);
  }
  EXPECT_EQ(in_annotation["Optimizer.step#SGD.step"], 27);
  EXPECT_EQ(of_copy, "DistributedDataParallel.forward");
  EXPECT_EQ(host_names.size(), 12U);
}

struct IterationRows {
  std::map<std::string, int> host;  // rows by name
  int device = 0;                   // rows launched in it
};

IterationRows RowsOfIteration(const Recorded& read, const std::string& step_name) {
  IterationRows out;
  const std::vector<Event> steps = StepRows(read);
  const auto step =
      std::find_if(steps.begin(), steps.end(), [&](const Event& e) { return read.Name(e.name) == step_name; });
  if (step == steps.end()) return out;
  const std::map<uint32_t, Event> launches = LaunchRows(read);
  for (const Event& event : read.rows.events) {
    if (IsDeviceWork(event.kind)) {
      const auto launch = launches.find(event.correlation);
      out.device += launch != launches.end() && Inside(launch->second, *step) ? 1 : 0;
    } else if (Inside(event, *step)) {
      ++out.host[read.Name(event.name)];
    }
  }
  return out;
}

TEST(Hta, TraceCompare) {
  const std::string folder = SharedData() + "/hta/trace_compare";
  SKIP_WITHOUT(folder);
  const IterationRows base = RowsOfIteration(ReadFile(folder + "/base/base.json.gz"), "ProfilerStep#1010");
  const IterationRows test = RowsOfIteration(ReadFile(folder + "/test/test.json.gz"), "ProfilerStep#1010");
  int rows = 0, same = 0;
  std::vector<std::string> added, deleted;
  for (const auto& [name, count] : base.host) {
    rows += count;
    const auto other = test.host.find(name);
    if (other == test.host.end()) {
      deleted.push_back(name);
    } else if (other->second == count) {
      ++same;
    }
  }
  for (const auto& [name, count] : test.host) {
    if (!base.host.contains(name)) added.push_back(name);
  }
  EXPECT_EQ(rows, 6);
  EXPECT_EQ(base.device, 1);
  EXPECT_EQ(added, (std::vector<std::string>{"AddmmBackward0", "All2All_Pooled_Req", "CatBackward0"}));
  EXPECT_EQ(deleted, (std::vector<std::string>{"nccl:all_reduce"}));
  EXPECT_EQ(same, 5);
}

// The row that most closely encloses `inner` on `lane`; null where none does.
const Event* Enclosing(const std::vector<Event>& rows, const Event& inner, LaneId lane) {
  const Event* best = nullptr;
  for (const Event& row : rows) {
    if (row.lane != lane || row.sequence == inner.sequence || !Inside(inner, row)) continue;
    if (best == nullptr || Before(*best, row)) best = &row;
  }
  return best;
}

// A kernel hangs under its launch, a row under the one that encloses it on its thread, and what no row of the backward
// thread encloses under the main thread's.
TEST(Hta, CallStackOfAKernelOfTheBackwardThread) {
  const std::string path = SharedData() + "/hta/call_stack/backward_thread.json.gz";
  SKIP_WITHOUT(path);
  const Recorded read = ReadFile(path);
  const std::vector<Event>& rows = read.rows.events;
  ASSERT_EQ(rows.size(), 7U);
  const auto kernel =
      std::find_if(rows.begin(), rows.end(), [](const Event& e) { return e.kind == EventKind::kKernel; });
  ASSERT_NE(kernel, rows.end());
  const LaneId main = StepRows(read).at(0).lane;
  std::vector<std::string> stack;
  const std::map<uint32_t, Event> launches = LaunchRows(read);
  const Event* at = &launches.at(kernel->correlation);
  while (at != nullptr) {
    stack.insert(stack.begin(), read.Name(at->name));
    const Event* outer = Enclosing(rows, *at, at->lane);
    at = outer != nullptr || at->lane == main ? outer : Enclosing(rows, *at, main);
  }
  EXPECT_EQ(stack, (std::vector<std::string>{"ProfilerStep#552", "## backward ##",
                                             "autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0",
                                             "aten::mm", "cudaLaunchKernel"}));  // the kernel is at depth 6
  EXPECT_TRUE(read.Name(kernel->name).starts_with("void cutlass::Kernel<"));

  // The fold charges the launch to that path of the backward thread. It is far below what a table shows, so no limit.
  const std::vector<pattern::RankPattern> folded = ReadPatterns(path, {.min_share = 0});
  ASSERT_EQ(folded.size(), 1U);
  const pattern::FunctionTable& table = *folded[0].function_table;
  std::vector<std::string> path_of_launch;
  for (size_t f = 0; f < table.size(); ++f) {
    if (table[f].name != "cudaLaunchKernel") continue;
    for (auto p = static_cast<pattern::FunctionId>(f); p >= 0; p = table[static_cast<size_t>(p)].parent) {
      path_of_launch.insert(path_of_launch.begin(), table[static_cast<size_t>(p)].name);
    }
  }
  EXPECT_EQ(path_of_launch, std::vector<std::string>(stack.begin() + 2, stack.end()));
}

}  // namespace
}  // namespace headway::trace::kineto
