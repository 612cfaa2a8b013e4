// SPDX-License-Identifier: Apache-2.0
// Every expected figure is worked out beside the rows it comes from. Times in microseconds.
#include "pattern/critical_sweep.h"

#include <gtest/gtest.h>

#include "pattern/fold_checks.h"
#include "pattern/row_script.h"

namespace headway::pattern {
namespace {

using trace::CommOp;
using trace::EventKind;
TEST(CriticalSweep, SelfTimeOfNestedHostFunctions) {
  // No device: operators are the compute. outer 100..700 contains inner 200..500: outer itself 300, inner 300;
  // the step's other 400 are a hole.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("main", EventKind::kCpuOp, "outer", 100, 600)
                            .Row("main", EventKind::kCpuOp, "inner", 200, 300)
                            .Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kCompute), Us(600));
  EXPECT_EQ(ClassTime(p, WorkClass::kIdle), Us(400));
  EXPECT_EQ(OwnOf(p, "outer"), Us(300));
  EXPECT_EQ(OwnOf(p, "inner"), Us(300));
  ExpectClassesFillSteps(p);
}

TEST(CriticalSweep, DeviceBeatsHostAndCopiesHideBehindKernels) {
  // Host busy 0..1000 in one operator. Kernel 100..400, copy 300..600: the copy counts from 400 on (200).
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("main", EventKind::kCpuOp, "op", 0, 1000)
                            .Row("stream 7", EventKind::kKernel, "gemm", 100, 300, 1)
                            .Row("stream 8", EventKind::kMemcpy, "copy", 300, 300, 2)
                            .Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kCompute), Us(300));
  EXPECT_EQ(ClassTime(p, WorkClass::kMemory), Us(200));
  EXPECT_EQ(ClassTime(p, WorkClass::kHost), Us(500));
  ExpectClassesFillSteps(p);
}

TEST(CriticalSweep, WhereTheDeviceWaitsForItsHost) {
  // Slices of 100. The device works from 0 to 400, communicates until 600 and works on from 850; the input of 600 to
  // 700 is no wait for launches.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1600)
                            .Row("main", EventKind::kDataLoader, "enumerate(DataLoader)#x.__next__", 600, 100)
                            .Row("stream 7", EventKind::kKernel, "gemm", 0, 400, 1)
                            .Collective("stream 20", CommOp::kAllReduce, 400, 200, 2)
                            .Row("stream 7", EventKind::kKernel, "gemm", 850, 750, 3)
                            .Fold();
  StepSlices expected{};
  expected[7] = 255;
  expected[8] = 128;
  EXPECT_EQ(p.steps[0].behind_host, expected);
  const RankPattern without_device = RowScript().Step(1, 0, 1600).Row("main", EventKind::kCpuOp, "op", 100, 600).Fold();
  EXPECT_EQ(without_device.steps[0].behind_host, StepSlices{});
}

TEST(CriticalSweep, CollectiveHiddenByComputeIsNotExposed) {
  // all-reduce 200..500 under a kernel 100..600: exposed 0, overlapped 300.
  const RankPattern p = RowScript()
                            .Step(1, 0, 600)
                            .Row("stream 7", EventKind::kKernel, "gemm", 100, 500, 1)
                            .Collective("stream 20", CommOp::kAllReduce, 200, 300, 2)
                            .Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kCommunication), 0);
  EXPECT_EQ(p.steps[0].comm_overlapped, Us(300));
  ASSERT_EQ(p.comms.instances.size(), 1U);
  EXPECT_EQ(p.comms.instances[0].exposed, 0);
}

TEST(CriticalSweep, BlockedInACollectiveUntilItsEnd) {
  // kernel 0..300, all-reduce 200..900, next kernel 900..1000: blocked 300..900.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("stream 7", EventKind::kKernel, "gemm", 0, 300, 1)
                            .Collective("stream 20", CommOp::kAllReduce, 200, 700, 2)
                            .Row("stream 7", EventKind::kKernel, "gemm", 900, 100, 3)
                            .Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kCommunication), Us(600));
  EXPECT_EQ(p.comms.instances.at(0).exposed, Us(600));
  EXPECT_EQ(p.comms.instances.at(0).exposed_begin, Us(300));
  EXPECT_EQ(p.comms.instances.at(0).exposed_end, Us(900));
}

TEST(CriticalSweep, GapWhileACollectiveRunsOnIsTheHostsOwn) {
  // all-reduce 0..1000. Kernels 0..200 and 500..1000: the gap 200..500 was not a wait for it, since work went on before
  // it ended. The host stood in python "slow_launch" 100..500.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("main", EventKind::kPython, "slow_launch", 100, 400)
                            .Collective("stream 20", CommOp::kAllReduce, 0, 1000, 2)
                            .Row("stream 7", EventKind::kKernel, "a", 0, 200, 1)
                            .Row("stream 7", EventKind::kKernel, "b", 500, 500, 3)
                            .Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kCommunication), 0);
  EXPECT_EQ(ClassTime(p, WorkClass::kHost), Us(300));
  EXPECT_EQ(OwnOf(p, "slow_launch"), Us(300));
  ExpectClassesFillSteps(p);
}

