// SPDX-License-Identifier: Apache-2.0
// Two all-reduces of one stream, replayed. Times in microseconds; graph/made_stream.h has the rows.
#include <gtest/gtest.h>

#include "graph/made_stream.h"
#include "replay/segment_replay.h"

namespace headway::replay {
namespace {

using graph::BuildSegmentGraph;
using graph::InUs;
using graph::MakeOneStream;
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
      EXPECT_DOUBLE_EQ(CompareSteps(times, job.ranks).max, 0);
    }
  }
}

TEST(ChainedReplay, AShorterFirstOneBringsTheSecondForward) {
  // The first takes 12 instead of 20: it ends at 42, the second at 62, all is done at 67. At 5: 35, 55; the ranks come
  // at 60 and are not blocked: 65.
  const OneStream job = MakeOneStream({});
  const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
  EXPECT_EQ(ReplaySegments(graph, {.transfers = {{0, InUs(12)}}}).Makespan(graph), InUs(67));
  EXPECT_EQ(ReplaySegments(graph, {.transfers = {{0, InUs(5)}}}).Makespan(graph), InUs(65));
}

TEST(ChainedReplay, ALaterFirstOnePushesTheSecondBack) {
  // 45 instead of 20: 30 + 45 = 75, the second at 95, all done at 100.
  const OneStream job = MakeOneStream({});
  const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
  EXPECT_EQ(ReplaySegments(graph, {.transfers = {{0, InUs(45)}}}).Makespan(graph), InUs(100));
}

TEST(ChainedReplay, WhatItsRankBeganLateStaysWhereItIs) {
  // The second one was launched at 50 because the ranks came to it then: a shorter first one changes nothing.
  OneStream given;
  given.chained = false;
  const OneStream job = MakeOneStream(given);
  const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
  EXPECT_EQ(ReplaySegments(graph, {.transfers = {{0, InUs(5)}}}).Makespan(graph), InUs(75));
}

}  // namespace
}  // namespace headway::replay
