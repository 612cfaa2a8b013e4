// SPDX-License-Identifier: Apache-2.0
// Ranks without peers, held against all others call by call.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

constexpr int kStages = 4;

// A pipeline of four stages with one rank each; a step is five calls each of `kernels` kernels, `call(rank)` long, and
// what `more` adds. Stage k sends k + 1 times, so that each has a program of its own.
struct Plan {
  bool device = true;
  size_t kernels = 4;
  std::function<int(int rank)> calls = [](int) { return 5; };
  std::function<Nanos(int rank)> call = [](int) { return Ms(5); };
  std::function<void(MadeMesh*, int rank)> more = [](MadeMesh*, int) {};
};

std::vector<pattern::RankPattern> Make(const Plan& plan) {
  MadeMesh mesh({.ranks = kStages, .device = plan.device});
  const std::vector<int> next = mesh.Groups("mesh_pp", {{0, 1}, {1, 2}, {2, 3}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < kStages; ++r) {
      for (size_t k = 0; k < plan.kernels; ++k) {
        mesh.Work(r, WorkClass::kCompute, "kernel" + std::to_string(k), plan.calls(r) * plan.call(r), plan.calls(r));
      }
      plan.more(&mesh, r);
    }
    for (int r = 0; r + 1 < kStages; ++r) {
      for (int k = 0; k <= r; ++k) mesh.Send(next[static_cast<size_t>(r)], r, 1000, Ms(1));
    }
  }
  return mesh.Make();
}

std::vector<Candidate> Analyse(const Plan& plan) {
  Look look(Make(plan));
  EXPECT_EQ(look.job.classes.size(), 4U);
  return look.Run(RunLoneRanksAnalysis).candidates;
}

TEST(LoneRanks, EveryKernelOfOneTakesLonger) {
  // Four kernels, five calls of 6.5 ms instead of 5: of 130 ms a step 30 are too many.
  Plan plan;
  plan.call = [](int r) { return r == 2 ? Us(6500) : Ms(5); };
  const std::vector<Candidate> found = Analyse(plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "slow-device");
  EXPECT_EQ(found[0].finding.id, "slow-device-lone-2");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{2}));
  EXPECT_NE(found[0].finding.sentence.find("1.30x"), std::string::npos) << found[0].finding.sentence;
  EXPECT_EQ(found[0].finding.when.kind, report::WhenKind::kPersistent);
  ASSERT_EQ(found[0].excess.size(), 6U);
  for (const Nanos x : found[0].excess) EXPECT_NEAR(static_cast<double>(x), 30e6, 10);
  EXPECT_FALSE(found[0].edit.own.empty());
}

TEST(LoneRanks, WithoutDevicesItIsEveryOperator) {
  // As above. What calls of the framework cost by themselves (0.4 ms of 130, three times as many functions) is as ever.
  Plan plan{.device = false};
  plan.call = [](int r) { return r == 2 ? Us(6500) : Ms(5); };
  plan.more = [](MadeMesh* mesh, int r) {
    for (int k = 0; k < 12; ++k) mesh->Work(r, WorkClass::kCompute, "Backward" + std::to_string(k), Us(32), 4);
  };
  const std::vector<Candidate> found = Analyse(plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "slow-host");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{2}));
  // 3 of 13 parts of what it computes, those twelve included.
  for (const Nanos x : found[0].excess) EXPECT_NEAR(static_cast<double>(x), 3.0 / 13 * (130e6 + 12 * 32e3), 10);
  EXPECT_TRUE(found[0].at_most_info);                           // its operators may get more data
  plan.call = [](int r) { return r == 2 ? Us(5700) : Ms(5); };  // 1.14 times: processors do other work, too
  EXPECT_TRUE(Analyse(plan).empty());
  plan.call = [](int r) { return r == 2 ? Us(6500) : Ms(5); };
  plan.more = [](MadeMesh* mesh, int r) { mesh->Work(r, WorkClass::kHost, "optimizer", r == 2 ? Us(1300) : Ms(1), 4); };
  EXPECT_FALSE(Analyse(plan).at(0).at_most_info);  // all of its host
}

TEST(LoneRanks, OperatorsOfOtherShapesAreNotLongerAlike) {
  // Four operators on data four times as large as further on, and one that has more to do with it there: as long.
  Plan plan{.device = false};
  plan.call = [](int r) { return r == 0 ? Ms(20) : Ms(5); };
  const auto conv = [](MadeMesh* mesh, int r) { mesh->Work(r, WorkClass::kCompute, "aten::conv2d", Ms(25), 5); };
  EXPECT_EQ(Analyse(plan).size(), 1U);
  plan.more = conv;
  EXPECT_TRUE(Analyse(plan).empty());
}

