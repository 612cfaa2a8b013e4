// SPDX-License-Identifier: Apache-2.0
#include "replay/segment_replay.h"

#include <gtest/gtest.h>

#include "graph/made_graph.h"
#include "replay/makespan.h"

namespace headway::replay {
namespace {

using graph::MadeGraph;
using graph::MakeMark;
using graph::MarkKind;
using graph::SegmentGraph;

// Two ranks, one collective: rank 0 works 10 and arrives, rank 1 works 30 and arrives; the transfer takes 5; both go on
// for 7. Ends: 30 + 5 + 7 = 42. Rank 0 is blocked from 10 to 35, rank 1 from 30 to 35.
MadeGraph TwoRanks() {
  MadeGraph made;
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    made.chains.push_back({MakeMark(MarkKind::kStep, rank, 0, 0),
                           MakeMark(MarkKind::kArrive, rank, rank == 0 ? 10 : 30, 0),
                           MakeMark(MarkKind::kResume, rank, 0, 0), MakeMark(MarkKind::kEnd, rank, 7)});
  }
  made.starts = {0, 0};
  made.collectives = {{30, 5}};  // latest arrival, transfer
  made.order = {0};
  return made;
}

TEST(SegmentReplay, CompletesAfterTheLatestArrival) {
  const SegmentGraph g = TwoRanks().Build();
  const SegmentTimes t = ReplaySegments(g);
  EXPECT_EQ(t.end, (std::vector<Nanos>{42, 42}));
  EXPECT_EQ(t.blocked, (std::vector<Nanos>{25, 5}));
  EXPECT_EQ(Makespan(g, t), 42);
  EXPECT_EQ(t.order_violations, 0);
}

TEST(SegmentReplay, RemovingTheCulpritsExcess) {
  // Rank 1's 30 become 10: 10 + 5 + 7 = 22.
  const SegmentGraph g = TwoRanks().Build();
  SegmentEdit edit;
  edit.own.push_back({g.Chain(1)[1], 10});
  EXPECT_EQ(Makespan(g, ReplaySegments(g, edit)), 22);
}

TEST(SegmentReplay, RemovingAVictimsWorkBringsNothing) {
  const SegmentGraph g = TwoRanks().Build();
  SegmentEdit edit;
  edit.own.push_back({g.Chain(0)[1], 0});
  EXPECT_EQ(Makespan(g, ReplaySegments(g, edit)), 42);
}

TEST(SegmentReplay, EditsInAnyOrderAndTheLastOfAMarkHolds) {
  // Both work 20 and go on for 1 (rank 0) and 2 (rank 1): 20 + 5 + 2 = 27.
  const SegmentGraph g = TwoRanks().Build();
  SegmentEdit edit;
  edit.own = {{g.Chain(1)[3], 2}, {g.Chain(1)[1], 3}, {g.Chain(0)[3], 1}, {g.Chain(0)[1], 20}, {g.Chain(1)[1], 20}};
  EXPECT_EQ(ReplaySegments(g, edit).end, (std::vector<Nanos>{26, 27}));
}

TEST(SegmentReplay, FasterTransfer) {
  SegmentEdit edit;
  edit.transfers.push_back({0, 1});
  const SegmentGraph g = TwoRanks().Build();
  EXPECT_EQ(Makespan(g, ReplaySegments(g, edit)), 38);
}

TEST(SegmentReplay, EarlierEntry) {
  MadeGraph made = TwoRanks();
  made.starts = {0, 20};  // rank 1 enters 20 later: arrives at 50, all end at 62
  const SegmentGraph g = made.Build();
  EXPECT_EQ(Makespan(g, ReplaySegments(g)), 62);
  SegmentEdit edit;
  edit.starts.push_back({1, 0});
  EXPECT_EQ(Makespan(g, ReplaySegments(g, edit)), 42);
}

TEST(SegmentReplay, OverlappedCollectiveBlocksNobody) {
  // The same without resume marks: 10 + 7 and 30 + 7.
  MadeGraph made = TwoRanks();
  for (auto& chain : made.chains) chain.erase(chain.begin() + 2);
  EXPECT_EQ(ReplaySegments(made.Build()).end, (std::vector<Nanos>{17, 37}));
}

TEST(SegmentReplay, LagOfALateEnder) {
  MadeGraph made = TwoRanks();
  made.chains[0][2].time = 3;  // rank 0 goes on 3 after the completion
  EXPECT_EQ(ReplaySegments(made.Build()).end, (std::vector<Nanos>{45, 42}));
}

TEST(SegmentReplay, LagsThatAreKeptInPart) {
  // Rank 0 goes on 4 after the completion; of these a quarter is kept, and the transfer takes 2 for 5.
  MadeGraph made = TwoRanks();
  made.chains[0][2].time = 4;
  const SegmentGraph g = made.Build();
  EXPECT_EQ(ReplaySegments(g, {.transfers = {{0, 5}}}).end, (std::vector<Nanos>{46, 42}));
  EXPECT_EQ(ReplaySegments(g, {.transfers = {{0, 2, 0.25}}}).end, (std::vector<Nanos>{40, 39}));
}

TEST(SegmentReplay, ResumeBeforeTheLastArrivalIsTakenAsMeasured) {
  // Rank 1 resumes before it arrives: nothing replayed says when, so rank 0's measured arrival (30) and transfer (5)
  // do. It then works 30 more and 7: 35 + 37 = 72.
  MadeGraph made = TwoRanks();
  std::swap(made.chains[1][1], made.chains[1][2]);
  const SegmentTimes t = ReplaySegments(made.Build());
  EXPECT_EQ(t.order_violations, 1);
  EXPECT_EQ(t.end[1], 72);
}

TEST(SegmentReplay, ATimeBlockedAsMeasuredMovesWithItsRank) {
  // The same rank 1, 10 earlier: it is blocked for 35 from -10 on, and arrives at 55; all end at 55 + 5 + 7.
  MadeGraph made = TwoRanks();
  std::swap(made.chains[1][1], made.chains[1][2]);
  const SegmentGraph g = made.Build();
  SegmentEdit edit;
  edit.starts.push_back({1, -10});
  EXPECT_EQ(ReplaySegments(g, edit).end, (std::vector<Nanos>{67, 62}));
}

// Ranks 0 and 2 meet, and 1 and 3, but no rank of the one pair meets one of the other: [0, 42] and [100, 142].
MadeGraph TwoParts() {
  MadeGraph made;
  for (size_t rank = 0; rank < 4; ++rank) {
    const auto meeting = static_cast<int32_t>(rank % 2);
    made.chains.push_back({MakeMark(MarkKind::kArrive, rank, rank < 2 ? 10 : 30, meeting),
                           MakeMark(MarkKind::kResume, rank, 0, meeting), MakeMark(MarkKind::kEnd, rank, 7)});
  }
  made.starts = {0, 100, 0, 100};
  made.collectives = {{30, 5}, {130, 5}};
  made.order = {0, 1};
  return made;
}

TEST(SegmentReplay, RanksThatNeverMeetArePartsOfTheirOwn) {
  const SegmentGraph g = TwoParts().Build();
  const std::vector<int32_t> parts = PartsOf(g);
  EXPECT_EQ(parts, (std::vector<int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(PartsOf(TwoRanks().Build()), (std::vector<int32_t>{0, 0}));
  // Rank 2's work is 30; at 12 its part takes 12 + 5 + 7, the other one as long as before; the whole ends at 142 still.
  EXPECT_EQ(ReplaySegments(g).Makespans(g, parts), (std::vector<Nanos>{42, 42}));
  const SegmentTimes after = ReplaySegments(g, {.own = {{g.Chain(2)[0], 12}}});
  EXPECT_EQ(after.Makespans(g, parts), (std::vector<Nanos>{24, 42}));
  EXPECT_EQ(Makespan(g, after), 142);
}

TEST(SegmentReplay, AThirdMeetingJoinsTheParts) {
  MadeGraph made = TwoParts();
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    made.chains[rank].insert(made.chains[rank].begin() + 2, MakeMark(MarkKind::kArrive, rank, 0, 2));
  }
  made.collectives.push_back({135, 0});
  made.order = {0, 1, 2};
  EXPECT_EQ(PartsOf(made.Build()), (std::vector<int32_t>{0, 0, 0, 0}));
}

TEST(SegmentReplay, EmptyGraph) {
  const SegmentGraph g = MadeGraph().Build();
  EXPECT_EQ(Makespan(g, ReplaySegments(g)), 0);
}

}  // namespace
}  // namespace headway::replay
