// SPDX-License-Identifier: Apache-2.0
// Which of two replicas is the longer one, step by step.
#include "diagnose/two_replicas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <set>

#include "diagnose/diagnosis.h"
#include "diagnose/made_mesh.h"
#include "diagnose/moving_imbalance.h"

namespace headway::diagnose {
namespace {

// Ranks 0 and 1 are one replica, 2 and 3 the other: tensor parallel, or two `stages`. A step is 100 ms of kernels and
// what `longer(replica, rank, step)` adds.
Look Replicas(const std::function<Nanos(int, int, int)>& longer, bool stages = false, int steps = 12,
              bool device = true, int per_host = 4) {
  MadeMesh mesh({.ranks = 4, .per_host = per_host, .device = device});
  if (stages) {
    mesh.Groups("mesh_pp", {{0, 1}, {2, 3}});
  } else {
    mesh.Groups("mesh_tp", {{0, 1}, {2, 3}});
    mesh.Groups("mesh_dp", {{0, 2}, {1, 3}});
  }
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < steps; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) mesh.Compute(r, Ms(100) + longer(r / 2, r, s));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return Look(mesh.Make());
}

// The first in steps 0, 2, 4, …; 20 ms.
Nanos InTurns(int replica, int /*rank*/, int step) { return step % 2 == replica ? Ms(20) : 0; }

TEST(TwoReplicas, InTurns) {
  for (const bool stages : {false, true}) {
    Look look = Replicas(InTurns, stages);
    const std::vector<Suspect> struck = StrikeReplicas(look.In(), SiblingsOfGroups(look.job));
    ASSERT_EQ(struck.size(), 4U) << stages;
    for (const Suspect& suspect : struck) {
      EXPECT_EQ(suspect.struck, 6U);
      for (size_t s = 0; s < 12; ++s) {
        EXPECT_EQ(suspect.cost[s], s % 2 == suspect.rank / 2 ? Ms(20) : 0) << suspect.rank << " " << s;
      }
    }
  }
}

TEST(TwoReplicas, ChanceMayFavourOneOfThem) {
  // Three steps of 14 strike the first, all others the second: with even chances that, or more uneven, comes once in 17
  // jobs ((1 + 14 + 91 + 364) * 2 of 2^14).
  Look look =
      Replicas([](int replica, int, int step) { return (step % 5 == 1 ? 0 : 1) == replica ? Ms(20) : 0; }, false, 14);
  const std::vector<Suspect> struck = StrikeReplicas(look.In(), SiblingsOfGroups(look.job));
  ASSERT_EQ(struck.size(), 4U);
  for (const Suspect& suspect : struck) {
    EXPECT_EQ(suspect.struck, suspect.rank < 2 ? 3U : 11U);
    EXPECT_EQ(suspect.total, suspect.rank < 2 ? 3 * Ms(20) : 11 * Ms(20));
  }
}

TEST(TwoReplicas, NoStepHasToStandOutByItself) {
  // 6 ms to and fro. The two pairs are 1.5 ms to either side of it: they differ by 1.4826 * 1.5 = 2.2 ms, and 6 is less
  // than three times that. By chance a step is beyond twice that on one side in 40: in all twelve never.
  Look look = Replicas([](int replica, int rank, int step) {
    const Nanos scatter = rank == 0 ? Ms(3) / 2 : rank == 1 ? -Ms(3) / 2 : 0;
    return (step % 2 == replica ? Ms(6) : 0) + (step % 3 == 0 ? -scatter : scatter);
  });
  const std::vector<Suspect> struck = StrikeReplicas(look.In(), SiblingsOfGroups(look.job));
  ASSERT_EQ(struck.size(), 4U);
  for (const Suspect& suspect : struck) EXPECT_EQ(suspect.struck, 6U);
}

TEST(TwoReplicas, AreToldWithoutNamingARank) {
  Look look = Replicas(InTurns);
  const std::optional<MovingImbalance> found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->candidate.finding.cause, "data-imbalance");
  EXPECT_TRUE(found->candidate.finding.scope.ranks.empty());
  EXPECT_EQ(found->candidate.finding.sentence.find("In most steps all ranks of one replica take longer"), 0U);
  EXPECT_EQ(found->candidate.excess, std::vector<Nanos>(12, Ms(20)));
  EXPECT_FALSE(found->candidate.at_most_info);
}

