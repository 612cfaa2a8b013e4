// SPDX-License-Identifier: Apache-2.0
// Longer steps that move from replica to replica, and what looks like it.
#include "diagnose/moving_imbalance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "diagnose/analyses.h"
#include "diagnose/diagnosis.h"
#include "diagnose/made_mesh.h"
#include "diagnose/suspects.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Replicas of two ranks (or each by itself); a step is 100 ms of kernels plus `more(rank, step)`, a hole of
// `pause(rank, step)`, an all-reduce of each replica and one of all.
struct Plan {
  int ranks = 8;
  int steps = 9;
  bool device = true;
  bool pairs = true;
  const char* world = "default_pg";  // what the group of all is called
  std::function<Nanos(int, int)> more = [](int, int) { return Nanos{0}; };
  std::function<Nanos(int, int)> host = [](int, int) { return Nanos{0}; };  // in a function of the host
  std::function<Nanos(int, int)> pause = [](int, int) { return Nanos{0}; };
};

std::vector<pattern::RankPattern> Make(const Plan& plan) {
  MadeMesh mesh({.ranks = plan.ranks, .device = plan.device});
  std::vector<int> tp;
  MadeMesh::Members all;
  for (int r = 0; r < plan.ranks; ++r) {
    if (plan.pairs && r % 2 == 0) tp.push_back(mesh.Group("mesh_tp", {r, r + 1}));
    all.push_back(r);
  }
  const int world = mesh.Group(plan.world, all);
  for (int s = 0; s < plan.steps; ++s) {
    mesh.Step();
    for (const int r : all) {
      mesh.Compute(r, Ms(100) + plan.more(r, s));
      mesh.Work(r, WorkClass::kHost, "train.py(12): pack_batch", plan.host(r, s));
      mesh.Work(r, WorkClass::kIdle, "(nothing recorded)", plan.pause(r, s));
    }
    for (const int g : tp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

// Ranks 0-1, 2-3 and 4-5 in turn compute for 20 ms longer.
Nanos InTurn(int rank, int step) { return rank / 2 == step % 3 ? Ms(20) : 0; }

TEST(MovingImbalance, ThreeReplicasInTurn) {
  Plan plan;
  plan.more = InTurn;
  Look look(Make(plan));
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(found->candidate.finding.cause, "data-imbalance");
  EXPECT_TRUE(found->candidate.finding.scope.ranks.empty());
  EXPECT_FALSE(found->candidate.at_most_info);
  EXPECT_EQ(found->candidate.excess, std::vector<Nanos>(9, Ms(20)));
}

TEST(MovingImbalance, ItsPriceIsWhatEachStepWaitsForItsLongestReplica) {
  Plan plan;
  plan.more = InTurn;
  const Diagnosis d = Diagnose(Make(plan));
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].id, "data-imbalance-moving");
  EXPECT_NEAR(static_cast<double>(d.findings[0].recoverable_per_step), 20e6, 1e5);
}

TEST(MovingImbalance, TwoRanksThatAreAlwaysStruckTogetherDoNotMove) {
  // Three ranks, each in a third of the steps, would do; but of these two are one thing: only two things take turns.
  Plan plan;
  plan.more = [](int r, int s) { return (r < 2 && s % 3 == 0) || (r == 2 && s % 3 == 1) ? Ms(20) : 0; };
  Look look(Make(plan));
  EXPECT_FALSE(FindMovingImbalance(look.In()).has_value());
}

TEST(MovingImbalance, ThreeRanksOnTheirOwnDoMove) {
  Plan plan;
  plan.more = [](int r, int s) { return r % 2 == 0 && r < 6 && s % 3 == r / 2 ? Ms(20) : 0; };
  Look look(Make(plan));
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 2, 4}));
}

TEST(MovingImbalance, RanksOfOneTensorParallelGroupGetOneBatch) {
  Plan plan;
  plan.pairs = false;
  plan.more = [](int r, int s) { return r < 3 && s % 3 == r ? Ms(20) : 0; };
  Look apart(Make(plan));
  EXPECT_TRUE(FindMovingImbalance(apart.In()).has_value());
  plan.world = "mesh_tp";
  Look together(Make(plan));
  EXPECT_FALSE(FindMovingImbalance(together.In()).has_value());
}

