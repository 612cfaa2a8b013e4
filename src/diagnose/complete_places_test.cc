// SPDX-License-Identifier: Apache-2.0
// Ranks that belong to a finding by their place.
#include "diagnose/complete_places.h"

#include <gtest/gtest.h>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Stages of four ranks each: 0-3, 4-7, 8-11 …, six steps of 100 ms.
Look Stages(int stages) {
  MadeMesh mesh({.ranks = 4 * stages});
  std::vector<MadeMesh::Members> pipelines(4);
  for (int r = 0; r < 4 * stages; ++r) pipelines[static_cast<size_t>(r % 4)].push_back(r);
  const std::vector<int> pp = mesh.Groups("mesh_pp", pipelines);
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (const int g : pp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return Look(mesh.Make());
}

RankCandidates About(const std::vector<RankId>& ranks) {
  Candidate candidate;
  candidate.finding.cause = "slow-host-code";
  candidate.finding.scope.ranks = ranks;
  candidate.finding.scope.function = "bmm";
  candidate.finding.sentence = "Slow.";
  candidate.excess.assign(6, Ms(20));
  RankCandidates out;
  out.emplace_back(0, std::move(candidate));
  return out;
}

std::vector<RankId> Completed(int stages, const std::vector<RankId>& ranks, const std::set<size_t>& suspects) {
  const Look look = Stages(stages);
  RankCandidates candidates = About(ranks);
  CompletePlaces(look.job, suspects, &candidates);
  return candidates[0].second.finding.scope.ranks;
}

TEST(CompletePlaces, TheRankThatOneProgramLacksIsAdded) {
  // Places 0 and 1 of stages 0 and 2, and place 1 of stage 1: rank 4 is at place 0 there.
  const Look look = Stages(3);
  ASSERT_EQ(look.job.classes.size(), 3U);
  RankCandidates candidates = About({0, 1, 5, 8, 9});
  CompletePlaces(look.job, {4}, &candidates);
  const Candidate& candidate = candidates[0].second;
  EXPECT_EQ(candidate.finding.scope.ranks, (std::vector<RankId>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(candidate.finding.scope.function, "bmm");
  EXPECT_EQ(candidate.finding.sentence,
            "Slow. Rank 4, at the same place of another program, suffers from something else besides.");
  // 20 of its 100 ms go in each of six steps.
  Nanos less = 0;
  for (const auto& own : candidate.edit.own) less += look.job.graph.marks[own.mark].Own() - own.own;
  EXPECT_NEAR(static_cast<double>(less), 120e6, 1e5);
}

TEST(CompletePlaces, OnlyOneThatSuffersIs) {
  EXPECT_EQ(Completed(3, {0, 1, 5, 8, 9}, {7}), (std::vector<RankId>{0, 1, 5, 8, 9}));
}

TEST(CompletePlaces, TwoProgramsSayNothingOfPlaces) {
  EXPECT_EQ(Completed(2, {0, 1, 5}, {4}), (std::vector<RankId>{0, 1, 5}));
}

TEST(CompletePlaces, NorDoProgramsThatDisagree) {
  // Places 0 and 1, 1, 2 and 3: no two thirds agree.
  EXPECT_EQ(Completed(3, {0, 1, 5, 10, 11}, {4}), (std::vector<RankId>{0, 1, 5, 10, 11}));
}

TEST(CompletePlaces, TwoThatLackAreTwoCauses) {
  // Three places, of which stage 1 has one.
  EXPECT_EQ(Completed(3, {0, 1, 2, 6, 8, 9, 10}, {4, 5}), (std::vector<RankId>{0, 1, 2, 6, 8, 9, 10}));
}

}  // namespace
}  // namespace headway::diagnose
