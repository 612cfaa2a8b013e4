// SPDX-License-Identifier: Apache-2.0
#include "graph/schedule.h"

#include <gtest/gtest.h>

#include "graph/made_graph.h"

namespace headway::graph {
namespace {

// Ranks 0 and 1 meet in collective 0, then 1 and 2 in collective 1; rank 1's chain goes on between them.
MadeGraph ThreeRanks() {
  MadeGraph made;
  made.chains = {
      {MakeMark(MarkKind::kStep, 0, 1, 0), MakeMark(MarkKind::kArrive, 0, 2, 0), MakeMark(MarkKind::kResume, 0, 0, 0),
       MakeMark(MarkKind::kEnd, 0, 3)},
      {MakeMark(MarkKind::kArrive, 1, 4, 0), MakeMark(MarkKind::kResume, 1, 0, 0), MakeMark(MarkKind::kStep, 1, 5, 1),
       MakeMark(MarkKind::kStep, 1, 6, 0), MakeMark(MarkKind::kArrive, 1, 7, 1), MakeMark(MarkKind::kEnd, 1, 8)},
      {MakeMark(MarkKind::kArrive, 2, 9, 1), MakeMark(MarkKind::kEnd, 2, 10)},
  };
  made.starts = {0, 0, 0};
  made.collectives = {SegmentCollective{}, SegmentCollective{}};
  made.order = {0, 1};
  return made;
}

std::vector<Nanos> Times(const SegmentGraph& graph) {
  std::vector<Nanos> times;
  for (const Mark& mark : graph.marks) times.push_back(mark.time);
  return times;
}

TEST(ScheduleMarks, EachMarkAfterWhatItWaitsFor) {
  // Up to collective 0: rank 0 and 1 to their arrivals. Up to collective 1: rank 1 on, rank 2. Then what is left.
  const SegmentGraph graph = ThreeRanks().Build();
  EXPECT_EQ(Times(graph), (std::vector<Nanos>{1, 2, 4, 0, 5, 6, 7, 9, 0, 3, 8, 10}));
}

TEST(ScheduleMarks, ChainsAndStepsAreFoundAgain) {
  const MadeGraph made = ThreeRanks();
  for (const int threads : {1, 4}) {
    const SegmentGraph graph = made.Build(threads);
    for (size_t r = 0; r < made.chains.size(); ++r) {
      ASSERT_EQ(graph.Chain(r).size(), made.chains[r].size());
      for (size_t i = 0; i < made.chains[r].size(); ++i) {
        EXPECT_EQ(graph.marks[graph.Chain(r)[i]].time, made.chains[r][i].time);
        EXPECT_EQ(graph.marks[graph.Chain(r)[i]].rank, r);
      }
    }
    EXPECT_EQ(graph.step_begin, (std::vector<size_t>{0, 1, 3, 3}));
    EXPECT_EQ(std::vector<uint32_t>(graph.step_at.begin(), graph.step_at.end()), (std::vector<uint32_t>{0, 3, 2}));
  }
}

TEST(ScheduleMarks, TheOrderOfCollectivesDecides) {
  // The other way round rank 1 runs through to its second arrival first, past a resume whose collective is not
  // complete.
  MadeGraph made = ThreeRanks();
  made.order = {1, 0};
  const SegmentGraph graph = made.Build();
  EXPECT_EQ(Times(graph), (std::vector<Nanos>{4, 0, 5, 6, 7, 9, 1, 2, 0, 3, 8, 10}));
  EXPECT_EQ(graph.marks[1].kind, MarkKind::kEarlyResume);
  EXPECT_EQ(graph.marks[8].kind, MarkKind::kResume);
}

TEST(ScheduleMarks, NothingAtAll) {
  const SegmentGraph graph = MadeGraph().Build();
  EXPECT_TRUE(graph.marks.empty());
  EXPECT_EQ(graph.chain_begin, (std::vector<size_t>{0}));
}

}  // namespace
}  // namespace headway::graph
