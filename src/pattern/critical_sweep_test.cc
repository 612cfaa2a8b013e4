// SPDX-License-Identifier: Apache-2.0
// Every expected figure is worked out beside the rows it comes from. Times in microseconds.
#include "pattern/critical_sweep.h"

#include <gtest/gtest.h>

#include "pattern/row_script.h"

namespace headway::pattern {
namespace {

using trace::CommOp;
using trace::EventKind;

Nanos Us(int64_t us) { return us * kMicrosecond; }

Nanos ClassTime(const RankPattern& p, WorkClass c, size_t step = 0) {
  return p.steps.at(step).by_class[static_cast<size_t>(c)];
}

Nanos OwnOf(const RankPattern& p, const std::string& name) {
  Nanos sum = 0;
  for (const FunctionStep& row : p.function_steps) {
    if ((*p.function_table)[static_cast<size_t>(row.function)].name == name) sum += row.own;
  }
  return sum;
}

void ExpectClassesFillSteps(const RankPattern& p) {
  for (const Step& step : p.steps) {
    Nanos sum = 0;
    for (const Nanos t : step.by_class) sum += t;
    EXPECT_EQ(sum, step.end - step.start);
  }
}

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

TEST(CriticalSweep, HostBackendWaitIsAHoleWhileTheRunLoopWorks) {
  // gloo: op 0..300 on main, then a hole to 900 while the all-reduce runs 250..850 on the run loop: blocked 300..850,
  // the 50 after it are the rank's own.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("main", EventKind::kCpuOp, "backward", 0, 300)
                            .Collective("pt_gloo_runloop", CommOp::kAllReduce, 250, 600)
                            .Row("main", EventKind::kCpuOp, "optimizer", 900, 100)
                            .Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kCommunication), Us(550));
  EXPECT_EQ(ClassTime(p, WorkClass::kIdle), Us(50));
  EXPECT_EQ(ClassTime(p, WorkClass::kCompute), Us(400));
}

TEST(CriticalSweep, AMomentBetweenTwoOperatorsIsNoWait) {
  // A host backend wakes the thread before it closes its row. An all-reduce 100..950, and the thread goes on at 800: it
  // waited if it did nothing for 200, as long as the row goes on, not if there was nothing for 1.
  const auto exposed = [](int64_t hole) {
    const RankPattern p = RowScript()
                              .Step(1, 0, 1000)
                              .Row("main", EventKind::kCpuOp, "backward", 0, 800 - hole)
                              .Collective("pt_gloo_runloop", CommOp::kAllReduce, 100, 850)
                              .Row("main", EventKind::kCpuOp, "backward", 800, 200)
                              .Fold();
    ExpectClassesFillSteps(p);
    return p.comms.instances.at(0).exposed;
  };
  EXPECT_EQ(exposed(200), Us(200));
  EXPECT_EQ(exposed(140), 0);
  EXPECT_EQ(exposed(1), 0);
}

TEST(CriticalSweep, AnOperatorThatEndsWithAnOperationWaitedForIt) {
  // All that tells of a wait inside an operator 0..`end` is that it goes on as an all-reduce 0..1300 ends: within a
  // tenth of the wait, not more. Operators end all the time.
  const auto exposed = [](int64_t end) {
    return RowScript()
        .Step(1, 0, 2000)
        .Row("main", EventKind::kCpuOp, "aten::mm", 0, end)
        .Collective("pt_gloo_runloop", CommOp::kAllReduce, 0, 1300)
        .Row("main", EventKind::kCpuOp, "optimizer", end, 2000 - end)
        .Fold()
        .comms.instances.at(0)
        .exposed;
  };
  EXPECT_EQ(exposed(1420), Us(1300));
  EXPECT_EQ(exposed(1460), 0);
}