TEST(TwoReplicas, OnAHostBackendOtherWorkMayDoTheSame) {
  Look look = Replicas(InTurns, false, 12, false);
  const std::optional<MovingImbalance> found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->candidate.at_most_info);
}

TEST(TwoReplicas, OneThatIsLongerNowAndThenIsNotImbalance) {
  Look look = Replicas([](int replica, int, int step) { return replica == 1 && step % 2 == 0 ? Ms(20) : 0; });
  EXPECT_TRUE(StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).empty());
}

TEST(TwoReplicas, WhatGoesOverOnceIsNoTurn) {
  // The first takes longer up to step `back`, then the second, and again the first from step 9 on: two changes, or one.
  const auto struck = [](int over, int back) {
    Look look = Replicas(
        [=](int replica, int, int step) { return (step < over || step >= back ? 0 : 1) == replica ? Ms(20) : 0; });
    return StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).size();
  };
  EXPECT_EQ(struck(6, 12), 0U);
  EXPECT_EQ(struck(6, 9), 4U);
}

TEST(TwoReplicas, WhereSomeStepsStrikeNeitherASingleTurnIsOne) {
  // From step `onset` on 20 ms to the first, once, and then `second` to the second. Before that neither is longer.
  const auto struck = [](int onset, Nanos second) {
    Look look = Replicas([=](int replica, int, int step) {
      return step < onset ? Nanos{0} : step == onset ? (replica == 0 ? Ms(20) : 0) : (replica == 1 ? second : 0);
    });
    return StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).size();
  };
  EXPECT_EQ(struck(4, Ms(20)), 4U);
  EXPECT_EQ(struck(4, Ms(25)), 0U);  // under 85 %: each has a cause of its own
  EXPECT_EQ(struck(2, Ms(20)), 0U);  // two of twelve steps: it may have gone over
}

// 20 ms to the first replica in steps 2 and 5, to the second in step 9 if `back`.
Look InFewSteps(bool back, bool device = true, int per_host = 4) {
  const auto longer = [=](int replica, int, int step) {
    return (replica == 0 ? step == 2 || step == 5 : step == 9 && back) ? Ms(20) : Nanos{0};
  };
  return Replicas(longer, false, 12, device, per_host);
}

