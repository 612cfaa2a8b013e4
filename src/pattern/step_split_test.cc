// SPDX-License-Identifier: Apache-2.0
// Every expected figure is worked out beside the rows it comes from. Times in microseconds.
#include "pattern/step_split.h"

#include <gtest/gtest.h>

#include "pattern/row_script.h"

namespace headway::pattern {
namespace {

using trace::CommOp;
using trace::EventKind;

Nanos Us(int64_t us) { return us * kMicrosecond; }
Nanos Part(const StepSplit& s, StepPart p) { return s.by_part[static_cast<size_t>(p)]; }

// Correlations a bucket of launches apart.
constexpr uint32_t kA = 100, kB = 200, kC = 300;

void ExpectPartsFillSteps(const RankPattern& p) {
  for (const StepSplit& step : p.step_splits) {
    Nanos sum = 0;
    for (const Nanos t : step.by_part) sum += t;
    EXPECT_EQ(sum, step.end - step.start);
  }
}

TEST(StepSplit, AStepLastsUntilItsDeviceWorkEndsAndTheNextBeginsThen) {
  // Step 1 marked 0..100, its kernel ends at 150; step 2 marked 110..200, its copy at 180 and nothing later.
  const RankPattern p = RowScript()
                            .Step(1, 0, 100)
                            .Step(2, 110, 90)
                            .Row("main", EventKind::kRuntime, "cudaLaunchKernel", 50, 10, kA)
                            .Row("main", EventKind::kRuntime, "cudaMemcpyAsync", 120, 10, kB)
                            .Row("stream 7", EventKind::kKernel, "gemm", 70, 80, kA)
                            .Row("stream 8", EventKind::kMemcpy, "copy", 160, 20, kB)
                            .Fold({.split_steps = true});
  ASSERT_EQ(p.step_splits.size(), 2U);
  EXPECT_EQ(p.step_splits[0].start, 0);
  EXPECT_EQ(p.step_splits[0].end, Us(150));
  EXPECT_EQ(p.step_splits[1].start, Us(150));
  EXPECT_EQ(p.step_splits[1].end, Us(200));
  EXPECT_EQ(Part(p.step_splits[0], StepPart::kKernel), Us(80));
  EXPECT_EQ(Part(p.step_splits[0], StepPart::kRuntime), Us(10));  // 120..130 lies under the kernel
  EXPECT_EQ(Part(p.step_splits[0], StepPart::kOther), Us(60));
  EXPECT_EQ(Part(p.step_splits[1], StepPart::kCopy), Us(20));
  EXPECT_EQ(Part(p.step_splits[1], StepPart::kOther), Us(30));
  ExpectPartsFillSteps(p);
}

TEST(StepSplit, TheFirstStepBeginsWhereEarlierWorkEnds) {
  // Kernel A was launched before the mark at 100 and ends at 130, B has no launch and ends at 140; the step's own
  // begins at 150. C, without a launch either, ends at 160, behind that: it runs beside the step.
  RowScript script;
  script.Step(1, 100, 100)
      .Row("main", EventKind::kRuntime, "cudaLaunchKernel", 50, 10, kA)
      .Row("main", EventKind::kRuntime, "cudaLaunchKernel", 120, 10, kC)
      .Row("stream 7", EventKind::kKernel, "a", 90, 40, kA)
      .Row("stream 7", EventKind::kKernel, "b", 130, 10, kB)
      .Row("stream 7", EventKind::kKernel, "own", 150, 20, kC)
      .Row("stream 8", EventKind::kKernel, "c", 110, 50, 400);
  const RankPattern p = script.Fold({.split_steps = true});
  ASSERT_EQ(p.step_splits.size(), 1U);
  EXPECT_EQ(p.step_splits[0].start, Us(140));
  EXPECT_EQ(p.step_splits[0].end, Us(200));
  EXPECT_EQ(Part(p.step_splits[0], StepPart::kKernel), Us(30));  // 140..170
  ExpectPartsFillSteps(p);
}

TEST(StepSplit, StepsBehindTheLastDeviceWorkAreLeftOutIfAnyStepHasSome) {
  RowScript script;
  script.Step(1, 0, 100).Step(2, 100, 100).Step(3, 200, 100);
  EXPECT_EQ(script.Fold({.split_steps = true}).step_splits.size(), 3U);
  script.Row("main", EventKind::kRuntime, "cudaLaunchKernel", 110, 10, kA)
      .Row("stream 7", EventKind::kKernel, "gemm", 130, 10, kA);
  const RankPattern p = script.Fold({.split_steps = true});
  ASSERT_EQ(p.step_splits.size(), 2U);  // the first is kept: the device may merely have been idle
  EXPECT_EQ(p.step_splits[0].end, Us(100));
  EXPECT_EQ(p.steps.size(), 3U);  // nothing else changes
}

TEST(StepSplit, WithoutADeviceOperatorsAreTheComputation) {
  // Operator 100..400, all-reduce of a host backend 300..600 in a step 0..700: both 100, communication only 200.
  const RankPattern p = RowScript()
                            .Step(1, 0, 700)
                            .Row("main", EventKind::kCpuOp, "mm", 100, 300)
                            .Collective("pt_gloo_runloop", CommOp::kAllReduce, 300, 300)
                            .Fold({.split_steps = true});
  ASSERT_EQ(p.step_splits.size(), 1U);
  const StepSplit& step = p.step_splits[0];
  EXPECT_EQ(step.compute, Us(300));
  EXPECT_EQ(step.communication, Us(300));
  EXPECT_EQ(step.overlapped, Us(100));
  EXPECT_EQ(step.device_busy, 0);
  EXPECT_EQ(Part(step, StepPart::kCommunication), Us(300));  // above what the host does
  EXPECT_EQ(Part(step, StepPart::kHost), Us(200));
  EXPECT_EQ(Part(step, StepPart::kOther), Us(200));
  ExpectPartsFillSteps(p);
}

TEST(StepSplit, KernelsHideCopiesAndCommunicationAndBusyCountsBothKindsOfKernels) {
  // Kernel 0..100, copy 50..150, set 140..160, all-reduce 90..300; step 0..400.
  const RankPattern p = RowScript()
                            .Step(1, 0, 400)
                            .Row("stream 7", EventKind::kKernel, "gemm", 0, 100, kA)
                            .Row("stream 8", EventKind::kMemcpy, "copy", 50, 100, kA)
                            .Row("stream 9", EventKind::kMemset, "set", 140, 20, kA)
                            .Collective("stream 20", CommOp::kAllReduce, 90, 210, kA)
                            .Fold({.split_steps = true});
  ASSERT_EQ(p.step_splits.size(), 1U);
  const StepSplit& step = p.step_splits[0];
  EXPECT_EQ(Part(step, StepPart::kKernel), Us(100));
  EXPECT_EQ(Part(step, StepPart::kCopy), Us(50));
  EXPECT_EQ(Part(step, StepPart::kSet), Us(10));
  EXPECT_EQ(Part(step, StepPart::kCommunication), Us(140));
  EXPECT_EQ(Part(step, StepPart::kOther), Us(100));
  EXPECT_EQ(step.device_busy, Us(300));
  EXPECT_EQ(step.overlapped, Us(10));
  EXPECT_EQ(step.communication, Us(210));
}

TEST(StepSplit, TheLastStepIsLeftOutOnRequest) {
  RowScript script;
  script.Step(1, 0, 100).Step(2, 100, 100);
  ASSERT_EQ(script.Fold({.drop_last_step = true, .split_steps = true}).step_splits.size(), 1U);
  EXPECT_EQ(script.Fold({.drop_last_step = true, .split_steps = true}).step_splits[0].number, 1);
}

}  // namespace
}  // namespace headway::pattern
