// SPDX-License-Identifier: Apache-2.0
// Which ranks one cause may strike together.
#include "diagnose/siblings.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "diagnose/made_mesh.h"
#include "diagnose/moving_imbalance.h"

namespace headway::diagnose {
namespace {

// Two tensor-parallel ranks a stage, two stages, `replicas` of that: ranks 2 r and 2 r + 1 are stage 0 of replica r,
// the second half of the ranks is stage 1. A step is 100 ms of kernels and what `more(replica, step)` adds, on all
// four.
std::vector<pattern::RankPattern> Pipelines(int replicas, const std::function<Nanos(int, int)>& more) {
  const int half = 2 * replicas;
  MadeMesh mesh({.ranks = 2 * half});
  std::vector<std::vector<int>> tp, pp, dp;
  for (int r = 0; r < 2 * half; r += 2) tp.push_back({r, r + 1});
  for (int r = 0; r < half; ++r) pp.push_back({r, r + half});
  for (const int first : {0, 1, half, half + 1}) {
    dp.emplace_back();
    for (int k = 0; k < replicas; ++k) dp.back().push_back(first + 2 * k);
  }
  const std::vector<int> tps = mesh.Groups("mesh_tp", tp), pps = mesh.Groups("mesh_pp", pp);
  const std::vector<int> dps = mesh.Groups("mesh_dp", dp);
  for (int s = 0; s < 9; ++s) {
    mesh.Step();
    for (int r = 0; r < 2 * half; ++r) mesh.Compute(r, Ms(100) + more(r % half / 2, s));
    for (const int g : tps) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
    for (size_t k = 0; k < pps.size(); ++k) mesh.Send(pps[k], pp[k][0], 1000, Ms(1));
    for (const int g : dps) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

std::vector<pattern::RankPattern> Healthy(int replicas) {
  return Pipelines(replicas, [](int, int) { return Nanos{0}; });
}

TEST(Siblings, ReplicasHoldAllStages) {
  const Job job = JoinJob(Healthy(3));
  const std::vector<Siblings> replicas = SiblingsOfReplicas(job);
  ASSERT_EQ(replicas.size(), 3U);
  EXPECT_EQ(replicas[0].ranks, (std::vector<size_t>{0, 1, 6, 7}));
  EXPECT_EQ(replicas[2].ranks, (std::vector<size_t>{4, 5, 10, 11}));
}

TEST(Siblings, OneReplicaIsNone) {
  const Job job = JoinJob(Healthy(1));
  EXPECT_TRUE(SiblingsOfReplicas(job).empty());
}

TEST(Siblings, UnevenReplicasAreNone) {
  std::vector<pattern::RankPattern> ranks = Healthy(3);
  ranks.pop_back();  // the file of rank 11 is missing
  const Job job = JoinJob(std::move(ranks));
  EXPECT_TRUE(SiblingsOfReplicas(job).empty());
}

TEST(Siblings, TwoReplicasOfSeveralStagesInTurnMove) {
  // Of three replicas two take 20 ms more: the first in steps 0 and 3, the second in step 6. Of single ranks, and of
  // groups within a stage, three would have to.
  Look look(Pipelines(3, [](int replica, int s) {
    return (replica == 0 && s % 3 == 0 && s < 6) || (replica == 1 && s == 6) ? Ms(20) : Nanos{0};
  }));
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 1, 2, 3, 6, 7, 8, 9}));
}

TEST(Siblings, OneReplicaNowAndThenDoesNotMove) {
  Look look(Pipelines(3, [](int replica, int s) { return replica == 0 && s % 3 == 0 ? Ms(20) : Nanos{0}; }));
  EXPECT_FALSE(FindMovingImbalance(look.In()).has_value());
}

}  // namespace
}  // namespace headway::diagnose
