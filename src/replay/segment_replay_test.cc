// SPDX-License-Identifier: Apache-2.0
#include "replay/segment_replay.h"

#include <gtest/gtest.h>

namespace headway::replay {
namespace {

using graph::Mark;
using graph::MarkKind;
using graph::SegmentGraph;

Mark At(Nanos own, int32_t target, MarkKind kind) { return {.own = own, .target = target, .kind = kind}; }

// Two ranks, one collective: rank 0 works 10 and arrives, rank 1 works 30 and arrives; the transfer takes 5; both go on
// for 7. Ends: 30 + 5 + 7 = 42. Rank 0 is blocked from 10 to 35, rank 1 from 30 to 35.
SegmentGraph TwoRanks() {
  SegmentGraph g;
  g.marks = {At(0, 0, MarkKind::kStep),   At(10, 0, MarkKind::kArrive), At(0, 0, MarkKind::kResume),
             At(7, -1, MarkKind::kEnd),   At(0, 0, MarkKind::kStep),    At(30, 0, MarkKind::kArrive),
             At(0, 0, MarkKind::kResume), At(7, -1, MarkKind::kEnd)};
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
  g.marks = {At(10, 0, MarkKind::kArrive), At(7, -1, MarkKind::kEnd), At(30, 0, MarkKind::kArrive),
             At(7, -1, MarkKind::kEnd)};
  g.chain_begin = {0, 2, 4};
  graph::IndexMembers(&g);
  EXPECT_EQ(ReplaySegments(g).end, (std::vector<Nanos>{17, 37}));
}

TEST(SegmentReplay, LagOfALateEnder) {
  SegmentGraph g = TwoRanks();
  g.marks[2].lag = 3;  // rank 0 goes on 3 after the completion
  EXPECT_EQ(ReplaySegments(g).end, (std::vector<Nanos>{45, 42}));
}

// Two all-reduces of one stream on two ranks that compute without waiting for the first. The ranks work 10 and 30 until
// the first (20 long: complete at 50), then until 60, and are blocked in the second one (also 20). It was launched long
// before, at 20 and 40, so that it begins when the first one ends: it completes at 70. After it 5 more: 75.
SegmentGraph TwoOfOneStream() {
  SegmentGraph g;
  g.marks = {At(0, 0, MarkKind::kStep),    At(10, 0, MarkKind::kArrive), At(10, 1, MarkKind::kArrive),
             At(40, 1, MarkKind::kResume), At(5, -1, MarkKind::kEnd),    At(0, 0, MarkKind::kStep),
             At(30, 0, MarkKind::kArrive), At(10, 1, MarkKind::kArrive), At(20, 1, MarkKind::kResume),
             At(5, -1, MarkKind::kEnd)};
  g.marks[2].after = g.marks[7].after = 0;
  g.chain_begin = {0, 5, 10};
  g.chain_start = {0, 0};
  g.collectives.resize(2);
  g.collectives[0] = {.latest_arrival = 30, .transfer = 20};
  g.collectives[1] = {.latest_arrival = 50, .transfer = 20};
  g.order = {0, 1};
  graph::IndexMembers(&g);
  return g;
}

TEST(SegmentReplay, TheSecondOfAStreamBeginsWhenTheFirstEnds) {
  const SegmentGraph g = TwoOfOneStream();
  const SegmentTimes t = ReplaySegments(g);
  EXPECT_EQ(t.end, (std::vector<Nanos>{75, 75}));
  EXPECT_EQ(t.blocked, (std::vector<Nanos>{10, 10}));
  EXPECT_EQ(t.order_violations, 0);
}

TEST(SegmentReplay, AShorterFirstOneBringsTheSecondForward) {
  // The first takes 15: 30 + 15 = 45, the second until 65, all end at 70. At 5 the second is done at 55, before anybody
  // wants it (60): 65, and no faster.
  const SegmentGraph g = TwoOfOneStream();
  EXPECT_EQ(ReplaySegments(g, {.transfers = {{0, 15}}}).Makespan(g), 70);
  const SegmentTimes t = ReplaySegments(g, {.transfers = {{0, 5}}});
  EXPECT_EQ(t.end, (std::vector<Nanos>{65, 65}));
  EXPECT_EQ(t.blocked, (std::vector<Nanos>{0, 0}));
}

TEST(SegmentReplay, ALagBehindTheFirstIsKept) {
  // 3 pass between the end of the first and the begin of the second on both ranks: 50 + 3 + 20 + 5 = 78; with a first
  // one of 15 they still do: 45 + 3 + 20 + 5 = 73.
  SegmentGraph g = TwoOfOneStream();
  g.marks[2].lag = g.marks[7].lag = 3;
  EXPECT_EQ(ReplaySegments(g).Makespan(g), 78);
  EXPECT_EQ(ReplaySegments(g, {.transfers = {{0, 15}}}).Makespan(g), 73);
}

TEST(SegmentReplay, AnEarlierLastArriverBringsBothForward) {
  // Rank 1 works 10 instead of 30 before the first: complete at 30, the second at 50. Rank 1's own 10 + 10 + 20 = 40
  // and rank 0's 60 decide: rank 1 resumes at 50 and ends at 55, rank 0 at 60 + 5.
  const SegmentGraph g = TwoOfOneStream();
  EXPECT_EQ(ReplaySegments(g, {.own = {{6, 10}}}).end, (std::vector<Nanos>{65, 55}));
}

// Ranks 0 and 2 meet, and 1 and 3, but no rank of the one pair meets one of the other: [0, 42] and [100, 142].
SegmentGraph TwoParts() {
  SegmentGraph g;
  for (const Nanos own : {10, 10, 30, 30}) {
    const int32_t meeting = static_cast<int32_t>(g.chain_start.size() % 2);
    g.chain_begin.push_back(g.marks.size());
    g.chain_start.push_back(meeting == 0 ? 0 : 100);
    g.marks.push_back(At(own, meeting, MarkKind::kArrive));
    g.marks.push_back(At(0, meeting, MarkKind::kResume));
    g.marks.push_back(At(7, -1, MarkKind::kEnd));
  }
  g.chain_begin.push_back(g.marks.size());
  g.collectives = {{.latest_arrival = 30, .transfer = 5}, {.latest_arrival = 130, .transfer = 5}};
  g.order = {0, 1};
  graph::IndexMembers(&g);
  return g;
}

TEST(SegmentReplay, RanksThatNeverMeetArePartsOfTheirOwn) {
  const SegmentGraph g = TwoParts();
  const std::vector<int32_t> parts = PartsOf(g);
  EXPECT_EQ(parts, (std::vector<int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(PartsOf(TwoRanks()), (std::vector<int32_t>{0, 0}));
  // Rank 2's work is 30; at 12 its part takes 12 + 5 + 7, the other one as long as before; the whole ends at 142 still.
  const SegmentTimes before = ReplaySegments(g);
  EXPECT_EQ(before.Makespans(g, parts), (std::vector<Nanos>{42, 42}));
  const SegmentTimes after = ReplaySegments(g, {.own = {{6, 12}}});
  EXPECT_EQ(after.Makespans(g, parts), (std::vector<Nanos>{24, 42}));
  EXPECT_EQ(after.Makespan(g), 142);
}

TEST(SegmentReplay, AThirdMeetingJoinsTheParts) {
  SegmentGraph g = TwoParts();
  g.marks.insert(g.marks.begin() + 2, At(0, 2, MarkKind::kArrive));  // rank 0
  g.marks.insert(g.marks.begin() + 6, At(0, 2, MarkKind::kArrive));  // rank 1
  g.chain_begin = {0, 4, 8, 11, 14};
  g.collectives.push_back({.latest_arrival = 135, .transfer = 0});
  g.order = {0, 1, 2};
  graph::IndexMembers(&g);
  EXPECT_EQ(PartsOf(g), (std::vector<int32_t>{0, 0, 0, 0}));
}

TEST(SegmentReplay, EmptyGraph) {
  SegmentGraph g;
  g.chain_begin = {0};
  graph::IndexMembers(&g);
  EXPECT_EQ(ReplaySegments(g).Makespan(g), 0);
}

}  // namespace
}  // namespace headway::replay
