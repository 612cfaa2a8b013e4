// SPDX-License-Identifier: Apache-2.0
// Two all-reduces of one stream, replayed. Times in microseconds; graph/made_stream.h has the rows.
#include <gtest/gtest.h>

#include "graph/made_graph.h"
#include "graph/made_stream.h"
#include "replay/makespan.h"
#include "replay/segment_replay.h"

namespace headway::replay {
namespace {

using graph::BuildSegmentGraph;
using graph::InUs;
using graph::MadeGraph;
using graph::MakeMark;
using graph::MakeOneStream;
using graph::MarkKind;
using graph::OneStream;
using graph::SegmentGraph;

TEST(ChainedReplay, UnchangedNothingMoves) {
  for (const bool chained : {true, false}) {
    for (const Nanos gap : {InUs(0), InUs(4)}) {
      OneStream given;
      given.gap = gap;
      given.chained = chained;
      const OneStream job = MakeOneStream(given);
      const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
      const SegmentTimes times = ReplaySegments(graph);
      EXPECT_EQ(times.end, (std::vector<Nanos>{InUs(75) + gap, InUs(75) + gap}));
      EXPECT_EQ(times.order_violations, 0);
      EXPECT_DOUBLE_EQ(CompareSteps(graph, times, job.ranks).max, 0);
    }
  }
}

TEST(ChainedReplay, AShorterFirstOneBringsTheSecondForward) {
  // The first takes 12 instead of 20: it ends at 42, the second at 62, all is done at 67. At 5: 35, 55; the ranks come
  // at 60 and are not blocked: 65.
  const OneStream job = MakeOneStream({});
  const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
  EXPECT_EQ(Makespan(graph, ReplaySegments(graph, {.transfers = {{0, InUs(12)}}})), InUs(67));
  EXPECT_EQ(Makespan(graph, ReplaySegments(graph, {.transfers = {{0, InUs(5)}}})), InUs(65));
}

TEST(ChainedReplay, WhatFollowsKeepsAsMuchOfItsLag) {
  // The second one begins 4 after the first; 2 are kept: it ends at 72 instead of 74.
  OneStream given;
  given.gap = InUs(4);
  const OneStream job = MakeOneStream(given);
  const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
  EXPECT_EQ(Makespan(graph, ReplaySegments(graph, {.transfers = {{0, InUs(20), 0.5}}})), InUs(77));
}

TEST(ChainedReplay, ALaterFirstOnePushesTheSecondBack) {
  // 45 instead of 20: 30 + 45 = 75, the second at 95, all done at 100.
  const OneStream job = MakeOneStream({});
  const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
  EXPECT_EQ(Makespan(graph, ReplaySegments(graph, {.transfers = {{0, InUs(45)}}})), InUs(100));
}

TEST(ChainedReplay, WhatItsRankBeganLateStaysWhereItIs) {
  // The second one was launched at 50 because the ranks came to it then: a shorter first one changes nothing.
  OneStream given;
  given.chained = false;
  const OneStream job = MakeOneStream(given);
  const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
  EXPECT_EQ(Makespan(graph, ReplaySegments(graph, {.transfers = {{0, InUs(5)}}})), InUs(75));
}

// The same by hand, in a unit of its own. The ranks work 10 and 30 until the first all-reduce (20 long: complete at
// 50), then until 60, and are blocked in the second one (also 20), which begins `lag` behind the end of the first one.
// Without a lag it completes at 70. After it 5 more: 75.
MadeGraph TwoOfOneStream(Nanos lag) {
  MadeGraph made;
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    made.chains.push_back({MakeMark(MarkKind::kStep, rank, 0, 0),
                           MakeMark(MarkKind::kArrive, rank, rank == 0 ? 10 : 30, 0),
                           MakeMark(MarkKind::kFollow, rank, lag, 0), MakeMark(MarkKind::kArrive, rank, 10, 1),
                           MakeMark(MarkKind::kWork, rank, rank == 0 ? 40 : 20),
                           MakeMark(MarkKind::kResume, rank, 0, 1), MakeMark(MarkKind::kEnd, rank, 5)});
  }
  made.starts = {0, 0};
  made.collectives = {{30, 20}, {50 + lag, 20}};  // latest arrival, transfer
  made.order = {0, 1};
  return made;
}

TEST(ChainedReplay, ALagBehindTheFirstIsKept) {
  // With a lag of 3 all is done at 50 + 3 + 20 + 5 = 78; with a first one of 15 at 45 + 3 + 20 + 5 = 73.
  const SegmentGraph g = TwoOfOneStream(3).Build();
  EXPECT_EQ(Makespan(g, ReplaySegments(g)), 78);
  EXPECT_EQ(Makespan(g, ReplaySegments(g, {.transfers = {{0, 15}}})), 73);
}

TEST(ChainedReplay, AnEarlierLastArriverBringsBothForward) {
  // Rank 1 works 10 instead of 30 before the first: complete at 30, the second at 50. Rank 1's own 10 + 10 + 20 = 40:
  // it resumes at 50 and ends at 55; rank 0's 60 decide for it: 65.
  const SegmentGraph g = TwoOfOneStream(0).Build();
  EXPECT_EQ(ReplaySegments(g).end, (std::vector<Nanos>{75, 75}));
  EXPECT_EQ(ReplaySegments(g, {.own = {{g.Chain(1)[1], 10}}}).end, (std::vector<Nanos>{65, 55}));
}

}  // namespace
}  // namespace headway::replay
