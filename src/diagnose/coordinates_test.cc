// SPDX-License-Identifier: Apache-2.0
// Stages of pipelines that no description tells: from who sends to whom.
#include "diagnose/coordinates.h"

#include <gtest/gtest.h>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Pipelines of eight ranks each whose ranks send to the next one, `replicas` of them side by side. The last stage works
// twice as long.
std::vector<pattern::RankPattern> Pipelines(int replicas, const std::vector<int>& with_file) {
  const int ranks = 8 * replicas;
  MadeMesh mesh({.ranks = ranks});
  std::vector<MadeMesh::Members> pairs;
  for (int r = 0; r + replicas < ranks; ++r) pairs.push_back({r, r + replicas});
  const std::vector<int> next = mesh.Groups("", pairs);
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    for (int r = 0; r < ranks; ++r) {
      mesh.Compute(r, Ms(r + replicas < ranks ? 40 : 80));
      if (r + replicas < ranks) mesh.Send(next[static_cast<size_t>(r)], r, 1000, Ms(1));
    }
  }
  std::vector<pattern::RankPattern> all = mesh.Make(), some;
  for (const int r : with_file) some.push_back(std::move(all[static_cast<size_t>(r)]));
  return some;
}

std::vector<int> Stages(const Job& job) {
  std::vector<int> out;
  for (const Coordinate& c : job.coordinates) out.push_back(c.stage);
  return out;
}

TEST(Coordinates, StagesOfWholePipelinesAreNumbered) {
  const Look look(Pipelines(1, {0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(Stages(look.job), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(look.job.coordinates[7].stage_unnumbered);
}

// Without rank 3 its pipeline is two chains: 0 to 2, and 4 to 7. Rank 4 is at no stage that rank 0 is at.
TEST(Coordinates, PartsOfAPipelineThatMissesAStageAreNotTheSameStages) {
  const Look look(Pipelines(1, {0, 1, 2, 4, 5, 6, 7}));
  EXPECT_EQ(Stages(look.job), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  for (const Coordinate& c : look.job.coordinates) EXPECT_TRUE(c.stage_unnumbered);
}

// Two pipelines of the even and the odd ranks, both without their first stage: chains side by side share stages.
TEST(Coordinates, ReplicasSideBySideShareStages) {
  const Look look(Pipelines(2, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(Stages(look.job), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}));
}

TEST(Coordinates, AStageWithoutNumberIsNamedByItsRanks) {
  Look whole(Pipelines(1, {0, 1, 2, 3, 4, 5, 6, 7}));
  std::vector<Candidate> found = whole.Run(RunStageAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.stage, 7);
  EXPECT_EQ(found[0].finding.headline, "stage 7, rank 7 (host n0)");
  Look some(Pipelines(1, {2, 3, 4, 5, 6, 7}));
  found = some.Run(RunStageAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.stage, -1);
  EXPECT_EQ(found[0].finding.headline, "the stage of rank 7 (host n0)");
  EXPECT_EQ(found[0].finding.sentence.find("stage 5"), std::string::npos) << found[0].finding.sentence;
}

}  // namespace
}  // namespace headway::diagnose
