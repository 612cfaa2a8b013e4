// SPDX-License-Identifier: Apache-2.0
// Operations of host backends: run loops, messages and who waits for them. Every expected figure is worked out beside
// the rows it comes from. Times in microseconds.
#include <gtest/gtest.h>

#include <vector>

#include "pattern/fold_checks.h"
#include "pattern/row_script.h"

namespace headway::pattern {
namespace {

using trace::CommOp;
using trace::EventKind;

TEST(HostBackend, HostBackendWaitIsAHoleWhileTheRunLoopWorks) {
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

TEST(HostBackend, AMomentBetweenTwoOperatorsIsNoWait) {
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

TEST(HostBackend, AnOperatorThatEndsWithAnOperationWaitedForIt) {
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

TEST(HostBackend, WorkBesideAMessageIsNoPartOfIt) {
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
    if (f.name == "backward") {
      EXPECT_EQ(f.parent, -1) << "as where nothing is on its way";
    }
  }
  ExpectClassesFillSteps(p);
}

TEST(HostBackend, TheCallThatSendsAMessageKnowsToWhom) {
  // To 3 a send 100..900 from the call 95..105 and, while it is open, to 1 a receive 115..900 from 110..120. A receive
  // 130..900 without a call of its own is nobody's, whatever is open, and so is one in a call that sends.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Message("c10d::send", CommOp::kSend, 3, 95, 10)
                            .Collective("main", CommOp::kSend, 100, 800)
                            .Message("c10d::recv_", CommOp::kRecv, 1, 110, 10)
                            .Collective("main", CommOp::kRecv, 115, 785)
                            .Collective("main", CommOp::kRecv, 130, 770)
                            .Message("c10d::send", CommOp::kSend, 3, 140, 10)
                            .Collective("main", CommOp::kRecv, 145, 755)
                            .Fold();
  std::vector<int32_t> peers;
  for (const trace::CommInstance& row : p.comms.instances) peers.push_back(row.peer);
  EXPECT_EQ(peers, (std::vector<int32_t>{3, 1, -1, -1}));
}

TEST(HostBackend, ACallThatSeemsOverAsItsMessageBeginsKnowsItsPeer) {
  // Of times cut to whole microseconds: calls 95..105, 110..120 and 130..140 end 0, 2 and 3 before a message's row
  // begins. That of 150..160 has its row inside: another, as it ends, is not its own.
  const RankPattern p = RowScript()
                            .Step(1, 0, 1000)
                            .Message("c10d::send", CommOp::kSend, 3, 95, 10)
                            .Collective("main", CommOp::kSend, 105, 795)
                            .Message("c10d::recv_", CommOp::kRecv, 1, 110, 10)
                            .Collective("main", CommOp::kRecv, 122, 778)
                            .Message("c10d::recv_", CommOp::kRecv, 1, 130, 10)
                            .Collective("main", CommOp::kRecv, 143, 757)
                            .Message("c10d::send", CommOp::kSend, 3, 150, 10)
                            .Collective("main", CommOp::kSend, 155, 745)
                            .Collective("main", CommOp::kSend, 160, 740)
                            .Fold();
  std::vector<int32_t> peers;
  for (const trace::CommInstance& row : p.comms.instances) peers.push_back(row.peer);
  EXPECT_EQ(peers, (std::vector<int32_t>{3, 1, -1, 3, -1}));
}

TEST(HostBackend, ExplicitWaitBeforeTheRunLoopBeginsBelongsToTheOperation) {
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

TEST(HostBackend, WaitForAnOperationThatStoodInLine) {
  // It began 10 after the first one: the script waited for it 160..1800, not only since it began.
  const RankPattern p = TwoOnOneThread(910);
  EXPECT_EQ(ClassTime(p, WorkClass::kCommunication), Us(1640));
  EXPECT_EQ(p.comms.instances.at(1).exposed, Us(1640));
  ExpectClassesFillSteps(p);
}

TEST(HostBackend, WaitBeginsWithAnOperationThatStoodInNoLine) {
  // 200 lie between the two: nothing says that the second one had been issued before it began.
  const RankPattern p = TwoOnOneThread(1100);
  EXPECT_EQ(p.comms.instances.at(1).exposed, Us(890));
  ExpectClassesFillSteps(p);
}

TEST(HostBackend, WhatAThreadTakesUpAtOnceStoodInLineBehindTheOneBefore) {
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
