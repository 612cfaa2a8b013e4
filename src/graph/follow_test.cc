// SPDX-License-Identifier: Apache-2.0
// Which of two operations had to wait for the other. src/replay/chained_replay_test.cc has what follows from it.
#include <gtest/gtest.h>

#include <optional>

#include "graph/made_stream.h"

namespace headway::graph {
namespace {

// What the arrival of a rank at a collective follows; nothing where its own time decides.
std::optional<Mark> FollowedBy(const SegmentGraph& graph, size_t rank, int32_t collective) {
  std::optional<Mark> before;
  for (const uint32_t m : graph.Chain(rank)) {
    const Mark& mark = graph.marks[m];
    if (mark.kind == MarkKind::kArrive && mark.target == collective) break;
    before = mark;
  }
  return before && before->kind == MarkKind::kFollow ? before : std::nullopt;
}

int32_t AfterOf(const OneStream& given, int32_t collective = 1) {
  const OneStream job = MakeOneStream(given);
  const std::optional<Mark> follow = FollowedBy(BuildSegmentGraph(job.ranks, job.comms), 0, collective);
  return follow ? follow->target : -1;
}

TEST(ChainedCalls, TheSecondWaitsForTheFirstOnEveryRank) {
  OneStream given;
  given.gap = InUs(4);
  const OneStream job = MakeOneStream(given);
  const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
  for (const size_t r : {size_t{0}, size_t{1}}) {
    EXPECT_FALSE(FollowedBy(graph, r, 0));
    const std::optional<Mark> follow = FollowedBy(graph, r, 1);
    ASSERT_TRUE(follow);
    EXPECT_EQ(follow->target, 0);
    EXPECT_EQ(follow->time, InUs(4));
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
