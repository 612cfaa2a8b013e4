// SPDX-License-Identifier: Apache-2.0
// Which ranks run the same program.
#include "diagnose/peers.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnose/made_mesh.h"
#include "diagnose/step_selection.h"

namespace headway::diagnose {
namespace {

// Ranks 0 and 1 exchange with ranks 2 and 3. In each step 0 sends to 2 and then gets an answer; between 1 and 3 the
// answer (to the step before) comes first, as their steps begin elsewhere. Rank 1 makes `more` all-reduces with 3.
std::vector<pattern::RankPattern> TwoPairs(int more = 0) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(10));
    mesh.Send(pp[0], 0, 1000, Ms(1));
    mesh.Send(pp[0], 2, 1000, Ms(1));
    mesh.Send(pp[1], 3, 1000, Ms(1));
    mesh.Send(pp[1], 1, 1000, Ms(1));
    for (int k = 0; k < more; ++k) mesh.Meet(pp[1], trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

std::vector<int32_t> Classes(const std::vector<int32_t>& stages, int more = 0) {
  std::vector<Coordinate> coordinates;
  for (const int32_t stage : stages) coordinates.push_back({.stage = stage});
  return PeerClasses(TwoPairs(more), coordinates);
}

using Numbers = std::vector<int32_t>;

TEST(Peers, OfOneStageTheFirstMessageOnlyTellsWhereStepsBegin) {
  EXPECT_EQ(Classes({0, 0, 1, 1}), (Numbers{0, 0, 1, 1}));
}

TEST(Peers, OfUnknownStagesTheFirstMessageTellsThemApart) {
  // Ranks 0 and 3 begin with a send, ranks 1 and 2 with a receive; both do one of each.
  EXPECT_EQ(Classes({-1, -1, -1, -1}), (Numbers{0, 1, 1, 0}));
}

TEST(Peers, StagesOfOneRankAreHeldAgainstOneAnother) { EXPECT_EQ(Classes({0, 1, 2, 3}), (Numbers{0, 1, 1, 0})); }

TEST(Peers, OfOneStageWhatARankDoesMoreOftenSetsItApart) { EXPECT_EQ(Classes({0, 0, 1, 1}, 1), (Numbers{0, 1, 2, 3})); }

TEST(Peers, OperationsOfStepsThatAPatternOnlyNumbersArePassedOver) {
  std::vector<pattern::RankPattern> ranks = TwoPairs();
  for (pattern::RankPattern& rank : ranks) {
    rank.comms.step_numbers.push_back(99);
    rank.comms.step_starts.push_back(rank.window_end);
    rank.comms.instances.back().step = static_cast<int32_t>(rank.steps.size());
    SelectSteps(0, 98, &rank);
    EXPECT_EQ(rank.comms.instances.back().step, -1);
    rank.comms.instances.back().step = static_cast<int32_t>(rank.steps.size()) + 100000;
  }
  EXPECT_EQ(PeerClasses(ranks, std::vector<Coordinate>(4)).size(), 4U);
}

}  // namespace
}  // namespace headway::diagnose
