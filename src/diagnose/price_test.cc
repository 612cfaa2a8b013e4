// SPDX-License-Identifier: Apache-2.0
// What removing a cause brings, where a job falls into parts that could not be joined.
#include "diagnose/price.h"

#include <gtest/gtest.h>

#include "diagnose/made_mesh.h"
#include "diagnose/own_edit.h"

namespace headway::diagnose {
namespace {

// Pairs {0, 1} and {2, 3} that never meet; the second pair's files begin half a second later. A step is 100 ms and an
// all-reduce of 1 ms; rank 1 takes `more` ms more, and rank 3 `other`.
Job TwoParts(Nanos more, Nanos other = 0) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> dp = mesh.Groups("mesh_dp", {{0, 1}, {2, 3}});
  for (const int r : {2, 3}) mesh.Delay(r, Ms(500));
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Compute(1, more);
    mesh.Compute(3, other);
    for (const int g : dp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return JoinJob(mesh.Make());
}

Candidate SlowRank(const Job& job, size_t rank, size_t peer, Nanos by) {
  Candidate candidate;
  candidate.finding.id = "slow-" + std::to_string(rank);
  candidate.finding.scope.ranks = {static_cast<RankId>(rank)};
  candidate.excess.assign(job.num_steps(), by);
  RemoveOwnTime(job, rank, {peer}, candidate.excess, &candidate.edit);
  return candidate;
}

TEST(Price, APartIsPricedByItsOwnLength) {
  // The whole ends when the second pair does, whatever rank 1 costs the first one: 20 ms a step.
  const Job job = TwoParts(Ms(20));
  EXPECT_EQ(replay::PartsOf(job.graph), (std::vector<int32_t>{0, 0, 1, 1}));
  EXPECT_DOUBLE_EQ(job.replay_error.max, 0);
  const Priced priced = PriceCandidates(job, {SlowRank(job, 1, 0, Ms(20))});
  ASSERT_EQ(priced.findings.size(), 1U);
  EXPECT_NEAR(static_cast<double>(priced.findings[0].recoverable_per_step), 20e6, 10);
  EXPECT_EQ(priced.findings[0].victims, (std::vector<RankId>{0}));
  EXPECT_NEAR(static_cast<double>(priced.all_removed_per_step), 20e6, 10);
}

// Steps of 101 ms in one part and of 1,101 in the other: the job's are 601 in the mean, and no more can be won.
TEST(Price, APartCannotBringMoreThanTheMeanStep) {
  const Job job = TwoParts(0, Ms(1000));
  const Priced priced = PriceCandidates(job, {SlowRank(job, 3, 2, Ms(1000))});
  ASSERT_EQ(priced.findings.size(), 1U);
  EXPECT_NEAR(static_cast<double>(priced.findings[0].recoverable_per_step), 601e6, 1e6);
  EXPECT_NEAR(static_cast<double>(priced.all_removed_per_step), 601e6, 1e6);
}

TEST(Price, OfTwoPartsTheOneThatGainsMostCounts) {
  // Alone 20 and 30; both together 30, as the parts wait for one another unseen. The first brings nothing beyond the
  // second: (20 + 0) / 2; the second (30 + 10) / 2.
  const Job job = TwoParts(Ms(20), Ms(30));
  const Priced priced = PriceCandidates(job, {SlowRank(job, 1, 0, Ms(20)), SlowRank(job, 3, 2, Ms(30))});
  ASSERT_EQ(priced.findings.size(), 2U);
  EXPECT_EQ(priced.findings[0].id, "slow-3");
  EXPECT_NEAR(static_cast<double>(priced.findings[0].recoverable_per_step), 20e6, 10);
  EXPECT_NEAR(static_cast<double>(priced.findings[1].recoverable_per_step), 10e6, 10);
  EXPECT_NEAR(static_cast<double>(priced.all_removed_per_step), 30e6, 10);
}

TEST(Price, ALastingRemarkOnDevicesNeedsAQuarterOfAPerCentWhereItIsClear) {
  // 0.3 ms of steps of 101: below half a per cent. Six times the noise it is worth a remark, three times it is not.
  const Job job = TwoParts(Us(300));
  const auto told = [&](Nanos noise) {
    Candidate candidate = SlowRank(job, 1, 0, Us(300));
    candidate.noise = noise;
    return PriceCandidates(job, {candidate}).findings.size();
  };
  EXPECT_EQ(told(Us(50)), 1U);
  EXPECT_EQ(told(Us(100)), 0U);
}

TEST(Price, OfOneTransferTheShortestAndTheLeastLagHold) {
  // Rank 0 goes on 1 ms after both have come, rank 1 after 3 ms, and makes the other wait: 103 ms a step. One cause are
  // the 2 ms between the ends, the other half of the 1 ms. Together they are 2.5: the first is worth 2 either way.
  MadeMesh mesh({.ranks = 2});
  const int dp = mesh.Group("mesh_dp", {0, 1});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, {Ms(1), Ms(3)});
  }
  const Job job = JoinJob(mesh.Make());
  Candidate lag, transfer;
  lag.finding.id = "lag";
  transfer.finding.id = "transfer";
  for (Candidate* candidate : {&lag, &transfer}) {
    candidate->finding.scope.ranks = {1};
    candidate->excess.assign(job.num_steps(), Ms(2));
  }
  for (int32_t c = 0; c < 6; ++c) {
    lag.edit.transfers.push_back({c, Ms(1), 0});
    transfer.edit.transfers.push_back({c, Us(500), 1});
  }
  const Priced priced = PriceCandidates(job, {lag, transfer});
  ASSERT_FALSE(priced.findings.empty());
  EXPECT_EQ(priced.findings[0].id, "lag");
  // The last of six steps ends where its first member goes on.
  EXPECT_NEAR(static_cast<double>(priced.findings[0].recoverable_per_step), 2e6, 0.4e6);
}

}  // namespace
}  // namespace headway::diagnose