TEST(LoneRanks, MoreCallsAreMoreLayers) {
  Plan plan;
  plan.calls = [](int r) { return r == 2 ? 8 : 5; };
  EXPECT_TRUE(Analyse(plan).empty());
}

TEST(LoneRanks, HealthyDevicesDifferByTwoPerCent) {
  Plan plan;
  plan.call = [](int r) { return r == 2 ? Us(5100) : Ms(5); };
  EXPECT_TRUE(Analyse(plan).empty());
}

TEST(LoneRanks, ThreeKernelsAreTooFew) {
  Plan plan;
  plan.kernels = 3;
  plan.call = [](int r) { return r == 2 ? Us(6500) : Ms(5); };
  EXPECT_TRUE(Analyse(plan).empty());
}

TEST(LoneRanks, OthersThatDisagreeSayNothing) {
  // 1.3 times the middle of the others, of whom one takes 1.12 times that: more than a third of 0.3. 1.08 is less.
  const auto found = [](Nanos other) {
    Plan plan;
    plan.call = [other](int r) { return r == 2 ? Us(6500) : r == 0 ? other : Ms(5); };
    return Analyse(plan);
  };
  EXPECT_TRUE(found(Us(5600)).empty());
  ASSERT_FALSE(found(Us(5400)).empty());
  EXPECT_EQ(found(Us(5400)).back().finding.scope.ranks, (std::vector<RankId>{2}));
}

// All ranks but the first call one function; on rank 3 it takes `mine`, on the others 0.25 ms.
std::vector<Candidate> OneFunction(const std::string& name, WorkClass work_class, Nanos mine) {
  Plan plan;
  plan.more = [&](MadeMesh* mesh, int r) {
    if (r > 0) mesh->Work(r, work_class, name, r == 3 ? mine : Us(250));
  };
  return Analyse(plan);
}

TEST(LoneRanks, OneFunctionThatTakesLongerThanWhereItIsCalledElse) {
  // One call a step of 104 ms, elsewhere of 0.25: 103.75 too many.
  const std::vector<Candidate> found = OneFunction("train.py(40): log_metrics", WorkClass::kHost, Ms(104));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "slow-host-code");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{3}));
  EXPECT_EQ(found[0].finding.scope.function, "log_metrics");
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Us(103'750)));
}

TEST(LoneRanks, WhatAFunctionDoesNamesTheCause) {
  EXPECT_EQ(OneFunction("train.py(7): read_shard", WorkClass::kInput, Ms(104)).at(0).finding.cause, "slow-input");
  EXPECT_EQ(OneFunction("gc.collect", WorkClass::kHost, Ms(104)).at(0).finding.cause, "gc-pause");
}

TEST(LoneRanks, AFunctionThatIsLittleOfTheStepIsNoFinding) {
  // Of a step of 100 ms of kernels and some of sends 2 % are a little over 2 ms; beyond 0.25 it is 1.75 and 2.75.
  EXPECT_TRUE(OneFunction("train.py(40): log_metrics", WorkClass::kHost, Ms(2)).empty());
  EXPECT_EQ(OneFunction("train.py(40): log_metrics", WorkClass::kHost, Ms(3)).size(), 1U);
}

TEST(LoneRanks, AFunctionMayDoTwiceAsMuchElsewhere) {
  const auto found = [](Nanos mine) {
    Plan plan;
    plan.more = [mine](MadeMesh* mesh, int r) {
      mesh->Work(r, WorkClass::kHost, "train.py(40): log_metrics", r == 3 ? mine : Ms(10));
    };
    return Analyse(plan).size();
  };
  EXPECT_EQ(found(Ms(29)), 0U);
  EXPECT_EQ(found(Ms(31)), 1U);
}

TEST(LoneRanks, WhatNobodyElseCallsSaysNothing) {
  Plan plan;
  plan.more = [](MadeMesh* mesh, int r) {
    if (r == 3) mesh->Work(r, WorkClass::kHost, "train.py(40): log_metrics", Ms(104));
  };
  EXPECT_TRUE(Analyse(plan).empty());
}

TEST(LoneRanks, RanksWithPeersAreHeldAgainstThose) {
  // The same kernels on four ranks of one program.
  MadeMesh mesh({.ranks = kStages});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < kStages; ++r) {
      for (int k = 0; k < 4; ++k) {
        mesh.Work(r, WorkClass::kCompute, "kernel" + std::to_string(k), r == 0 ? Us(32'500) : Ms(25), 5);
      }
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  EXPECT_TRUE(look.Run(RunLoneRanksAnalysis).candidates.empty());
}

}  // namespace
}  // namespace headway::diagnose
