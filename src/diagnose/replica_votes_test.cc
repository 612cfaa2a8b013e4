// SPDX-License-Identifier: Apache-2.0
// Replicas whose stages agree on which of them is the longest.
#include "diagnose/replica_votes.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "diagnose/made_mesh.h"
#include "diagnose/moving_imbalance.h"

namespace headway::diagnose {
namespace {

constexpr int kReplicas = 4, kSteps = 15;

// Four replicas of two stages on processors, each stage on a host: ranks r and r + 4. A step is 100 ms of work that
// varies by +-4 from rank to rank and step to step, and what `more(replica, stage, step)` adds.
Look Make(const std::function<Nanos(int, int, int)>& more, int per_host = kReplicas) {
  MadeMesh mesh({.ranks = 2 * kReplicas, .per_host = per_host, .device = false});
  mesh.Groups("mesh_pp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  mesh.Groups("mesh_dp", {{0, 1, 2, 3}, {4, 5, 6, 7}});
  const std::vector<int> next = mesh.Groups("next", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < kSteps; ++s) {
    mesh.Step();
    for (int r = 0; r < 2 * kReplicas; ++r) {
      const int replica = r % kReplicas, stage = r / kReplicas;
      mesh.Compute(r, Ms(100) + Ms((r * 7 + s * 5) % 9 - 4) + more(replica, stage, s));
    }
    for (int k = 0; k < kReplicas; ++k) mesh.Send(next[static_cast<size_t>(k)], k, 1000, Us(100));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return Look(mesh.Make());
}

// One replica gets 10 ms more in each step: 1, 2, 3, 0, 1, …
Nanos Moving(int replica, int /*stage*/, int step) { return (step + 1) % kReplicas == replica ? Ms(10) : 0; }

std::vector<Suspect> Strike(Look* look) { return StrikeByVote(look->In(), SiblingsOfReplicas(look->job)); }

TEST(ReplicaVotes, StagesAgreeOnTheReplica) {
  // 10 ms less 4 are still longer than 4: every stage names the one that got more, in 15 of 15 steps.
  Look look = Make(Moving);
  const std::vector<Suspect> struck = Strike(&look);
  ASSERT_EQ(struck.size(), 8U);
  for (const Suspect& suspect : struck) {
    for (size_t s = 0; s < kSteps; ++s) {
      EXPECT_EQ(suspect.cost[s] > 0, (s + 1) % kReplicas == suspect.rank % kReplicas) << suspect.rank << " " << s;
    }
  }
}

TEST(ReplicaVotes, AgreeFromTheStepOnInWhichItSetsIn) {
  // In nine of fifteen steps; by chance two stages agree in one of four, 3.75 steps give or take 1.7.
  const auto from = [](int onset) {
    return [onset](int replica, int stage, int step) { return step < onset ? Nanos{0} : Moving(replica, stage, step); };
  };
  Look look = Make(from(6));
  const std::vector<Suspect> struck = Strike(&look);
  EXPECT_EQ(struck.size(), 8U);
  for (const Suspect& suspect : struck) EXPECT_GT(suspect.cost[6 + (suspect.rank % 4 + 1) % 4], 0) << suspect.rank;
  Look late = Make(from(12));
  EXPECT_TRUE(Strike(&late).empty());
}

TEST(ReplicaVotes, AreAFindingThoughNoRankStandsOut) {
  Look look = Make(Moving);
  const std::optional<MovingImbalance> found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->candidate.finding.cause, "data-imbalance");
  EXPECT_EQ(found->candidate.finding.headline, "another replica in each step");
  EXPECT_FALSE(found->candidate.at_most_info);
}

TEST(ReplicaVotes, ChanceAloneAgreesSeldom) {
  Look look = Make([](int, int, int) { return Nanos{0}; });
  EXPECT_TRUE(Strike(&look).empty());
}

TEST(ReplicaVotes, StagesThatGetMoreEachForItselfDisagree) {
  Look look = Make([](int replica, int stage, int step) { return Moving(replica, stage, step + stage); });
  EXPECT_TRUE(Strike(&look).empty());
}

TEST(ReplicaVotes, OfReplicasThatAreAsLongNoneIsTheLongest) {
  // The first stage takes exactly 100 ms everywhere and has nothing to vote for; the second one alone names replica 0.
  MadeMesh mesh({.ranks = 8, .per_host = 4, .device = false});
  mesh.Groups("mesh_pp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  const std::vector<int> next = mesh.Groups("next", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  for (int s = 0; s < kSteps; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    if (s % 4 != 0) mesh.Compute(kReplicas, Ms(10));
    for (int k = 0; k < kReplicas; ++k) mesh.Send(next[static_cast<size_t>(k)], k, 1000, Us(100));
  }
  Look look(mesh.Make());
  EXPECT_TRUE(Strike(&look).empty());
}

TEST(ReplicaVotes, OneReplicaThatIsAlwaysLongerDoesNotMove) {
  Look look = Make([](int replica, int, int step) { return replica == 2 && step % 4 != 0 ? Ms(10) : 0; });
  EXPECT_FALSE(FindMovingImbalance(look.In()).has_value());
}

}  // namespace
}  // namespace headway::diagnose
