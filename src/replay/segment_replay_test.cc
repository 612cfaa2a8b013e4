// SPDX-License-Identifier: Apache-2.0
#include "replay/segment_replay.h"

#include <gtest/gtest.h>

namespace headway::replay {
namespace {

using graph::Mark;
using graph::MarkKind;
using graph::SegmentGraph;

// Two ranks, one collective: rank 0 works 10 and arrives, rank 1 works 30 and arrives; the transfer takes 5; both go on
// for 7. Ends: 30 + 5 + 7 = 42. Rank 0 is blocked from 10 to 35, rank 1 from 30 to 35.
SegmentGraph TwoRanks() {
  SegmentGraph g;
  g.marks = {{0, 0, 0, MarkKind::kStep},   {10, 0, 0, MarkKind::kArrive}, {0, 0, 0, MarkKind::kResume},
             {7, -1, 0, MarkKind::kEnd},   {0, 0, 0, MarkKind::kStep},    {30, 0, 0, MarkKind::kArrive},
             {0, 0, 0, MarkKind::kResume}, {7, -1, 0, MarkKind::kEnd}};
  g.chain_begin = {0, 4, 8};
  g.chain_start = {0, 0};
  g.collectives.resize(1);
  g.collectives[0].latest_arrival = 30;
  g.collectives[0].transfer = 5;
  g.order = {0};
  graph::IndexMembers(&g);
  return g;
}

TEST(SegmentReplay, CompletesAfterTheLatestArrival) {
  const SegmentGraph g = TwoRanks();
  const SegmentTimes t = ReplaySegments(g);
  EXPECT_EQ(t.end, (std::vector<Nanos>{42, 42}));
  EXPECT_EQ(t.blocked, (std::vector<Nanos>{25, 5}));
  EXPECT_EQ(t.Makespan(g), 42);
  EXPECT_EQ(t.order_violations, 0);
}

TEST(SegmentReplay, RemovingTheCulpritsExcess) {
  // Rank 1's 30 become 10: 10 + 5 + 7 = 22.
  SegmentEdit edit;
  edit.own.push_back({5, 10});
  const SegmentGraph g = TwoRanks();
  EXPECT_EQ(ReplaySegments(g, edit).Makespan(g), 22);
}

TEST(SegmentReplay, RemovingAVictimsWorkBringsNothing) {
  SegmentEdit edit;
  edit.own.push_back({1, 0});
  const SegmentGraph g = TwoRanks();
  EXPECT_EQ(ReplaySegments(g, edit).Makespan(g), 42);
}

TEST(SegmentReplay, FasterTransfer) {
  SegmentEdit edit;
  edit.transfers.push_back({0, 1});
  const SegmentGraph g = TwoRanks();
  EXPECT_EQ(ReplaySegments(g, edit).Makespan(g), 38);
}

TEST(SegmentReplay, EarlierEntry) {
  SegmentGraph g = TwoRanks();
  g.chain_start = {0, 20};  // rank 1 enters 20 later: arrives at 50, all end at 62
  EXPECT_EQ(ReplaySegments(g).Makespan(g), 62);
  SegmentEdit edit;
  edit.starts.push_back({1, 0});
  EXPECT_EQ(ReplaySegments(g, edit).Makespan(g), 42);
}

TEST(SegmentReplay, OverlappedCollectiveBlocksNobody) {
  // The same without resume marks: 10 + 7 and 30 + 7.
  SegmentGraph g = TwoRanks();
  g.marks = {{10, 0, 0, MarkKind::kArrive},
             {7, -1, 0, MarkKind::kEnd},
             {30, 0, 0, MarkKind::kArrive},
             {7, -1, 0, MarkKind::kEnd}};
  g.chain_begin = {0, 2, 4};
  graph::IndexMembers(&g);
  EXPECT_EQ(ReplaySegments(g).end, (std::vector<Nanos>{17, 37}));
}

TEST(SegmentReplay, LagOfALateEnder) {
  SegmentGraph g = TwoRanks();
  g.marks[2].lag = 3;  // rank 0 goes on 3 after the completion
  EXPECT_EQ(ReplaySegments(g).end, (std::vector<Nanos>{45, 42}));
}

TEST(SegmentReplay, EmptyGraph) {
  SegmentGraph g;
  g.chain_begin = {0};
  graph::IndexMembers(&g);
  EXPECT_EQ(ReplaySegments(g).Makespan(g), 0);
}

}  // namespace
}  // namespace headway::replay