TEST(MovingImbalance, OneReplicaInMostOfTheStruckStepsDoesNotMove) {
  // Replica 0 in five of nine steps, two others once each: five of seven struck ones.
  Plan plan;
  plan.more = [](int r, int s) { return s < 7 && r / 2 == (s < 5 ? 0 : s - 4) ? Ms(20) : 0; };
  Look look(Make(plan));
  EXPECT_FALSE(FindMovingImbalance(look.In()).has_value());
}

TEST(MovingImbalance, OneReplicaThatHoldsNearlyAllOfTheExcessDoesNotMove) {
  // Ranks 0-1 in three of twelve steps, two others once each: by number of steps they take turns. At 60 ms against
  // 6 ms they hold 180 of 192 ms, 94 %; at 12 ms against 6 ms 36 of 48, three quarters.
  Plan plan;
  plan.steps = 12;
  Nanos first = Ms(60);
  plan.more = [&](int r, int s) {
    if (r / 2 == 0 && s % 3 == 0 && s < 9) return first;
    return (r / 2 == 1 && s == 4) || (r / 2 == 2 && s == 7) ? Ms(6) : 0;
  };
  Look one(Make(plan));
  EXPECT_FALSE(FindMovingImbalance(one.In()).has_value());
  first = Ms(12);
  Look turns(Make(plan));
  EXPECT_TRUE(FindMovingImbalance(turns.In()).has_value());
  // Five of nine steps are no few: chance does not strike that many. 69 of 81 ms are 85 %, at 23 against 6 ms; at 24
  // and more they are four times what others ever are, which is no matter of turns.
  first = Ms(23);
  plan.steps = 9;
  Look many(Make(plan));
  EXPECT_TRUE(FindMovingImbalance(many.In()).has_value());
  first = Ms(25);
  Look dwarfed(Make(plan));
  EXPECT_FALSE(FindMovingImbalance(dwarfed.In()).has_value());
}

TEST(MovingImbalance, OneHiccupOfAnotherDoesNotMakeTurns) {
  // Ranks 0-1 take 40 ms more in three of nine steps, two others 8 ms in one step each, and rank 4 once 20.
  Plan plan;
  plan.more = [](int r, int s) {
    if (r / 2 == 0 && s % 3 == 0) return Ms(40);
    if (r == 4 && s == 5) return Ms(20);
    return (r / 2 == 1 && s == 4) || (r / 2 == 2 && s == 7) || (r / 2 == 3 && s == 1) ? Ms(8) : Ms(0);
  };
  Look look(Make(plan));
  EXPECT_FALSE(FindMovingImbalance(look.In()).has_value());
}

TEST(MovingImbalance, ARankStruckInMostStepsIsACaseOfItsOwn) {
  // Rank 6 in seven of nine steps, beside three replicas in turn.
  Plan plan;
  plan.more = [](int r, int s) { return InTurn(r, s) + (r == 6 && s < 7 ? Ms(20) : 0); };
  Look look(Make(plan));
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 1, 2, 3, 4, 5}));
}

TEST(MovingImbalance, ASlowHostBesideItStrikesTheOtherStepsOnly) {
  // Ranks 0 and 1 take 6 ms more in all steps (5 % of them), 26 in those of their batch: 6 is less than 35 % of that,
  // so what moves strikes them in three of nine steps as it does the others.
  Plan plan;
  plan.pairs = false;
  plan.more = [](int r, int s) { return InTurn(r, s) + (r < 2 ? Ms(6) : 0); };
  Look look(Make(plan));
  ASSERT_EQ(StrikeSingleSteps(look.job, look.excess, 0).struck, 9U);
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 1, 2, 3, 4, 5}));
  for (size_t s = 0; s < 9; ++s) EXPECT_EQ(found->candidate.excess[s], s % 3 == 0 ? Ms(26) : Ms(20)) << s;
}

TEST(MovingImbalance, HalfOfTheReplicasMayBeSlowInAllSteps) {
  // Replicas 0 and 2 of four take 60 ms more in all steps, so that there is no usual time to hold a replica against:
  // each is held against its own quiet steps.
  Plan plan;
  plan.more = [](int r, int s) { return InTurn(r, s) + (r / 2 % 2 == 0 ? Ms(60) : 0); };
  Look look(Make(plan));
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(found->candidate.excess, std::vector<Nanos>(9, Ms(20)));
}

