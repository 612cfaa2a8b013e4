// SPDX-License-Identifier: Apache-2.0
// Exchanges in many small pieces, and exchanges that nothing hides.
#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

// Four ranks in one group; a step is `work` of kernels, then `calls` all-reduces of `bytes`, each blocking for
// `transfer`.
struct Plan {
  std::string desc = "mesh_dp";
  Nanos work = Ms(100);
  int calls = 4;
  Bytes bytes = 25'000'000;
  Nanos transfer = Ms(10);
  bool is_hidden = false;  // all of them but the last run beside the work
};

std::vector<Candidate> Analyse(const Plan& plan) {
  MadeMesh mesh({.ranks = 4});
  const int group = mesh.Group(plan.desc, {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int k = 0; k + 1 < plan.calls && plan.is_hidden; ++k) {
      mesh.MeetBeside(group, CommOp::kAllReduce, plan.bytes, plan.transfer);
      mesh.ComputeAll(plan.work / (plan.calls - 1));
    }
    if (!plan.is_hidden) mesh.ComputeAll(plan.work);
    for (int k = plan.is_hidden ? plan.calls - 1 : 0; k < plan.calls; ++k) {
      mesh.Meet(group, CommOp::kAllReduce, plan.bytes, plan.transfer);
    }
  }
  Look look(mesh.Make());
  return look.Run(RunCollectivesAnalysis).candidates;
}

TEST(Collectives, ManySmallOnes) {
  // 100 calls of 100 KB, 200 us each: 250 fit into a bucket of 25 MB, so 1 - 1/250 of the starts go: 100 * 199.2 us.
  Plan plan;
  plan.calls = 100;
  plan.bytes = 100'000;
  plan.transfer = Us(200);
  const std::vector<Candidate> found = Analyse(plan);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].finding.cause, "small-collectives");
  EXPECT_TRUE(found[0].at_most_info);
  EXPECT_NEAR(static_cast<double>(found[0].excess[0]), 19.92e6, 1e3);
}

TEST(Collectives, OfManySmallOnesOnlyTheirStartsGo) {
  // 100 calls of 100 KB and 200 us, beside four of 100 bytes and 20 us in each step: that is what a start takes. It
  // goes of 1 - 1/250 of the calls: 100 * 19.92 us.
  MadeMesh mesh({.ranks = 4});
  const int group = mesh.Group("mesh_dp", {0, 1, 2, 3});
  const int other = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int k = 0; k < 100; ++k) mesh.Meet(group, CommOp::kAllReduce, 100'000, Us(200));
    for (int k = 0; k < 4; ++k) mesh.Meet(other, CommOp::kAllReduce, 100, Us(20));
  }
  Look look(mesh.Make());
  const std::vector<Candidate> found = look.Run(RunCollectivesAnalysis).candidates;
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].finding.cause, "small-collectives");
  EXPECT_NEAR(static_cast<double>(found[0].excess[0]), 1.992e6, 1e3);
}

TEST(Collectives, ManyShortOnesWhoseSizesAreNotWritten) {
  // 100 calls of 100 us, none of which takes longer than the shortest: down to 64 calls 36 starts go, 3.6 ms.
  Plan plan;
  plan.calls = 100;
  plan.bytes = -1;
  plan.transfer = Us(100);
  const std::vector<Candidate> found = Analyse(plan);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].finding.cause, "small-collectives");
  EXPECT_TRUE(found[0].at_most_info);
  EXPECT_NEAR(static_cast<double>(found[0].excess[0]), 3.6e6, 1e3);
  EXPECT_NE(found[0].finding.sentence.find("no sizes are written"), std::string::npos) << found[0].finding.sentence;
}

bool IsAnySmall(const std::vector<Candidate>& found) {
  return std::any_of(found.begin(), found.end(),
                     [](const Candidate& c) { return c.finding.cause == "small-collectives"; });
}