// The same of two replicas of four; rank 1 is not struck in step 5 unless `all`.
Look InFewStepsOfFour(bool all) {
  MadeMesh mesh({.ranks = 8});
  mesh.Groups("mesh_tp", {{0, 1, 2, 3}, {4, 5, 6, 7}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      const bool is_its = r < 4 ? s == 2 || (s == 5 && (all || r != 1)) : s == 9;
      mesh.Compute(r, Ms(100) + (is_its ? Ms(20) : 0));
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return Look(mesh.Make());
}

size_t StruckIn(Look look) { return StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).size(); }

TEST(TwoReplicas, ThreeOfManyStepsDoIfAllRanksSaySo) {
  EXPECT_EQ(StruckIn(InFewSteps(true)), 4U);
  EXPECT_EQ(StruckIn(InFewSteps(false)), 0U);  // always the same one
  Look look = InFewSteps(true);
  EXPECT_EQ(
      FindMovingImbalance(look.In())->candidate.finding.sentence.find("In 3 of 12 steps all ranks of one replica"), 0U);
  EXPECT_EQ(StruckIn(InFewStepsOfFour(true)), 8U);
  EXPECT_EQ(StruckIn(InFewStepsOfFour(false)), 0U);  // one rank says otherwise
}

TEST(TwoReplicas, OnAHostBackendAHostDoesTheSameToAllOnIt) {
  EXPECT_EQ(StruckIn(InFewSteps(true, false, 2)), 0U);
  EXPECT_EQ(StruckIn(InFewSteps(true, false, 1)), 4U);
}

TEST(TwoReplicas, WhatOneRankTakesFarBeyondItsReplicaIsItsOwn) {
  // Two replicas of two stages of two, in every second step the one or the other, 20 ms; from step 9 on rank 7 takes
  // 100 ms more.
  MadeMesh mesh({.ranks = 8});
  mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  mesh.Groups("mesh_pp", {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 20; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      const bool is_its = s % 2 == 0 && r / 4 == s / 2 % 2;
      mesh.Compute(r, Ms(100) + (is_its ? Ms(20) : 0) + (r == 7 && s >= 9 ? Ms(100) : 0));
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  std::vector<pattern::RankPattern> patterns = mesh.Make();
  Look look(patterns);
  // By its batch it takes 20 ms in steps 2 and 6 and, of 120, twice as much as the other three in 10, 14 and 18. Its
  // counterpart stands out beside it in steps 0, 4 and 8 only.
  for (const Suspect& suspect : StrikeReplicas(look.In(), SiblingsOfGroups(look.job))) {
    const Nanos expected = suspect.rank == 7 ? 2 * Ms(20) + 3 * Ms(40) : suspect.rank == 3 ? 3 * Ms(20) : 5 * Ms(20);
    EXPECT_EQ(suspect.total, expected) << suspect.rank;
  }
  const Diagnosis d = Diagnose(std::move(patterns));
  ASSERT_EQ(d.findings.size(), 2U);
  EXPECT_EQ(d.findings[0].scope.ranks, std::vector<RankId>{7});
  EXPECT_EQ(d.findings[1].id, "data-imbalance-moving");
}

TEST(TwoReplicas, AreStruckAsAWholeWhateverFunctionShowsItOnOneOfThem) {
  MadeMesh mesh({.ranks = 4, .device = false});
  mesh.Groups("mesh_tp", {{0, 1}, {2, 3}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      mesh.Compute(r, Ms(100));
      mesh.Work(r, pattern::WorkClass::kCompute, r == 3 ? "aten::add" : "aten::mm", Ms(10) + InTurns(r / 2, r, s));
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  const std::optional<MovingImbalance> found = FindMovingImbalance(look.In());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->Ranks(), (std::set<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(found->candidate.finding.scope.function, "aten::mm");
}

TEST(TwoReplicas, WhatOneGetsOfTheOtherNowAndThenIsNoTurn) {
  // In every third step 15 ms of the first replica's work are the second one's. Beside these steps the first takes 15
  // ms more in all others, but no more than the second.
  Look look = Replicas([](int replica, int, int step) {
    return step % 3 != 1 ? Nanos{0} : replica == 0 ? -Ms(15) : Ms(15);
  });
  EXPECT_TRUE(StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).empty());
}

TEST(TwoReplicas, BothAreStruckAboutAsMuch) {
  // In turns, the first by 20 ms and the second by 10, which is half of it, or by 9.
  const auto struck = [](Nanos second) {
    Look look = Replicas([second](int replica, int, int step) {
      return step % 2 != replica ? Nanos{0} : replica == 0 ? Ms(20) : second;
    });
    return StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).size();
  };
  EXPECT_EQ(struck(Ms(10)), 4U);
  EXPECT_EQ(struck(Ms(9)), 0U);
}

TEST(TwoReplicas, RanksOfAReplicaThatDoNotAgreeAreChance) {
  // Rank 0 and 3 in even steps, 1 and 2 in odd ones: each pair of counterparts sees the other replica longer.
  Look look =
      Replicas([](int, int rank, int step) { return (rank == 0 || rank == 3) == (step % 2 == 0) ? Ms(20) : 0; });
  EXPECT_TRUE(StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).empty());
}

TEST(TwoReplicas, GroupsWithoutDescriptionsAreToldByTheirLayout) {
  // tp in neighbours, dp two apart: one kind of group each, though neither has a name.
  MadeMesh mesh({.ranks = 4});
  mesh.Groups("", {{0, 1}, {2, 3}});
  mesh.Groups("", {{0, 2}, {1, 3}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) mesh.Compute(r, Ms(100) + InTurns(r / 2, r, s));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  EXPECT_EQ(StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).size(), 4U);
}

TEST(TwoReplicas, OnAHostBackendManyPairsMayBeCloser) {
  // 4 ms of 103 are 3.9 %: more than a fortieth, less than a twentieth, which is asked of fewer than eight pairs.
  const auto struck = [](int pairs) {
    MadeMesh mesh({.ranks = 2 * pairs, .device = false});
    std::vector<int> first, second, all;
    for (int r = 0; r < 2 * pairs; ++r) {
      (r < pairs ? first : second).push_back(r);
      all.push_back(r);
    }
    mesh.Groups("mesh_tp", {first, second});
    const int world = mesh.Group("default_pg", all);
    for (int s = 0; s < 12; ++s) {
      mesh.Step();
      for (int r = 0; r < 2 * pairs; ++r) mesh.Compute(r, Ms(100) + (s % 2 == r / pairs ? Ms(4) : 0));
      mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
    Look look(mesh.Make());
    return StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).size();
  };
  EXPECT_EQ(struck(7), 0U);
  EXPECT_EQ(struck(8), 16U);
}

TEST(TwoReplicas, FewStepsSayNothing) {
  Look look = Replicas(InTurns, false, 5);
  EXPECT_TRUE(StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).empty());
}

TEST(TwoReplicas, APauseBesideItKeepsAFindingOfItsOwn) {
  // Two stages, so that classes are two ranks each. Rank 1 stands still for 500 ms in one step: in one in which its
  // replica is the longer one, or not.
  for (const int step : {4, 5}) {
    MadeMesh mesh({.ranks = 4});
    mesh.Groups("mesh_pp", {{0, 1}, {2, 3}});
    const int world = mesh.Group("default_pg", {0, 1, 2, 3});
    for (int s = 0; s < 12; ++s) {
      mesh.Step();
      for (int r = 0; r < 4; ++r) mesh.Compute(r, Ms(100) + InTurns(r / 2, r, s));
      if (s == step) mesh.Hole(1, Ms(500));
      mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
    const Diagnosis d = Diagnose(mesh.Make());
    const auto is_pause = [](const report::Finding& f) { return f.cause == "paused-process"; };
    const auto it = std::find_if(d.findings.begin(), d.findings.end(), is_pause);
    ASSERT_NE(it, d.findings.end()) << step;
    EXPECT_EQ(it->scope.ranks, std::vector<RankId>{1});
    EXPECT_TRUE(std::any_of(d.findings.begin(), d.findings.end(),
                            [](const report::Finding& f) { return f.id == "data-imbalance-moving"; }));
  }
}

// On a bell curve: twelve even draws, less their mean.
Nanos Noise(std::mt19937* draws, Nanos deviation) {
  double sum = -6;
  for (int k = 0; k < 12; ++k) sum += static_cast<double>((*draws)()) / 4294967296.0;
  return static_cast<Nanos>(sum * static_cast<double>(deviation));
}

TEST(TwoReplicas, ChanceIsNoTurn) {
  // Stages of two ranks that vary by 1.5 % of a step, ten steps: by chance one in some hundred jobs looks like turns.
  for (int pairs = 2; pairs <= 8; ++pairs) {
    int found = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
      std::mt19937 draws(seed);
      MadeMesh mesh({.ranks = 2 * pairs});
      std::vector<int> first, second, all;
      for (int r = 0; r < 2 * pairs; ++r) (r < pairs ? first : second).push_back(r);
      for (int r = 0; r < 2 * pairs; ++r) all.push_back(r);
      mesh.Groups("mesh_pp", {first, second});
      const int world = mesh.Group("default_pg", all);
      for (int s = 0; s < 10; ++s) {
        mesh.Step();
        for (int r = 0; r < 2 * pairs; ++r) mesh.Compute(r, Ms(100) + Noise(&draws, Us(1500)) / 1000 * 1000);
        mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
      }
      found += StruckIn(Look(mesh.Make())) > 0 ? 1 : 0;
    }
    EXPECT_LE(found, 1) << pairs;
  }
}

TEST(TwoReplicas, Healthy) {
  Look look = Replicas([](int, int, int) { return Nanos{0}; });
  EXPECT_TRUE(StrikeReplicas(look.In(), SiblingsOfGroups(look.job)).empty());
}

}  // namespace
}  // namespace headway::diagnose