TEST(MovingImbalance, AHostAlmostAsSlowAsWhatMovesHidesIt) {
  // 14 of 34 ms are 41 %: ranks 0 and 1 are slow in all steps, and only two replicas take turns.
  Plan plan;
  plan.pairs = false;
  plan.more = [](int r, int s) { return InTurn(r, s) + (r < 2 ? Ms(14) : 0); };
  EXPECT_FALSE(FindMovingImbalance(Look(Make(plan)).In()).has_value());
}

TEST(MovingImbalance, AReplicaOnASlowHostIsHeldAgainstItsUsualTime) {
  // The ranks of a pair are 10 ms ahead and behind in turn, so a rank's time varies by 10 about its middle: 3 * 1.4826
  // times that are 44 ms, and 20 more (at most 40 beyond the middle of the others) strike no rank. Pairs do not vary.
  // That the first one takes 6 ms more in all steps is no batch of it.
  Plan plan;
  plan.ranks = 12;
  plan.steps = 12;
  plan.more = [](int r, int s) { return InTurn(r, s) + ((r + s) % 2 == 0 ? Ms(10) : -Ms(10)) + (r < 2 ? Ms(6) : 0); };
  Look look(Make(plan));
  for (const size_t r : {2U, 3U, 4U, 5U}) ASSERT_EQ(StrikeSingleSteps(look.job, look.excess, r).struck, 0U) << r;
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 1, 2, 3, 4, 5}));
}

TEST(MovingImbalance, TwoAtATimeDoNotTakeTurns) {
  // Ranks 0, 2, 4 and 6 in steps 0-3, 2-5, 4-7 and 6, 7, 8, 0: 16 times in nine steps.
  Plan plan;
  plan.more = [](int r, int s) { return r % 2 == 0 && (s - r + 9) % 9 < 4 ? Ms(20) : 0; };
  Look look(Make(plan));
  EXPECT_FALSE(FindMovingImbalance(look.In()).has_value());
}

TEST(MovingImbalance, PausesOfOneRankAfterTheOtherAreNot) {
  // In each step another rank stands still: no work is longer.
  Plan plan;
  plan.pause = [](int r, int s) { return r == s % 8 ? Ms(20) : 0; };
  Look look(Make(plan));
  EXPECT_FALSE(FindMovingImbalance(look.In()).has_value());
}

TEST(MovingImbalance, APauseBesideItIsLeftToItsRank) {
  Plan plan;
  plan.more = InTurn;
  plan.pause = [](int r, int s) { return r == 6 && s == 4 ? Ms(60) : 0; };
  Look look(Make(plan));
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(found->candidate.excess, std::vector<Nanos>(9, Ms(20)));
}

TEST(MovingImbalance, OnSharedProcessorsAFewStruckStepsAreChance) {
  // Three ranks in three of nine steps. A device's kernels do not get longer by chance; what shares processors does.
  Plan plan;
  plan.more = [](int r, int s) { return r % 2 == 0 && r < 6 && s == r + 1 ? Ms(20) : 0; };
  EXPECT_TRUE(FindMovingImbalance(Look(Make(plan)).In()).has_value());
  plan.device = false;
  EXPECT_FALSE(FindMovingImbalance(Look(Make(plan)).In()).has_value());
}

TEST(MovingImbalance, OnDevicesFunctionsOfHostsAreNoDataImbalance) {
  // What a host does for its device is the same whatever it gets; without devices it is the work.
  Plan plan;
  plan.host = InTurn;
  EXPECT_FALSE(FindMovingImbalance(Look(Make(plan)).In()).has_value());
  plan.device = false;
  const auto found = FindMovingImbalance(Look(Make(plan)).In());
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(found->candidate.finding.scope.function.find("pack_batch"), std::string::npos);
}