TEST(CriticalSweep, WorkBesideAMessageIsNoPartOfIt) {
  // gloo's rows of messages lie on the driving thread and are open until they are waited for. A send 100..900 that is
  // on its way beside a receive 110..300 and an operator 300..850: blocked 100..300 and in the end 50.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("main", EventKind::kCpuOp, "forward", 0, 95)
                            .Row("main", EventKind::kCommIssue, "c10d::send", 95, 10)
                            .Collective("main", CommOp::kSend, 100, 800)
                            .Collective("main", CommOp::kRecv, 110, 190)
                            .Row("main", EventKind::kCpuOp, "backward", 300, 550)
                            .Row("main", EventKind::kCpuOp, "matmul", 400, 200)
                            .Row("main", EventKind::kCpuOp, "optimizer", 900, 100)
                            .Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kCompute), Us(745));
  EXPECT_EQ(ClassTime(p, WorkClass::kHost), Us(5));  // of the call that sent it
  EXPECT_EQ(ClassTime(p, WorkClass::kCommunication), Us(250));
  EXPECT_EQ(OwnOf(p, "backward"), Us(350));
  EXPECT_EQ(OwnOf(p, "matmul"), Us(200));
  for (const pattern::FunctionName& f : *p.function_table) {
    if (f.name == "backward") EXPECT_EQ(f.parent, -1) << "as where nothing is on its way";
  }
  ExpectClassesFillSteps(p);
}

TEST(CriticalSweep, ExplicitWaitBeforeTheRunLoopBeginsBelongsToTheOperation) {
  // wait_tensor 100..900; the run loop gets to it only at 300: exposed from 100 on.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("main", EventKind::kCpuOp, "issue", 0, 100)
                            .Row("main", EventKind::kCommWait, "wait_tensor", 100, 800)
                            .Collective("pt_gloo_runloop", CommOp::kAllReduce, 300, 600)
                            .Fold();
  EXPECT_EQ(ClassTime(p, WorkClass::kCommunication), Us(800));
  EXPECT_EQ(p.comms.instances.at(0).exposed, Us(800));
  EXPECT_EQ(p.comms.instances.at(0).exposed_begin, Us(100));
}

// Two all-reduces are issued 100..130 and run on one thread, 110..900 and 890 from `second` on. After an operator
// 140..160 the script shows nothing until the optimizer, 10 after the second one ended.
RankPattern TwoOnOneThread(int64_t second) {
  return RowScript()
      .Step(1, 95, second + 855)
      .Row("main", EventKind::kPython, "train_step", 95, second + 855)
      .Row("main", EventKind::kCommIssue, "c10d::allreduce_", 100, 10)
      .Row("main", EventKind::kCommIssue, "c10d::allreduce_", 120, 10)
      .Row("main", EventKind::kCpuOp, "op", 140, 20)
      .Collective("pt_gloo_runloop", CommOp::kAllReduce, 110, 790)
      .Collective("pt_gloo_runloop", CommOp::kAllReduce, second, 890)
      .Row("main", EventKind::kCpuOp, "optimizer", second + 900, 50)
      .Fold();
}

TEST(CriticalSweep, WaitForAnOperationThatStoodInLine) {
  // It began 10 after the first one: the script waited for it 160..1800, not only since it began.
  const RankPattern p = TwoOnOneThread(910);
  EXPECT_EQ(ClassTime(p, WorkClass::kCommunication), Us(1640));
  EXPECT_EQ(p.comms.instances.at(1).exposed, Us(1640));
  ExpectClassesFillSteps(p);
}

TEST(CriticalSweep, WaitBeginsWithAnOperationThatStoodInNoLine) {
  // 200 lie between the two: nothing says that the second one had been issued before it began.
  const RankPattern p = TwoOnOneThread(1100);
  EXPECT_EQ(p.comms.instances.at(1).exposed, Us(890));
  ExpectClassesFillSteps(p);
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

TEST(CriticalSweep, WhatAThreadTakesUpAtOnceStoodInLineBehindTheOneBefore) {
  // On one run loop: 200..400, 500..600 (100 later), 701..800 (101 later), 790..900 (open together).
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Row("main", EventKind::kCpuOp, "op", 0, 1000)
                            .Collective("pt_gloo_runloop", CommOp::kAllReduce, 200, 200)
                            .Collective("pt_gloo_runloop", CommOp::kAllReduce, 500, 100)
                            .Collective("pt_gloo_runloop", CommOp::kAllReduce, 701, 99)
                            .Collective("pt_gloo_runloop", CommOp::kAllReduce, 790, 110)
                            .Fold();
  ASSERT_EQ(p.comms.instances.size(), 4U);
  const bool chained[] = {false, true, false, false};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(p.comms.instances[i].chained, chained[i]) << i;
}

}  // namespace
}  // namespace headway::pattern