TEST(CriticalSweep, ShortPrefetchInsideAWaitDoesNotBreakIt) {
  // all-reduce 0..1000; a 20 us copy at 500 on another stream: blocked 980 all the same.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Collective("stream 20", CommOp::kAllReduce, 0, 1000, 1)
                            .Row("stream 9", EventKind::kMemcpy, "HtoD", 500, 20, 2)
                            .Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kCommunication), Us(980));
  EXPECT_EQ(ClassTime(p, WorkClass::kMemory), Us(20));
}

TEST(CriticalSweep, TimeBelongsToTheStepItLiesIn) {
  // Steps 0..400 and 400..1000 (the second starts where the first ends); one operator 300..600 spans both.
  const RankPattern p =
      RowScript().Step(1, 0, 350).Step(2, 400, 600).Row("main", EventKind::kCpuOp, "op", 300, 300).Fold();
  ASSERT_EQ(p.steps.size(), 2U);
  EXPECT_EQ(p.steps[0].end, Us(400));
  EXPECT_EQ(ClassTime(p, WorkClass::kCompute, 0), Us(100));
  EXPECT_EQ(ClassTime(p, WorkClass::kCompute, 1), Us(200));
  ExpectClassesFillSteps(p);
}

TEST(CriticalSweep, OperatorsInsideTheLoaderAreInput) {
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("main", EventKind::kDataLoader, "enumerate(DataLoader)#x.__next__", 0, 400)
                            .Row("main", EventKind::kCpuOp, "aten::stack", 100, 100)
                            .Row("main", EventKind::kCpuOp, "aten::mm", 500, 300)
                            .Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kInput), Us(400));
  EXPECT_EQ(ClassTime(p, WorkClass::kCompute), Us(300));
}

TEST(CriticalSweep, LongestStretchFindsAPause) {
  // Holes of 100 (300..400) and 500 (500..1000); the operators are shorter.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("main", EventKind::kCpuOp, "a", 0, 300)
                            .Row("main", EventKind::kCpuOp, "b", 400, 100)
                            .Fold();
  EXPECT_EQ(p.steps[0].longest_stretch, Us(500));
  EXPECT_EQ(p.steps[0].longest_stretch_start, Us(500));
}

TEST(CriticalSweep, ALongKernelOrCopyIsNoHole) {
  // Kernel 0..500, hole 500..600, copy 600..850, hole 850..900, kernel 900..1000: the longest stretch in which nothing
  // came from the host is the first hole, 100.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("stream 7", EventKind::kKernel, "long", 0, 500, 1)
                            .Row("stream 7", EventKind::kMemcpy, "copy", 600, 250, 2)
                            .Row("stream 7", EventKind::kKernel, "short", 900, 100, 3)
                            .Fold();
  EXPECT_EQ(p.steps[0].longest_stretch, Us(100));
  EXPECT_EQ(p.steps[0].longest_stretch_start, Us(500));
  EXPECT_EQ(p.steps[0].by_class[static_cast<size_t>(WorkClass::kIdle)], Us(150));
}

TEST(CriticalSweep, AKernelThatBeginsInAHoleCutsIt) {
  // A pause of the host 250..900 with a kernel 500..600 in it: 250 before it and 300 after it.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("main", EventKind::kCpuOp, "a", 0, 250)
                            .Row("stream 7", EventKind::kKernel, "gemm", 500, 100, 1)
                            .Row("main", EventKind::kCpuOp, "b", 900, 100)
                            .Fold();
  EXPECT_EQ(p.steps[0].longest_stretch, Us(300));
  EXPECT_EQ(p.steps[0].longest_stretch_start, Us(600));
}

TEST(CriticalSweep, APauseOfTheHostShowsWhateverTheDeviceDoes) {
  // The device is busy throughout; nothing begins or ends on the host 100..700, in "a".
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("stream 7", EventKind::kKernel, "long", 0, 1000, 1)
                            .Row("main", EventKind::kCpuOp, "a", 100, 600)
                            .Row("main", EventKind::kCpuOp, "b", 750, 100)
                            .Fold();
  EXPECT_EQ(p.steps[0].longest_stretch, 0);
  EXPECT_EQ(p.steps[0].host_stretch, Us(600));
  ASSERT_GE(p.steps[0].host_stretch_function, 0);
  EXPECT_EQ((*p.function_table)[static_cast<size_t>(p.steps[0].host_stretch_function)].name, "a");
}

TEST(CriticalSweep, AHostThatWaitsForItsDeviceDoesNotPause) {
  // 100..700 in a call that waits for the device: of the rest the longest piece is 250, to the end of the mark.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("stream 7", EventKind::kKernel, "long", 0, 1000, 1)
                            .Row("main", EventKind::kRuntimeSync, "cudaStreamSynchronize", 100, 600)
                            .Row("main", EventKind::kCpuOp, "b", 700, 50)
                            .Fold();
  EXPECT_EQ(p.steps[0].host_stretch, Us(250));
}

