// SPDX-License-Identifier: Apache-2.0
// One rank that is slow by itself, beside work that moves from replica to replica.
#include "diagnose/beyond_group.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "diagnose/made_mesh.h"
#include "diagnose/moving_imbalance.h"

namespace headway::diagnose {
namespace {

constexpr int kSteps = 12;

// Eight ranks, tp in pairs or not at all, all in one group; a step is 100 ms of kernels and `more(rank, step)`.
std::vector<pattern::RankPattern> Make(bool pairs, const std::function<Nanos(int, int)>& more) {
  MadeMesh mesh({.ranks = 8});
  std::vector<int> tp;
  if (pairs) tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < kSteps; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) mesh.Compute(r, Ms(100) + more(r, s));
    for (const int g : tp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

// Each pair in turn gets a batch of 20 ms more.
Nanos InTurn(int rank, int step) { return rank / 2 == step % 4 ? Ms(20) : 0; }

std::vector<Suspect> Struck(const Look& look) {
  std::vector<Suspect> out;
  for (size_t r = 0; r < 8; ++r) {
    out.push_back(StrikeSingleSteps(look.job, look.excess, r));
    EXPECT_GT(out.back().struck, 0U) << r;
  }
  return out;
}

// By step, `cost` in those that `of` picks.
std::vector<Nanos> In(const std::function<bool(int)>& of, Nanos cost) {
  std::vector<Nanos> out(kSteps, 0);
  for (int s = 0; s < kSteps; ++s) out[static_cast<size_t>(s)] = of(s) ? cost : 0;
  return out;
}

TEST(BeyondGroup, WhatOneRankTakesBesideItsReplica) {
  // Rank 1 takes 10 ms more in every other step; its replica is struck in every fourth one, of which all are among
  // them. In those it takes 30 ms longer than the middle of all and 10 longer than rank 0.
  Look look(Make(true, [](int r, int s) { return InTurn(r, s) + (r == 1 && s % 2 == 0 ? Ms(10) : 0); }));
  std::vector<Suspect> struck = Struck(look);
  ASSERT_EQ(struck[1].total, 3 * Ms(30) + 3 * Ms(10));
  const std::vector<Suspect> own = TakeBeyondGroup(look.In(), SiblingsOfGroups(look.job), &struck);
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0].rank, 1U);
  EXPECT_EQ(own[0].cost, In([](int s) { return s % 2 == 0; }, Ms(10)));
  EXPECT_EQ(own[0].total, Ms(60));
  EXPECT_EQ(own[0].struck, 6U);
  EXPECT_EQ(own[0].table, &look.excess);
  EXPECT_TRUE(own[0].is_part);
  ASSERT_EQ(struck.size(), 8U);
  for (const Suspect& shared : struck) {
    const int replica = static_cast<int>(shared.rank) / 2;
    EXPECT_EQ(shared.cost, In([&](int s) { return s % 4 == replica; }, Ms(20))) << shared.rank;
    EXPECT_EQ(shared.total, Ms(60)) << shared.rank;
    EXPECT_EQ(shared.struck, 3U) << shared.rank;
  }
}

TEST(BeyondGroup, WhereTheOtherIsStruckInOtherStepsNothingIsShared) {
  // Rank 1 does not get what rank 0 gets, but 20 ms in steps of its own.
  Look look(Make(true, [](int r, int s) { return r == 1 ? (s % 4 == 1 ? Ms(20) : 0) : InTurn(r, s); }));
  std::vector<Suspect> struck = Struck(look);
  EXPECT_TRUE(TakeBeyondGroup(look.In(), SiblingsOfGroups(look.job), &struck).empty());
  EXPECT_EQ(struck.size(), 8U);
  EXPECT_EQ(struck[1].total, Ms(60));
}

TEST(BeyondGroup, UnderHalfAPerCentOfTheWindowStaysWithTheReplica) {
  // The median step is 100 + 20 + 2 ms. One step of 5 ms is above the noise (4 * 0.3 % of it) and 2 % of the step
  // (2.4), but half a per cent of twelve steps is 7.3 ms; two such steps are more.
  const auto taken = [](int times) {
    Look look(Make(
        true, [times](int r, int s) { return InTurn(r, s) + (r == 1 && s / 4 < times && s % 4 == 0 ? Ms(5) : 0); }));
    std::vector<Suspect> struck = Struck(look);
    return TakeBeyondGroup(look.In(), SiblingsOfGroups(look.job), &struck).size();
  };
  EXPECT_EQ(taken(1), 0U);
  EXPECT_EQ(taken(2), 1U);
}

TEST(BeyondGroup, AllPeersTogetherAreNoReplica) {
  // Without tp the only group is that of all. Rank 1 takes 30 ms more in every step, so also whenever others are
  // struck.
  Look look(Make(false, [](int r, int s) { return r == 1 ? Ms(30) : InTurn(r, s); }));
  ASSERT_EQ(SiblingsOfGroups(look.job).size(), 1U);
  std::vector<Suspect> struck = Struck(look);
  const std::vector<Suspect> before = struck;
  EXPECT_TRUE(TakeBeyondGroup(look.In(), SiblingsOfGroups(look.job), &struck).empty());
  ASSERT_EQ(struck.size(), before.size());
  for (size_t i = 0; i < struck.size(); ++i) EXPECT_EQ(struck[i].cost, before[i].cost);
}

TEST(BeyondGroup, AMovingImbalanceHandsOnWhatIsARanksOwn) {
  Look look(Make(true, [](int r, int s) { return InTurn(r, s) + (r == 1 && s % 2 == 0 ? Ms(10) : 0); }));
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(found->candidate.excess, std::vector<Nanos>(kSteps, Ms(20)));  // 30 ms of rank 1 are 20 of its replica
  ASSERT_EQ(found->own.size(), 1U);
  EXPECT_EQ(found->own[0].rank, 1U);
  EXPECT_EQ(found->own[0].total, Ms(60));
}

TEST(BeyondGroup, AMovingImbalanceAloneHasNothingOfTheKind) {
  Look look(Make(true, InTurn));
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->own.empty());
}

}  // namespace
}  // namespace headway::diagnose
