// SPDX-License-Identifier: Apache-2.0
// What one rank shows of a program that launches too much.
#include "diagnose/launch_bound.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Four ranks of one program; in each of four steps rank r launches launches[r] kernels.
Job Ranks(const std::vector<int64_t>& launches) {
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(10));
    for (int r = 0; r < 4; ++r) mesh.StepOf(r).launches = static_cast<int32_t>(launches[static_cast<size_t>(r)]);
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return JoinJob(mesh.Make());
}

std::pair<size_t, Candidate> Found(size_t rank, const std::string& cause, std::vector<Nanos> excess) {
  Candidate candidate;
  candidate.finding.cause = cause;
  candidate.finding.sentence = "It waits.";
  candidate.finding.scope.ranks = {static_cast<RankId>(rank)};
  candidate.excess = std::move(excess);
  return {rank, candidate};
}

TEST(LaunchBound, IsTheProgramsWhereAllLaunchAsMuch) {
  const Job job = Ranks({100, 102, 100, 98});
  RankCandidates found{Found(1, "launch-bound", {0, 0, Ms(3), Ms(3)}), Found(3, "slow-device", {Ms(1), 0, 0, 0}),
                       Found(2, "launch-bound", {0, Ms(2), Ms(2), 0})};
  WidenLaunchBound(job, &found);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].second.finding.scope.ranks, (std::vector<RankId>{0, 1, 2, 3}));
  EXPECT_EQ(found[0].second.excess, (std::vector<Nanos>{0, Ms(2), Ms(3), Ms(3)}));
  EXPECT_NE(found[0].second.finding.sentence.find("It shows on ranks 1, 2; the others"), std::string::npos);
  EXPECT_EQ(found[1].second.finding.scope.ranks, (std::vector<RankId>{3}));
}

TEST(LaunchBound, IsTheRanksWhereItLaunchesMore) {
  RankCandidates found{Found(1, "launch-bound", {0, 0, Ms(3), Ms(3)})};
  WidenLaunchBound(Ranks({100, 110, 100, 98}), &found);
  EXPECT_EQ(found[0].second.finding.scope.ranks, (std::vector<RankId>{1}));
  EXPECT_EQ(found[0].second.finding.sentence, "It waits.");
}

}  // namespace
}  // namespace headway::diagnose
