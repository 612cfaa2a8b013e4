// SPDX-License-Identifier: Apache-2.0
// Which of two operations had to wait for the other. src/replay/chained_replay_test.cc has what follows from it.
#include "graph/chained_calls.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/made_stream.h"

namespace headway::graph {
namespace {

const Mark& ArrivalOf(const SegmentGraph& graph, size_t rank, int32_t collective) {
  const auto chain = graph.Chain(rank);
  return *std::find_if(chain.begin(), chain.end(),
                       [&](const Mark& mark) { return mark.kind == MarkKind::kArrive && mark.target == collective; });
}

int32_t AfterOf(const OneStream& given, int32_t collective = 1) {
  const OneStream job = MakeOneStream(given);
  return ArrivalOf(BuildSegmentGraph(job.ranks, job.comms), 0, collective).after;
}

TEST(ChainedCalls, TheSecondWaitsForTheFirstOnEveryRank) {
  OneStream given;
  given.gap = InUs(4);
  const OneStream job = MakeOneStream(given);
  const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
  for (const size_t r : {0U, 1U}) {
    EXPECT_EQ(ArrivalOf(graph, r, 0).after, -1);
    EXPECT_EQ(ArrivalOf(graph, r, 1).after, 0);
    EXPECT_EQ(ArrivalOf(graph, r, 1).lag, InUs(4));
  }
}

TEST(ChainedCalls, WhatWasLaunchedLateBeginsWhenItsRankComes) {
  OneStream given;
  given.chained = false;
  EXPECT_EQ(AfterOf(given), -1);
}

TEST(ChainedCalls, OtherStreamsAndLongGapsAreNoChain) {
  OneStream other;
  other.same_stream = false;
  EXPECT_EQ(AfterOf(other), -1);
  OneStream far;
  far.gap = InUs(25);
  EXPECT_EQ(AfterOf(far), -1);
}

TEST(ChainedCalls, WhatHasNoCounterpartsHoldsNobodyUp) {
  OneStream given;
  given.is_paired = false;  // so the second one is collective 0
  EXPECT_EQ(AfterOf(given, 0), -1);
}

}  // namespace
}  // namespace headway::graph
