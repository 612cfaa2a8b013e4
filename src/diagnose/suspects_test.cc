// SPDX-License-Identifier: Apache-2.0
// Which ranks are suspect, and in which steps.
#include "diagnose/suspects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Ranks in one group; a step is kernels of `compute(rank, step)`, a hole of `hole(rank, step)`, and an all-reduce.
struct Plan {
  int ranks = 8;
  int steps = 16;
  bool device = true;
  std::function<Nanos(int, int)> compute = [](int, int) { return Ms(100); };
  std::function<Nanos(int, int)> hole = [](int, int) { return Nanos{0}; };
};

std::vector<pattern::RankPattern> Make(const Plan& plan) {
  MadeMesh::Members all;
  for (int r = 0; r < plan.ranks; ++r) all.push_back(r);
  MadeMesh mesh({.ranks = plan.ranks, .device = plan.device});
  const int world = mesh.Group("mesh_dp", all);
  for (int s = 0; s < plan.steps; ++s) {
    mesh.Step();
    for (const int r : all) {
      mesh.Compute(r, plan.compute(r, s));
      mesh.Work(r, WorkClass::kIdle, "(nothing recorded)", plan.hole(r, s));
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

// Every step has the eight values -1.75, -1.25 … 1.75 ms on its eight ranks, each rank every value once in eight steps.
// Beyond the middle of the other seven (which is 0.25 above the middle of all without a low one, 0.25 below it without
// a high one) that is -2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2: usually 0, and of that 1.4826 * 1.25 = 1.85 ms is a rank's
// deviation; of its own time's about its own middle 1.4826 * 1 = 1.48, the smaller one.
Nanos Wobble(int rank, int step) { return (2 * ((rank + step) % 8) - 7) * Us(250); }

TEST(Suspects, HalfOfAClassThatIsFarSlowerIsHeldAgainstTheRest) {
  // Ranks 0-3 take 20 ms more in all steps: a fifth of the step, where a tenth would do. About their middle all ranks
  // are 10 ms away, 3.5 * 1.4826 times which none reaches.
  Plan plan;
  plan.compute = [](int r, int s) { return Ms(100) + Wobble(r, s) + (r < 4 ? Ms(20) : 0); };
  Look look(Make(plan));
  std::vector<Suspect> found = FindSuspects(look.In());
  ASSERT_EQ(found.size(), 4U);
  for (const Suspect& suspect : found) {
    EXPECT_LT(suspect.rank, 4U);
    EXPECT_EQ(suspect.struck, 16U);
    // Beyond the middle of ranks 4-7: 20 ms, give or take what it and they vary by.
    EXPECT_NEAR(static_cast<double>(suspect.total) / 16, 20e6, 1e6);
  }
  // Five of eight slower ones: then the three are quick.
  plan.compute = [](int r, int s) { return Ms(100) + Wobble(r, s) + (r < 5 ? Ms(20) : 0); };
  EXPECT_TRUE(FindSuspects(Look(Make(plan)).In()).empty());
}

TEST(Suspects, WhatIsTakenFromAStepIsCountedOff) {
  const ExcessTable table;
  Suspect suspect = MakeSuspect(3, table, {0, 30, -5, 20});
  EXPECT_EQ(suspect.cost, (std::vector<Nanos>{0, 30, 0, 20}));  // ahead of the peers strikes nobody
  EXPECT_EQ(suspect.total, 50);
  EXPECT_EQ(suspect.struck, 2U);
  EXPECT_EQ(suspect.Take(1, 10), 10);
  EXPECT_EQ(suspect.Take(3, 99), 20);  // no more than there is
  EXPECT_EQ(suspect.Take(0, 5), 0);
  EXPECT_EQ(suspect.cost, (std::vector<Nanos>{0, 20, 0, 0}));
  EXPECT_EQ(suspect.total, 20);
  EXPECT_EQ(suspect.struck, 1U);
}

TEST(Suspects, ALevelThatNoSingleStepShows) {
  // Rank 2 takes 1.5 ms more in every step. In no step is that more than 1.5 + 2 ms, where 3 * 1.48 = 4.4 are needed.
  // Its level over 64 steps can be off by 1.48 / 8: five times that, 0.93, is less than 1.5; so are 1 % of the step
  // and 3.5 times the least difference between ranks (0.3 % of the step).
  Plan plan;
  plan.steps = 64;
  plan.compute = [](int r, int s) { return Ms(100) + Wobble(r, s) + (r == 2 ? Us(1500) : 0); };
  Look look(Make(plan));
  EXPECT_EQ(StrikeSingleSteps(look.job, look.excess, 2).struck, 0U);
  const std::vector<Suspect> suspects = FindSuspects(look.In());
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_EQ(suspects[0].rank, 2U);
  // Struck where the excess reaches half of the level: 1, 2, 2.5, 3 and 3.5 ms of every eight steps, 12 ms in all.
  EXPECT_EQ(suspects[0].struck, 40U);
  EXPECT_EQ(suspects[0].total, Ms(96));
}

TEST(Suspects, FewerStepsDoNotShowThatLevel) {
  // Of 16 steps the level may be off by 1.48 / 4; five times that is 1.85.
  Plan plan;
  plan.compute = [](int r, int s) { return Ms(100) + Wobble(r, s) + (r == 2 ? Us(1500) : 0); };
  Look look(Make(plan));
  EXPECT_TRUE(FindSuspects(look.In()).empty());
}

TEST(Suspects, WobbleAloneMakesNobodySuspect) {
  Plan plan;
  plan.steps = 64;
  plan.compute = [](int r, int s) { return Ms(100) + Wobble(r, s); };
  Look look(Make(plan));
  EXPECT_TRUE(FindSuspects(look.In()).empty());
}

// 20 steps of 101 ms: half a per cent of the window is 10.1 ms.
Plan OneLongStep(Nanos by) {
  Plan plan;
  plan.steps = 20;
  plan.compute = [by](int r, int s) { return Ms(100) + (r == 1 && s == 5 ? by : 0); };
  return plan;
}

TEST(Suspects, OneFarStep) {
  // 5 ms stand out far: more than 2 % of the step and six times the noise (0.3 % of it).
  Look look(Make(OneLongStep(Ms(5))));
  const std::vector<Suspect> suspects = FindSuspects(look.In());
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_EQ(suspects[0].rank, 1U);
  EXPECT_EQ(suspects[0].total, Ms(5));
  EXPECT_EQ(suspects[0].StruckSteps(), (std::vector<size_t>{5}));
}

TEST(Suspects, OneStepALittleLongerIsNobodysFault) {
  // 1.5 ms strikes the step (above 1 % of it) but neither stands out far nor adds up.
  Look look(Make(OneLongStep(Us(1500))));
  EXPECT_EQ(StrikeSingleSteps(look.job, look.excess, 1).struck, 1U);
  EXPECT_TRUE(FindSuspects(look.In()).empty());
}

// Kernels vary with the data by four times the wobble; rank 3 stands still for 2 ms in every step.
Plan HolesBetweenKernels(bool device) {
  Plan plan;
  plan.device = device;
  plan.compute = [](int r, int s) { return Ms(100) + 4 * Wobble(r, s); };
  plan.hole = [](int r, int) { return r == 3 ? Ms(2) : 0; };
  return plan;
}

TEST(Suspects, ThreeStepsThatStandOutAreNoChance) {
  // 64 steps of 101 ms, noise 0.303 (0.3 %): 1.4 ms are less than six times that, and three of them less than half a
  // per cent of the window, but more than four times it; 1.1 are not.
  const auto found = [](int steps, Nanos by, bool device, Nanos always = 0, int of = 64) {
    Plan plan;
    plan.steps = of;
    plan.device = device;
    plan.compute = [=](int r, int s) {
      return Ms(100) + (r == 1 ? always + (s % 20 == 5 && s < 20 * steps ? by : 0) : 0);
    };
    return FindSuspects(Look(Make(plan)).In());
  };
  const std::vector<Suspect> three = found(3, Us(1400), true);
  ASSERT_EQ(three.size(), 1U);
  EXPECT_EQ(three[0].rank, 1U);
  EXPECT_EQ(three[0].StruckSteps(), (std::vector<size_t>{5, 25, 45}));
  EXPECT_TRUE(found(2, Us(1400), true).empty());
  EXPECT_TRUE(found(3, Us(1400), true, 0, 80).empty());  // of more steps more than three
  EXPECT_TRUE(found(3, Us(1100), true).empty());
  EXPECT_TRUE(found(3, Us(1100), true, Us(300)).empty());  // as much, but the rank always takes 0.3 more
  EXPECT_TRUE(found(3, Us(1400), false).empty());          // operators of processors vary more
}

TEST(Suspects, HolesShowBesideWhatDevicesCompute) {
  // All own time is noisy by 4 * 1.48 ms. Without the kernels rank 3's 2 ms are all there is, in each of 16 steps.
  Look look(Make(HolesBetweenKernels(true)));
  const std::vector<Suspect> suspects = FindSuspects(look.In());
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_EQ(suspects[0].rank, 3U);
  EXPECT_EQ(suspects[0].table, &look.beside_compute);
  EXPECT_EQ(suspects[0].cost, std::vector<Nanos>(16, Ms(2)));
}

TEST(Suspects, WithoutDevicesThereIsNothingBesideCompute) {
  Look look(Make(HolesBetweenKernels(false)));
  EXPECT_TRUE(FindSuspects(look.In()).empty());
}

TEST(Suspects, ALoneRankHasNoPeers) {
  Plan plan;
  plan.ranks = 1;
  plan.compute = [](int, int s) { return s == 5 ? Ms(200) : Ms(100); };
  Look look(Make(plan));
  EXPECT_TRUE(FindSuspects(look.In()).empty());
}

TEST(Suspects, AShortHoleOfADeviceJobStandsOutBesideItsKernels) {
  // Kernels wobble by 1.48 ms; rank 1 stands still for 1.3 ms once: 1 % of the step and above six times the least noise
  // beside compute (0.1 % of it).
  const auto look_at = [](bool device) {
    Plan plan;
    plan.device = device;
    plan.compute = [](int r, int s) { return Ms(100) + Wobble(r, s); };
    plan.hole = [](int r, int s) { return r == 1 && s == 5 ? Us(1300) : 0; };
    Look look(Make(plan));
    return FindSuspects(look.In());
  };
  const std::vector<Suspect> suspects = look_at(true);
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_EQ(suspects[0].rank, 1U);
  EXPECT_EQ(suspects[0].StruckSteps(), (std::vector<size_t>{5}));
  EXPECT_TRUE(look_at(false).empty());
}

// Four ranks; 2 and 3 stand still for 20 ms in the steps that `slow` picks, rank 0 for 20 ms in step 4.
Plan HalfSlow(std::function<bool(int)> slow) {
  Plan plan;
  plan.ranks = 4;
  plan.hole = [slow = std::move(slow)](int r, int s) {
    return (r >= 2 && slow(s)) || (r == 0 && s == 4) ? Ms(20) : Nanos{0};
  };
  return plan;
}

TEST(Suspects, ARankAheadOfSlowPeersThatFallsBack) {
  // Against the middle of its three peers (two of them slow) rank 0 is 20 ms ahead, in step 4 at 0: beyond its usual
  // one 20.
  Look look(Make(HalfSlow([](int) { return true; })));
  const Suspect suspect = StrikeSingleSteps(look.job, look.excess, 0);
  EXPECT_EQ(suspect.StruckSteps(), (std::vector<size_t>{4}));
  EXPECT_EQ(suspect.total, Ms(20));
  EXPECT_EQ(StrikeSingleSteps(look.job, look.excess, 1).struck, 0U);
}

TEST(Suspects, WherePeersAreSlowNowAndThenARankOnlySeemsToFallBack) {
  // In step 8 nobody is slow: rank 1 is as far as the others, but takes no longer than ever.
  Look look(Make(HalfSlow([](int s) { return s != 8; })));
  EXPECT_EQ(StrikeSingleSteps(look.job, look.excess, 1).struck, 0U);
}

// Of `ranks` the first four take 47 ms more, the fifth 22.
Plan FourHideOne(int ranks) {
  Plan plan;
  plan.ranks = ranks;
  plan.compute = [](int r, int) { return Ms(100) + (r < 4 ? Ms(47) : r == 4 ? Ms(22) : 0); };
  return plan;
}

std::vector<size_t> RanksOf(const std::vector<Suspect>& suspects) {
  std::vector<size_t> out;
  for (const Suspect& suspect : suspects) out.push_back(suspect.rank);
  std::sort(out.begin(), out.end());
  return out;
}

TEST(LookAgain, FindsWhomSlowPeersHid) {
  // The middle of rank 4's seven peers is one of the four slow ones: it is 25 ms ahead of that. Without those it is 22
  // behind the other three.
  Look look(Make(FourHideOne(8)));
  const std::vector<Suspect> found = FindSuspects(look.In());
  ASSERT_EQ(RanksOf(found), (std::vector<size_t>{0, 1, 2, 3}));
  ExcessTable table;
  const std::vector<Suspect> hidden = LookAgain(look.In(), found, {}, &table);
  ASSERT_EQ(RanksOf(hidden), (std::vector<size_t>{4}));
  EXPECT_EQ(hidden[0].cost, std::vector<Nanos>(16, Ms(22)));
  EXPECT_EQ(hidden[0].table, &table);
  EXPECT_EQ(table.At(4, 0), Ms(22));
  EXPECT_EQ(table.At(0, 0), kNoValue);  // nobody's peer
}

TEST(LookAgain, PassesOverWhomSomethingElseExplains) {
  Look look(Make(FourHideOne(8)));
  ExcessTable table;
  EXPECT_TRUE(LookAgain(look.In(), FindSuspects(look.In()), {4}, &table).empty());
}

TEST(LookAgain, NeedsThreePeersThatAreNotSlow) {
  // Of seven ranks three are left: two peers.
  Look look(Make(FourHideOne(7)));
  const std::vector<Suspect> found = FindSuspects(look.In());
  ASSERT_EQ(RanksOf(found), (std::vector<size_t>{0, 1, 2, 3}));
  ExcessTable table;
  EXPECT_TRUE(LookAgain(look.In(), found, {}, &table).empty());
}

TEST(LookAgain, OfFewItsOwnOtherStepsTell) {
  // Two of four ranks take 47 ms more. Of the two that are left one takes 22 ms more in every third step. If the other
  // one does so in the steps behind those, it may be data that go now to this one and now to that.
  for (const bool in_turn : {false, true}) {
    Plan plan;
    plan.ranks = 4;
    plan.compute = [in_turn](int r, int s) {
      const bool struck = (r == 2 && s % 3 == 0) || (in_turn && r == 3 && s % 3 == 1);
      return Ms(100) + (r < 2 ? Ms(47) : struck ? Ms(22) : 0);
    };
    Look look(Make(plan));
    std::vector<Suspect> found = FindSuspects(look.In());
    std::erase_if(found, [](const Suspect& suspect) { return suspect.rank > 1; });  // as noise would hide them
    ASSERT_EQ(RanksOf(found), (std::vector<size_t>{0, 1}));
    ExcessTable table;
    const std::vector<Suspect> hidden = LookAgain(look.In(), found, {}, &table);
    EXPECT_EQ(RanksOf(hidden), in_turn ? std::vector<size_t>{} : std::vector<size_t>{2});
    for (size_t s = 0; s < 16 && !in_turn; ++s) EXPECT_EQ(hidden.at(0).cost[s], s % 3 == 0 ? Ms(22) : 0) << s;
  }
}

TEST(LookAgain, WhereNobodyIsSlowNobodyIsHidden) {
  Look look(Make(FourHideOne(8)));
  ExcessTable table;
  EXPECT_TRUE(LookAgain(look.In(), {}, {}, &table).empty());
  EXPECT_TRUE(table.excess.empty());
}

TEST(Suspects, LongestFirst) {
  Plan plan;
  plan.compute = [](int r, int) { return Ms(100) + (r == 2 ? Ms(5) : r == 6 ? Ms(9) : 0); };
  Look look(Make(plan));
  const std::vector<Suspect> suspects = FindSuspects(look.In());
  ASSERT_EQ(suspects.size(), 2U);
  EXPECT_EQ(suspects[0].rank, 6U);
  EXPECT_EQ(suspects[1].rank, 2U);
}

}  // namespace
}  // namespace headway::diagnose
