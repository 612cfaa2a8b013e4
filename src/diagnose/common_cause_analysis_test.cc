// SPDX-License-Identifier: Apache-2.0
// What all ranks wait for their batches.
#include <gtest/gtest.h>

#include <vector>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

TEST(CommonCause, ABatchIsWaitedForBeforeAnythingElse) {
  // Each rank waits 40 ms for its batch and works 10 before they meet, and 50 behind that. Quicker batches take 40 off
  // the 50 before the meeting, nothing off those behind it.
  MadeMesh mesh({.ranks = 2});
  const int dp = mesh.Group("mesh_dp", {0, 1});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 2; ++r) mesh.Work(r, pattern::WorkClass::kInput, "next", Ms(40));
    mesh.ComputeAll(Ms(10));
    mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, Ms(1));
    mesh.ComputeAll(Ms(50));
    mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  const std::vector<Candidate> found = look.Run(RunCommonCauseAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "slow-input");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1}));
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Ms(40)));
  ASSERT_EQ(found[0].edit.own.size(), 12U);  // the first piece of each rank's steps
  for (const auto& change : found[0].edit.own) {
    EXPECT_NEAR(static_cast<double>(look.job.graph.marks[change.mark].Own()), 50e6, 1e4);
    EXPECT_NEAR(static_cast<double>(change.own), 10e6, 1e4);
  }
}

}  // namespace
}  // namespace headway::diagnose
