// SPDX-License-Identifier: Apache-2.0
// Where steps begin on a device that runs behind its host. Times in microseconds.
#include <gtest/gtest.h>

#include "pattern/row_script.h"
#include "pattern/step_marks.h"

namespace headway::pattern {
namespace {

using trace::EventKind;

Nanos Us(int64_t us) { return us * kMicrosecond; }

// The host marks steps at 0, 100, 200 and 300, each 100 long, and in each launches one kernel 10 after its mark, which
// the device runs from `begin` to `end` after the mark.
RankPattern FourSteps(int64_t begin, int64_t end) {
  RowScript script;
  for (int i = 0; i < 4; ++i) {
    const auto correlation = static_cast<uint32_t>(1000 + 16 * i);  // in buckets of their own (launch_front.h)
    script.Step(i, 100 * i, 100);
    script.Row("main", EventKind::kRuntime, "cudaLaunchKernel", 100 * i + 10, 5, correlation);
    script.Row("stream 7", EventKind::kKernel, "gemm", 100 * i + begin, end - begin, correlation);
  }
  return script.Fold();
}

std::vector<Nanos> Starts(const RankPattern& p) {
  std::vector<Nanos> out;
  for (const Step& step : p.steps) out.push_back(step.start);
  return out;
}

TEST(DeviceSteps, AHostInStepWithItsDeviceMarksWhereStepsBegin) {
  const RankPattern p = FourSteps(20, 90);
  EXPECT_EQ(Starts(p), (std::vector<Nanos>{0, Us(100), Us(200), Us(300)}));
  for (const Step& step : p.steps) EXPECT_EQ(step.by_class[0], Us(70));
}

TEST(DeviceSteps, AHostOneStepAheadMarksStepsBeforeTheDeviceBeginsThem) {
  // The kernel of the step marked at 100 i runs from 100 i + 100 to 100 i + 200: each step begins 100 after its mark,
  // the first one with its kernel, and the last one lasts until the device is done at 500.
  const RankPattern p = FourSteps(100, 200);
  EXPECT_EQ(Starts(p), (std::vector<Nanos>{Us(100), Us(200), Us(300), Us(400)}));
  EXPECT_EQ(p.steps.back().end, Us(500));
  EXPECT_EQ(p.window_start, Us(100));
  for (const Step& step : p.steps) EXPECT_EQ(step.by_class[0], Us(100));  // each its own kernel, whole
}

TEST(DeviceSteps, FurtherAheadThanAStep) {
  // 250 behind: the kernel launched in step 0 ends at 350, those after it at 450, 550 and 650.
  const RankPattern p = FourSteps(250, 350);
  EXPECT_EQ(Starts(p), (std::vector<Nanos>{Us(250), Us(350), Us(450), Us(550)}));
  EXPECT_EQ(p.steps.back().end, Us(650));
}

TEST(DeviceSteps, TheFirstStepStaysWhereTheHostWasHardlyAhead) {
  // The device finishes 30 after the next mark. How far the host was ahead at the first mark is not known; up to half a
  // step it is left where it was marked, as what came before the first kernel may belong to the step.
  const RankPattern p = FourSteps(40, 130);
  EXPECT_EQ(Starts(p), (std::vector<Nanos>{0, Us(130), Us(230), Us(330)}));
}

TEST(DeviceSteps, TheFirstStepBeginsWithItsFirstOperation) {
  // As one step ahead, but each step begins with an all-reduce of 30, and its kernel follows for 70.
  RowScript script;
  for (int i = 0; i < 4; ++i) {
    const auto correlation = static_cast<uint32_t>(1000 + 64 * i);
    script.Step(i, 100 * i, 100);
    script.Row("main", EventKind::kRuntime, "cudaLaunchKernel", 100 * i + 5, 2, correlation);
    script.Row("main", EventKind::kRuntime, "cudaLaunchKernel", 100 * i + 10, 2, correlation + 16);
    script.Collective("stream 20", trace::CommOp::kAllReduce, 100 * i + 100, 30, correlation);
    script.Row("stream 7", EventKind::kKernel, "gemm", 100 * i + 130, 70, correlation + 16);
  }
  EXPECT_EQ(Starts(script.Fold()), (std::vector<Nanos>{Us(100), Us(200), Us(300), Us(400)}));
}

// Four steps of a host that is `behind` ahead of its device; the device runs a kernel for 40, an all-reduce for 10 that
// begins at `comm` of its step, and kernels to the end of its 100.
RankPattern WithAllReduce(int64_t behind, int64_t comm) {
  RowScript script;
  for (int i = 0; i < 4; ++i) {
    const auto correlation = static_cast<uint32_t>(1000 + 64 * i);
    const int64_t begin = 100 * i + behind;
    script.Step(i, 100 * i, 100);
    for (const uint32_t k : {0U, 16U, 32U}) {
      script.Row("main", EventKind::kRuntime, "cudaLaunchKernel", 100 * i + 10 + k, 5, correlation + k);
    }
    script.Row("stream 7", EventKind::kKernel, "a", begin, comm, correlation);
    script.Collective("stream 20", trace::CommOp::kAllReduce, begin + comm, 10, correlation + 16);
    script.Row("stream 7", EventKind::kKernel, "b", begin + comm + 10, 90 - comm, correlation + 32);
  }
  return script.Fold();
}

TEST(DeviceSteps, TheLastStepIsCutAtAnArrivalInItsSecondHalf) {
  // At 80 of 100, whether the device is in step or a step behind. What follows is its tail.
  for (const int64_t behind : {0, 100}) {
    const RankPattern p = WithAllReduce(behind, 80);
    ASSERT_TRUE(HasTail(p));
    ASSERT_EQ(WithoutTail(p).size(), 4U);
    EXPECT_EQ(p.steps[3].end, Us(380 + behind));
    EXPECT_EQ(p.window_end, Us(380 + behind));
    EXPECT_EQ(p.comms.step_numbers, (std::vector<int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(p.steps[4].number, 3);
    EXPECT_EQ(p.steps[4].start, Us(380 + behind));
    EXPECT_EQ(p.steps[4].end, Us(400 + behind));
    // The all-reduce for 10, then the kernel b.
    EXPECT_EQ(p.steps[4].by_class[static_cast<size_t>(WorkClass::kCommunication)], Us(10));
    EXPECT_EQ(p.steps[4].by_class[static_cast<size_t>(WorkClass::kCompute)], Us(10));
  }
}

TEST(DeviceSteps, TheLastStepIsNotCutInItsFirstHalf) {
  // At 30: most of the step would be lost.
  EXPECT_FALSE(HasTail(WithAllReduce(0, 30)));
  EXPECT_EQ(WithAllReduce(0, 30).steps.back().end, Us(400));
  EXPECT_EQ(WithAllReduce(100, 30).steps.back().end, Us(500));
}

TEST(DeviceSteps, OneStepStaysAsMarked) {
  RowScript script;
  script.Step(7, 0, 100);
  script.Row("main", EventKind::kRuntime, "cudaLaunchKernel", 10, 5, 16);
  script.Row("stream 7", EventKind::kKernel, "gemm", 120, 60, 16);
  const RankPattern p = script.Fold();
  EXPECT_EQ(Starts(p), (std::vector<Nanos>{0}));
  EXPECT_EQ(p.steps[0].end, Us(180));  // the device ran on
}

TEST(DeviceSteps, StepsInferredFromOptimizersAreLeftAlone) {
  // No marks: steps end with the optimizer's, at 100 and 200, wherever the device is.
  RowScript script;
  for (int i = 0; i < 2; ++i) {
    const auto correlation = static_cast<uint32_t>(1000 + 16 * i);
    script.Row("main", EventKind::kRuntime, "cudaLaunchKernel", 100 * i, 5, correlation);
    script.Row("main", EventKind::kOptimizer, "Optimizer.step#SGD.step", 100 * i + 80, 20);
    script.Row("stream 7", EventKind::kKernel, "gemm", 100 * i + 150, 40, correlation);
  }
  const RankPattern p = script.Fold();
  ASSERT_EQ(p.steps.size(), 2U);
  EXPECT_FALSE(p.steps_marked);
  EXPECT_EQ(Starts(p), (std::vector<Nanos>{0, Us(100)}));
}

}  // namespace
}  // namespace headway::pattern