// Four replicas of two stages, eight steps of 100 ms of kernels; in each the replica `struck(step)` takes 20 ms longer.
std::optional<MovingImbalance> OfStages(const std::function<int(int step)>& struck) {
  MadeMesh mesh({.ranks = 8});
  mesh.Groups("mesh_pp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  const std::vector<int> dp = mesh.Groups("mesh_dp", {{0, 2, 4, 6}, {1, 3, 5, 7}});
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) mesh.Compute(r, Ms(100) + (r / 2 == struck(s) ? Ms(20) : 0));
    for (const int g : dp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return FindMovingImbalance(look.In());
}

TEST(MovingImbalance, WhereSomeReplicaIsStruckInEveryStepOneMayBeInThreeQuarters) {
  // Replica 0 in six of eight steps, replicas 1 and 2 in one each.
  const auto found = OfStages([](int s) { return std::max(0, s - 5); });
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(found->candidate.excess, std::vector<Nanos>(8, Ms(20)));
}

TEST(MovingImbalance, WhereAStepStrikesNobodyOneInMostOfThemDoesNotMove) {
  // Replica 0 in five of the seven struck steps (71 %), none in the last one.
  EXPECT_FALSE(OfStages([](int s) { return s == 7 ? -1 : std::max(0, s - 4); }).has_value());
}

TEST(MovingImbalance, ARankThatIsSlowBesideItIsToldOnce) {
  // Eight replicas in turn get 60 ms more; rank 2 takes 30 more than the other rank of its replica in all steps, and
  // what it takes beyond its replica is most of what is left of it beside its turns.
  Plan plan;
  plan.device = false;
  plan.ranks = 16;
  plan.steps = 16;
  plan.more = [](int r, int s) { return (r / 2 == s % 8 ? Ms(60) : 0) + (r == 2 ? Ms(30) : 0); };
  Look look(Make(plan));
  const auto moving = FindMovingImbalance(look.In());
  ASSERT_TRUE(moving.has_value());
  ASSERT_EQ(moving->own.size(), 1U);
  std::vector<std::vector<RankId>> told;
  for (const Candidate& c : look.Run(RunOwnTimeAnalysis).candidates) {
    if (c.finding.cause == "data-imbalance") continue;
    told.push_back(c.finding.scope.ranks);
  }
  EXPECT_EQ(told, (std::vector<std::vector<RankId>>{{2}}));
}

TEST(MovingImbalance, WhatStrikesRanksIsNotWhatTheyVaryBy) {
  // Four ranks in turn: 8 ms more, 4 ms less, as ever, as ever. They deviate by 0, 0, 4 and 8 ms, 2 in the middle, of
  // which three times 1.4826 are 8.9. What lies below their peers is 4, 0 and 0.
  Plan plan{.ranks = 4, .steps = 12, .pairs = false};
  plan.more = [](int rank, int step) { return std::array{Ms(12), Ms(0), Ms(4), Ms(4)}.at((rank + step) % 4); };
  Look look(Make(plan));
  EXPECT_EQ(look.In().excess.step_noise[0], 14826 * Ms(2) / 10000);
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->candidate.excess, std::vector<Nanos>(12, Ms(8)));
}

TEST(MovingImbalance, AFrameThatCallsAllTheRestIsNoFunctionOfItsOwn) {
  // Of a job without devices: all five operators of a step, called by one frame, take a fifth longer.
  MadeMesh mesh({.ranks = 4, .device = false});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      mesh.Work(r, WorkClass::kHost, "train.py(7): train_step", Ms(1));
      for (const char* name : {"aten::mm", "aten::add", "aten::mul", "aten::relu", "aten::sum"}) {
        mesh.Work(r, WorkClass::kCompute, name, r == s % 4 ? Ms(24) : Ms(20));
      }
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  std::vector<pattern::RankPattern> patterns = mesh.Make();
  auto table = *patterns[0].function_table;
  const auto frame = std::find_if(table.begin(), table.end(), [](const auto& f) { return f.name.ends_with("step"); });
  for (auto& function : table) {
    if (function.name.starts_with("aten::")) function.parent = static_cast<int32_t>(frame - table.begin());
  }
  const auto shared = std::make_shared<const pattern::FunctionTable>(table);
  for (pattern::RankPattern& pattern : patterns) pattern.function_table = shared;
  Look look(std::move(patterns));
  const auto found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->candidate.finding.scope.function, "all operators");
  EXPECT_TRUE(found->candidate.at_most_info);
}

TEST(MovingImbalance, TwoStepsSayNothing) {
  Plan plan;
  plan.steps = 2;
  plan.more = InTurn;
  Look look(Make(plan));
  EXPECT_FALSE(FindMovingImbalance(look.In()).has_value());
}

}  // namespace
}  // namespace headway::diagnose
