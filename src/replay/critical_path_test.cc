// SPDX-License-Identifier: Apache-2.0
#include "replay/critical_path.h"

#include <gtest/gtest.h>

#include "graph/made_graph.h"

namespace headway::replay {
namespace {

using graph::MadeGraph;
using graph::MakeMark;
using graph::MarkKind;
using Kind = PathPiece::Kind;

std::vector<std::tuple<Kind, Nanos, Nanos, size_t, int32_t>> Pieces(const MadeGraph& made) {
  std::vector<std::tuple<Kind, Nanos, Nanos, size_t, int32_t>> out;
  for (const PathPiece& p : CriticalPath(made.Build())) out.emplace_back(p.kind, p.start, p.end, p.rank, p.collective);
  return out;
}

// Rank 0 works 10, rank 1 works 30; the transfer takes 5; rank 0 goes on 2 after it and works 7, rank 1 works 3.
MadeGraph TwoRanks() {
  MadeGraph made;
  made.chains = {{MakeMark(MarkKind::kStep, 0, 0, 0), MakeMark(MarkKind::kArrive, 0, 10, 0),
                  MakeMark(MarkKind::kResume, 0, 2, 0), MakeMark(MarkKind::kEnd, 0, 7)},
                 {MakeMark(MarkKind::kStep, 1, 0, 0), MakeMark(MarkKind::kArrive, 1, 30, 0),
                  MakeMark(MarkKind::kResume, 1, 0, 0), MakeMark(MarkKind::kEnd, 1, 3)}};
  made.starts = {0, 0};
  made.collectives = {{30, 5}};
  made.order = {0};
  return made;
}

// Rank 0 ends last, at 44. It waited for the transfer, that for rank 1, which worked from the start.
TEST(CriticalPath, GoesBackToWhoArrivedLast) {
  EXPECT_EQ(Pieces(TwoRanks()), (decltype(Pieces(TwoRanks())){{Kind::kOwn, 0, 30, 1, -1},
                                                              {Kind::kTransfer, 30, 35, 1, 0},
                                                              {Kind::kResume, 35, 37, 0, 0},
                                                              {Kind::kOwn, 37, 44, 0, -1}}));
}

// Rank 0 works 40 beside the collective and comes back when it is long complete: nobody else is on the path.
TEST(CriticalPath, StaysWhereNothingWasWaitedFor) {
  MadeGraph made = TwoRanks();
  made.chains[0].insert(made.chains[0].begin() + 2, MakeMark(MarkKind::kWork, 0, 40));
  EXPECT_EQ(Pieces(made), (decltype(Pieces(made)){{Kind::kOwn, 0, 57, 0, -1}}));
}

// A second collective of the same stream, handed out at once, arrives when the first is complete (at 35) and takes 20.
TEST(CriticalPath, GoesOverOperationsOfOneStream) {
  MadeGraph made;
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    made.chains.push_back({MakeMark(MarkKind::kArrive, rank, rank == 0 ? 10 : 30, 0),
                           MakeMark(MarkKind::kFollow, rank, 0, 0), MakeMark(MarkKind::kArrive, rank, 1, 1),
                           MakeMark(MarkKind::kResume, rank, 0, 1), MakeMark(MarkKind::kEnd, rank, 4)});
  }
  made.starts = {0, 0};
  made.collectives = {{30, 5}, {35, 20}};
  made.order = {0, 1};
  EXPECT_EQ(Pieces(made), (decltype(Pieces(made)){{Kind::kOwn, 0, 30, 1, -1},
                                                  {Kind::kTransfer, 30, 35, 1, 0},
                                                  {Kind::kTransfer, 35, 55, 0, 1},
                                                  {Kind::kOwn, 55, 59, 0, -1}}));
}

// The last member has no trace: until 50 rank 0 waits for somebody unknown.
TEST(CriticalPath, SaysWhereNobodyKnows) {
  MadeGraph made;
  made.chains = {{MakeMark(MarkKind::kArrive, 0, 10, 0), MakeMark(MarkKind::kEarlyResume, 0, 0, 0),
                  MakeMark(MarkKind::kEnd, 0, 7)}};
  made.starts = {0};
  made.collectives = {{45, 5}};
  made.order = {0};
  EXPECT_EQ(Pieces(made), (decltype(Pieces(made)){
                              {Kind::kOwn, 0, 10, 0, -1}, {Kind::kWait, 10, 50, 0, 0}, {Kind::kOwn, 50, 57, 0, -1}}));
}

TEST(CriticalPath, OfNothing) { EXPECT_TRUE(Pieces({}).empty()); }

}  // namespace
}  // namespace headway::replay
