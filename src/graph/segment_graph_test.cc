// SPDX-License-Identifier: Apache-2.0
#include "graph/segment_graph.h"

#include <gtest/gtest.h>

#include <vector>

#include "graph/host_messages.h"

namespace headway::graph {
namespace {

using pattern::RankPattern;
using trace::CommOp;

constexpr Nanos kMs = kMillisecond;

struct Row {
  CommOp op;
  int start, end;                    // ms
  int exposed = 0, exposed_end = 0;  // ms
};

RankPattern Rank(const std::vector<Row>& rows, bool device = false) {
  RankPattern rank;
  rank.window_start = 0;
  rank.window_end = 90 * kMs;
  rank.comms.groups = {{.is_device = device}};
  for (const Row& row : rows) {
    rank.comms.instances.push_back({.start = row.start * kMs,
                                    .end = row.end * kMs,
                                    .exposed = row.exposed * kMs,
                                    .exposed_begin = (row.exposed_end - row.exposed) * kMs,
                                    .exposed_end = row.exposed_end * kMs,
                                    .op = row.op});
  }
  return rank;
}

// The k-th row of one rank with the k-th of the other, on one clock.
trace::JobComms Pairs(size_t count) {
  trace::JobComms comms;
  comms.groups = {{.ranks = {0, 1}, .is_p2p = true}};
  comms.clocks = {{.host = "a"}};
  comms.clock_of_rank = {0, 0};
  for (size_t k = 0; k < count; ++k) {
    const auto row = static_cast<int32_t>(k);
    comms.collectives.push_back({.group = 0, .ordinal = row, .op = CommOp::kSendRecv, .members = {{0, row}, {1, row}}});
  }
  return comms;
}

std::vector<Mark> Resumes(const SegmentGraph& graph, size_t rank) {
  std::vector<Mark> out;
  for (const uint32_t m : graph.Chain(rank)) {
    if (graph.marks[m].IsResume()) out.push_back(graph.marks[m]);
  }
  return out;
}

Nanos OwnOf(const SegmentGraph& graph, size_t rank) {
  Nanos own = 0;
  for (const uint32_t m : graph.Chain(rank)) own += graph.marks[m].Own();
  return own;
}

// Stage 0 sends at 10 and asks after that only at 80; meanwhile it waits from 20 to 50 for what stage 1 sends at 48 and
// works on from 50, with 12 ms between operations that count as exposed in the open send. Stage 1 has received at 12.
// The send was done at 12: it holds nobody, and of stage 0's 90 ms only the 30 in the receive are not its own.
TEST(SegmentGraph, AnOpenSendDoesNotBlock) {
  const std::vector<RankPattern> ranks{Rank({{CommOp::kSend, 10, 80, 12, 80}, {CommOp::kRecv, 20, 50, 30, 50}}),
                                       Rank({{CommOp::kRecv, 5, 12, 7, 12}, {CommOp::kSend, 48, 50, 2, 50}})};
  const SegmentGraph graph = BuildSegmentGraph(ranks, Pairs(2));
  EXPECT_EQ(graph.collectives[0].transfer, 2 * kMs);
  EXPECT_EQ(graph.collectives[1].transfer, 2 * kMs);
  EXPECT_EQ(OwnOf(graph, 0), 60 * kMs);
  const std::vector<Mark> resumes = Resumes(graph, 0);
  ASSERT_EQ(resumes.size(), 2u);
  EXPECT_EQ(resumes[0].target, 1);
  EXPECT_EQ(resumes[0].time, 0);
  EXPECT_EQ(resumes[1].target, 0);  // a condition still: nobody goes on before the send is done
  EXPECT_EQ(resumes[1].time, 0);    // 80 - 12 = 68 would hold stage 0 however early stage 1 sends
}

// The same rows on a device last as long as they take: 80 is where the send ends.
TEST(SegmentGraph, ADevicesRowsEndWhenTheyAreDone) {
  const std::vector<RankPattern> ranks{Rank({{CommOp::kSend, 10, 80, 12, 80}, {CommOp::kRecv, 20, 50, 30, 50}}, true),
                                       Rank({{CommOp::kRecv, 5, 12, 7, 12}, {CommOp::kSend, 48, 50, 2, 50}}, true)};
  const std::vector<Mark> resumes = Resumes(BuildSegmentGraph(ranks, Pairs(2)), 0);
  ASSERT_EQ(resumes.size(), 2u);
  EXPECT_EQ(resumes[1].time, 68 * kMs);
}

// A send and a receive are waited for together at 20 and both end at 60. The send was done at 22, the receive at 60;
// the time stands in the send's row. It was the receive that held the rank.
TEST(BlockedInMessages, TheLastToComeHoldsTheRank) {
  const std::vector<MessageRow> rows{{60 * kMs, 40 * kMs, 60 * kMs, 22 * kMs, kMs},
                                     {60 * kMs, 0, 20 * kMs, 60 * kMs, kMs}};
  const std::vector<Blocked> blocked = BlockedInMessages(rows);
  EXPECT_EQ(blocked[0].by, 1u);
  EXPECT_EQ(blocked[0].time, 40 * kMs);
  EXPECT_EQ(blocked[0].until, 60 * kMs);
  EXPECT_EQ(blocked[1].time, 0);
}

// Ten messages of 2 ms, seen by receivers that were blocked in them; in the eleventh both sides waited at 40 only, for
// something else: its rows say 30 ms.
TEST(HostMessages, WhatNobodySawTakesWhatItsLikeTake) {
  std::vector<Row> sends, receives;
  for (int k = 0; k < 10; ++k) {
    sends.push_back({CommOp::kSend, 100 * k + 10, 100 * k + 12});
    receives.push_back({CommOp::kRecv, 100 * k + 5, 100 * k + 12, 7, 100 * k + 12});
  }
  sends.push_back({CommOp::kSend, 1010, 1040});
  receives.push_back({CommOp::kRecv, 1005, 1040});
  std::vector<RankPattern> ranks{Rank(sends), Rank(receives)};
  for (RankPattern& rank : ranks) rank.window_end = 1100 * kMs;
  const SegmentGraph graph = BuildSegmentGraph(ranks, Pairs(11));
  for (size_t c = 0; c < 11; ++c) EXPECT_EQ(graph.collectives[c].transfer, 2 * kMs) << c;
}

}  // namespace
}  // namespace headway::graph