// Four ranks; a step is 100 ms of kernels, ten all-reduces of 100 us and 90 of `rest` in one group, sizes not written.
std::vector<Candidate> MostOf(Nanos rest) {
  MadeMesh mesh({.ranks = 4});
  const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int k = 0; k < 100; ++k) mesh.Meet(dp, CommOp::kAllReduce, -1, k < 10 ? Us(100) : rest);
  }
  Look look(mesh.Make());
  return look.Run(RunCollectivesAnalysis).candidates;
}

TEST(Collectives, WithoutSizesLongOnesAreNotSmall) {
  // Beside some of 100 us, 300 are hardly longer and 310 are.
  EXPECT_TRUE(IsAnySmall(MostOf(Us(300))));
  EXPECT_FALSE(IsAnySmall(MostOf(Us(310))));
}

TEST(Collectives, WithoutSizesEquallyLongOnesMayBeLarge) {
  // 100 calls, none longer than the shortest. Up to 150 us may be a start; in longer ones a quick network moves
  // megabytes.
  const auto found = [](Nanos transfer) {
    Plan plan;
    plan.calls = 100;
    plan.bytes = -1;
    plan.transfer = transfer;
    return IsAnySmall(Analyse(plan));
  };
  EXPECT_TRUE(found(Us(150)));
  EXPECT_FALSE(found(Us(151)));
  EXPECT_FALSE(found(Ms(10)));
}

TEST(Collectives, ManyLargeOrFewSmallOnesAreUsual) {
  Plan large;
  large.calls = 100;
  large.bytes = 10'000'000;
  large.transfer = Us(200);
  Plan few;
  few.calls = 20;
  few.bytes = 100'000;
  few.transfer = Us(200);
  for (const Plan& plan : {large, few}) {
    for (const Candidate& c : Analyse(plan)) EXPECT_NE(c.finding.cause, "small-collectives");
  }
}

TEST(Collectives, ManySmallOnesInSomeSteps) {
  // In every third step 100 calls of 100 KB, 200 us each, in the others four. On average 36, but there 19.92 ms.
  MadeMesh mesh({.ranks = 4});
  const int group = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int k = 0; k < (s % 3 == 0 ? 100 : 4); ++k) mesh.Meet(group, CommOp::kAllReduce, 100'000, Us(200));
  }
  Look look(mesh.Make());
  const std::vector<Candidate> found = look.Run(RunCollectivesAnalysis).candidates;
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].finding.cause, "small-collectives");
  for (size_t s = 0; s < 6; ++s) EXPECT_NEAR(static_cast<double>(found[0].excess[s]), s % 3 == 0 ? 19.92e6 : 0, 1e3);
  EXPECT_EQ(found[0].finding.sentence.rfind("In some steps gradients or parameters travel in 100 all-reduce", 0), 0U)
      << found[0].finding.sentence;
}

TEST(Collectives, ExchangesThatNothingHides) {
  // Four of 10 ms behind 100 ms of kernels: all but the last could run beside them.
  const std::vector<Candidate> found = Analyse({});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "lost-overlap");
  EXPECT_TRUE(found[0].at_most_info);
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Ms(30)));
}

TEST(Collectives, NoMoreThanTheWorkCanHide) {
  // Two thirds of 30 ms of kernels.
  Plan plan;
  plan.work = Ms(30);
  const std::vector<Candidate> found = Analyse(plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Ms(20)));
}

TEST(Collectives, HiddenTransfersAreNotLostOverlap) {
  // The first three run beside kernels, only the last one is waited for.
  Plan plan;
  plan.is_hidden = true;
  EXPECT_TRUE(Analyse(plan).empty());
}

TEST(Collectives, OneExchangeHasNothingToRunBeside) {
  Plan plan;
  plan.calls = 1;
  plan.transfer = Ms(40);
  EXPECT_TRUE(Analyse(plan).empty());
}

TEST(Collectives, WhatALayerWaitsForIsNoExchange) {
  for (const char* desc : {"mesh_tp", "mesh_ep"}) {
    Plan plan;
    plan.desc = desc;
    EXPECT_TRUE(Analyse(plan).empty()) << desc;
  }
}