TEST(CriticalSweep, APauseIsOfTheStepThatItEndsWith) {
  // Of the host 200..1010, an operator that ends with the first step, but for a hundredth of it.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Step(2, 1000, 1000)
                            .Row("stream 7", EventKind::kKernel, "long", 0, 2000, 1)
                            .Row("main", EventKind::kCpuOp, "a", 200, 810)
                            .Row("main", EventKind::kCpuOp, "b", 1500, 490)
                            .Fold();
  EXPECT_EQ(p.steps[0].host_stretch, Us(810));
  EXPECT_EQ(p.steps[1].host_stretch, Us(490));
}

TEST(CriticalSweep, DeviceSumsByUnion) {
  // Kernels 0..100 and 50..200, all-reduce 150..400, copy 380..500, launches of correlation 1 and 2 only.
  // compute 200; communication 250, exposed 180 (200..380); copy 120, exposed 100; busy 500; idle 0.
  const RankPattern p = RowScript()
                            .Row("main", EventKind::kRuntime, "cudaLaunchKernel", 0, 1, 1)
                            .Row("main", EventKind::kRuntime, "cudaLaunchKernel", 1, 1, 2)
                            .Row("stream 7", EventKind::kKernel, "a", 0, 100, 1)
                            .Row("stream 8", EventKind::kKernel, "b", 50, 150, 2)
                            .Collective("stream 20", CommOp::kAllReduce, 150, 250, 3)
                            .Row("stream 9", EventKind::kMemcpy, "c", 380, 120, 4)
                            .Fold();
  using Sums = RankPattern::DeviceSums;
  EXPECT_EQ(p.device_all.Union(Sums::kCompute), Us(200));
  EXPECT_EQ(p.device_all.Union(Sums::kCommunication), Us(250));
  EXPECT_EQ(p.device_all.Union(Sums::kCommunication, Sums::kCompute | Sums::kCopy), Us(180));
  EXPECT_EQ(p.device_all.Union(Sums::kCopy, Sums::kCompute | Sums::kCommunication), Us(100));
  EXPECT_EQ(p.device_all.Union(15), Us(500));
  EXPECT_EQ(p.device_all.by_kinds[0], 0);
  EXPECT_EQ(p.device_linked.Union(15), Us(200));
  EXPECT_EQ(p.device_linked.rows, 2);
}

TEST(CriticalSweep, LeavingRowsWithoutALaunchOutChangesTheFoldAndNotTheSums) {
  // Launched: kernel 100..300. Not launched in the file: kernel 200..600, of which 300..600 are its alone.
  RowScript script;
  script.Step(1, 0, 1000)
      .Row("main", EventKind::kRuntime, "cudaLaunchKernel", 50, 10, 7)
      .Row("stream 7", EventKind::kKernel, "gemm", 100, 200, 7)
      .Row("stream 8", EventKind::kKernel, "earlier", 200, 400, 9);
  for (const bool linked_only : {false, true}) {
    const RankPattern p = script.Fold({.linked_only = linked_only});
    EXPECT_EQ(ClassTime(p, WorkClass::kCompute), Us(linked_only ? 200 : 500));
    EXPECT_EQ(p.device_all.Union(15), Us(500));
    EXPECT_EQ(p.device_all.rows, 2);
    EXPECT_EQ(p.device_linked.Union(15), Us(200));
    EXPECT_EQ(p.BusyWithoutLaunch(), Us(300));
    EXPECT_EQ(p.log.problems().at("launch-not-in-file").count, 1);
    ExpectClassesFillSteps(p);
  }
}

TEST(CriticalSweep, RowsThatTouchOrTakeNoTimeDoNotOverlap) {
  // Kernel 100..200 and copy 200..300 touch; a kernel of no length at 250 lies in the copy. Idle between: none.
  using Sums = RankPattern::DeviceSums;
  const RankPattern p = RowScript()
                            .Row("stream 7", EventKind::kKernel, "gemm", 100, 100)
                            .Row("stream 8", EventKind::kMemcpy, "copy", 200, 100)
                            .Row("stream 7", EventKind::kKernel, "empty", 250, 0)
                            .Fold();
  EXPECT_EQ(p.device_all.by_kinds[Sums::kCompute], Us(100));
  EXPECT_EQ(p.device_all.by_kinds[Sums::kCopy], Us(100));
  EXPECT_EQ(p.device_all.by_kinds[Sums::kCompute | Sums::kCopy], 0);
  EXPECT_EQ(p.device_all.by_kinds[0], 0);
}

TEST(CriticalSweep, HelperThreadsAreNotBlamed) {
  // A logger thread of the same process runs one long operator; main runs hundreds.
  RowScript script;
  script.Step(1, 0, 1000);
  for (int64_t i = 0; i < 100; ++i) script.Row("main", EventKind::kCpuOp, "op", i * 10, 5);
  script.Row("logger", EventKind::kCpuOp, "write", 0, 1000);
  const RankPattern p = script.Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kCompute), Us(500));
  EXPECT_EQ(ClassTime(p, WorkClass::kIdle), Us(500));
}

}  // namespace
}  // namespace headway::pattern
