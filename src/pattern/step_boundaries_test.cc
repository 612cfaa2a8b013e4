// SPDX-License-Identifier: Apache-2.0
// What begins and what ends exactly where one step ends and the next begins. Times in microseconds.
#include <gtest/gtest.h>

#include <string>

#include "pattern/row_script.h"

namespace headway::pattern {
namespace {

using trace::CommOp;
using trace::EventKind;

// Calls of a function in the step at `step`; -1 where it has no row there.
int32_t CallsIn(const RankPattern& p, int32_t step, const std::string& name) {
  for (const FunctionStep& row : p.function_steps) {
    if (row.step == step && (*p.function_table)[static_cast<size_t>(row.function)].name == name) return row.calls;
  }
  return -1;
}

TEST(StepBoundaries, WhatBeginsWithAStepIsInIt) {
  // Two steps of 1000: a kernel begins with the first one, a copy and an all-reduce with the second.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Step(2, 1000, 1000)
                            .Row("stream 7", EventKind::kKernel, "a", 0, 900)
                            .Row("stream 9", EventKind::kMemcpy, "copy", 1000, 100)
                            .Collective("stream 20", CommOp::kAllReduce, 1000, 200)
                            .Row("stream 7", EventKind::kKernel, "b", 1300, 600)
                            .Fold();
  ASSERT_EQ(p.steps.size(), 2U);
  EXPECT_EQ(p.steps[0].device_rows, 1);
  EXPECT_EQ(p.steps[1].device_rows, 3);
  ASSERT_EQ(p.comms.instances.size(), 1U);
  EXPECT_EQ(p.comms.instances[0].step, 1);
}

TEST(StepBoundaries, AHostsOperationThatBeginsWithAStepIsInIt) {
  // One with the first step, one with the second.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Step(2, 1000, 1000)
                            .Collective("pt_gloo_runloop", CommOp::kAllReduce, 0, 100)
                            .Row("main", EventKind::kCpuOp, "forward", 200, 600)
                            .Collective("pt_gloo_runloop", CommOp::kAllReduce, 1000, 100)
                            .Row("main", EventKind::kCpuOp, "forward", 1200, 600)
                            .Fold();
  ASSERT_EQ(p.comms.instances.size(), 2U);
  EXPECT_EQ(p.comms.instances[0].step, 0);
  EXPECT_EQ(p.comms.instances[1].step, 1);
}

TEST(StepBoundaries, ALaunchThatBeginsWithAStepIsInIt) {
  // One call with each step, and one that waits for the device with the second.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Step(2, 1000, 1000)
                            .Row("main", EventKind::kRuntime, "cudaLaunchKernel", 0, 10, 16)
                            .Row("stream 7", EventKind::kKernel, "a", 20, 900, 16)
                            .Row("main", EventKind::kRuntimeSync, "cudaDeviceSynchronize", 1000, 10)
                            .Row("main", EventKind::kRuntime, "cudaLaunchKernel", 1010, 10, 48)
                            .Row("stream 7", EventKind::kKernel, "b", 1030, 900, 48)
                            .Fold();
  ASSERT_EQ(p.steps.size(), 2U);
  EXPECT_EQ(p.steps[0].launches, 1);
  EXPECT_EQ(p.steps[0].syncs, 0);
  EXPECT_EQ(p.steps[1].launches, 1);
  EXPECT_EQ(p.steps[1].syncs, 1);
}

TEST(StepBoundaries, AKernelThatEndsWithAStepIsACallOfIt) {
  // Kernels "a" of the first step, "b" of the second, which is the last one, end with them.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Step(2, 1000, 1000)
                            .Row("stream 7", EventKind::kKernel, "a", 500, 500)
                            .Row("stream 7", EventKind::kKernel, "b", 1000, 1000)
                            .Fold();
  ASSERT_EQ(p.steps.size(), 2U);
  EXPECT_EQ(CallsIn(p, 0, "a"), 1);
  EXPECT_EQ(CallsIn(p, 1, "a"), -1);
  EXPECT_EQ(CallsIn(p, 0, "b"), -1);
  EXPECT_EQ(CallsIn(p, 1, "b"), 1);
  EXPECT_EQ(p.steps[0].by_class[static_cast<size_t>(WorkClass::kCompute)], 500 * kMicrosecond);
  EXPECT_EQ(p.steps[1].by_class[static_cast<size_t>(WorkClass::kCompute)], 1000 * kMicrosecond);
}

TEST(StepBoundaries, AnOperatorThatEndsWithAStepIsACallOfIt) {
  // Whether another one begins there or not.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Step(2, 1000, 1000)
                            .Row("main", EventKind::kCpuOp, "a", 500, 500)
                            .Row("main", EventKind::kCpuOp, "b", 1000, 1000)
                            .Fold();
  ASSERT_EQ(p.steps.size(), 2U);
  EXPECT_EQ(CallsIn(p, 0, "a"), 1);
  EXPECT_EQ(CallsIn(p, 1, "a"), -1);
  EXPECT_EQ(CallsIn(p, 1, "b"), 1);
}

}  // namespace
}  // namespace headway::pattern
