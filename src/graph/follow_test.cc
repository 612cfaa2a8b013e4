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

TEST(ChainedCalls, AHostsThreadTakesLongerToTakeUpTheNextOne) {
  const auto after = [](int64_t gap) { return AfterOf({.gap = InUs(gap), .is_device = false}); };
  EXPECT_EQ(after(25), 0);
  EXPECT_EQ(after(100), 0);
  EXPECT_EQ(after(101), -1);
}

TEST(ChainedCalls, WhatHasNoCounterpartsHoldsNobodyUp) {
  OneStream given;
  given.is_paired = false;  // so the second one is collective 0
  EXPECT_EQ(AfterOf(given, 0), -1);
}

// The rows of two ranks whose backend works on one group with two threads: 0..100, 30..130, 100..200, 130..230.
OneStream TwoThreads() {
  OneStream job;
  for (int r = 0; r < 2; ++r) {
    pattern::RankPattern p;
    p.comms.groups = {{.is_device = false}};
    p.comms.instances = {RowFrom(0, 100), RowFrom(30, 130), RowFrom(100, 200), RowFrom(130, 230)};
    p.comms.instances[2].chained = p.comms.instances[3].chained = true;
    pattern::Step step;
    step.end = p.window_end = InUs(240);
    p.steps = {step};
    job.ranks.push_back(std::move(p));
  }
  for (int32_t i = 0; i < 4; ++i) job.comms.collectives.push_back({.group = 0, .members = {{0, i}, {1, i}}});
  job.comms.groups.resize(1);
  job.comms.clocks.resize(1);
  job.comms.clock_of_rank = {0, 0};
  return job;
}

TEST(ChainedCalls, OfThreadsThatTakeTurnsEachWaitsForItsOwn) {
  const OneStream job = TwoThreads();
  const SegmentGraph graph = BuildSegmentGraph(job.ranks, job.comms);
  for (const int32_t collective : {2, 3}) {
    const std::optional<Mark> follow = FollowedBy(graph, 0, collective);
    ASSERT_TRUE(follow) << collective;
    EXPECT_EQ(follow->target, collective - 2);
    EXPECT_EQ(follow->time, 0);
  }
}

}  // namespace
}  // namespace headway::graph