TEST(Collectives, AGroupOfAllWithoutARoleIsTheOnlyExchange) {
  Plan plan;
  plan.desc = "default_pg";
  EXPECT_EQ(Analyse(plan).size(), 1U);
}

TEST(Collectives, WhereOtherGroupsSayWhatTheyAreForThatOfAllIsNone) {
  // The same exchanges in the group of all, beside tp groups: gradients go elsewhere.
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (const int g : tp) mesh.Meet(g, CommOp::kAllReduce, 25'000'000, Ms(1));
    for (int k = 0; k < 4; ++k) mesh.Meet(world, CommOp::kAllReduce, 25'000'000, Ms(10));
  }
  Look look(mesh.Make());
  EXPECT_TRUE(look.Run(RunCollectivesAnalysis).candidates.empty());
}

// Two all-gathers before and two reduce-scatters behind `work` of kernels, 10 ms each.
std::vector<Candidate> ParametersAndGradients(Nanos work) {
  MadeMesh mesh({.ranks = 4});
  const int dp = mesh.Group("mesh_fsdp", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int k = 0; k < 2; ++k) mesh.Meet(dp, CommOp::kAllGather, 25'000'000, Ms(10));
    mesh.ComputeAll(work);
    for (int k = 0; k < 2; ++k) mesh.Meet(dp, CommOp::kReduceScatter, 25'000'000, Ms(10));
  }
  Look look(mesh.Make());
  return look.Run(RunCollectivesAnalysis).candidates;
}

TEST(Collectives, ParametersAndGradientsAreOneFinding) {
  // Of each kind one could be hidden.
  const std::vector<Candidate> found = ParametersAndGradients(Ms(100));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "lost-overlap");
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Ms(20)));
}

TEST(Collectives, WhatHasNothingToRunBesideIsTheLastOfGradientsAndTheFirstOfParameters) {
  // 30 ms and 10 ms behind 100 ms of kernels, or before.
  const auto saved = [](CommOp op, bool before) {
    MadeMesh mesh({.ranks = 4});
    const int dp = mesh.Group("mesh_fsdp", {0, 1, 2, 3});
    for (int s = 0; s < 6; ++s) {
      mesh.Step();
      if (!before) mesh.ComputeAll(Ms(100));
      for (const Nanos transfer : {Ms(30), Ms(10)}) mesh.Meet(dp, op, 25'000'000, transfer);
      if (before) mesh.ComputeAll(Ms(100));
    }
    Look look(mesh.Make());
    return look.Run(RunCollectivesAnalysis).candidates.at(0).excess.at(0);
  };
  EXPECT_EQ(saved(CommOp::kAllReduce, false), Ms(30));
  EXPECT_EQ(saved(CommOp::kReduceScatter, false), Ms(30));
  EXPECT_EQ(saved(CommOp::kAllGather, true), Ms(10));
}

TEST(Collectives, ANumberBehindTheLastBucketIsNoBucket) {
  // 40 ms of gradients, in one bucket or two, and the loss: of one bucket nothing can be hidden, of two the first.
  const auto saved = [](const std::vector<Nanos>& buckets) {
    MadeMesh mesh({.ranks = 4});
    const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
    for (int s = 0; s < 6; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(100));
      for (const Nanos transfer : buckets) mesh.Meet(dp, CommOp::kAllReduce, 25'000'000, transfer);
      mesh.Meet(dp, CommOp::kAllReduce, 4, Us(100));
    }
    Look look(mesh.Make());
    const std::vector<Candidate> found = look.Run(RunCollectivesAnalysis).candidates;
    return found.empty() ? Nanos{0} : found[0].excess[0];
  };
  EXPECT_EQ(saved({Ms(40)}), 0);
  EXPECT_EQ(saved({Ms(20), Ms(20)}), Ms(20) + Us(100));
}

TEST(Collectives, WorkHidesOnlyOneThingAtATime) {
  // Two thirds of 24 ms are 16: one all-gather of 10, and 6 of a reduce-scatter.
  const std::vector<Candidate> found = ParametersAndGradients(Ms(24));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Ms(16)));
}

}  // namespace
}  // namespace headway::diagnose
