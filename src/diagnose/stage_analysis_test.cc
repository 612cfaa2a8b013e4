// SPDX-License-Identifier: Apache-2.0
// Stages of a pipeline that take longer than the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Four stages of one rank each; a step is five calls each of `kernels` kernels, of 5 ms on all but stage 1, which makes
// `calls` of `call`, and what `more` adds to it.
struct Plan {
  int kernels = 4;
  int calls = 5;
  Nanos call = Ms(5);
  std::function<void(MadeMesh*, int rank)> more = [](MadeMesh*, int) {};
  bool device = true;
};

std::vector<Candidate> Analyse(const Plan& plan) {
  MadeMesh mesh({.ranks = 4, .device = plan.device});
  const int pp = mesh.Group("mesh_pp", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      const int calls = r == 1 ? plan.calls : 5;
      for (int k = 0; k < plan.kernels; ++k) {
        mesh.Work(r, WorkClass::kCompute, "kernel" + std::to_string(k), calls * (r == 1 ? plan.call : Ms(5)), calls);
      }
      plan.more(&mesh, r);
    }
    mesh.Meet(pp, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return look.Run(RunStageAnalysis).candidates;
}

TEST(StageAnalysis, MoreCallsAreMoreLayers) {
  // 4 * 8 * 5 = 160 ms, the others 100.
  const std::vector<Candidate> found = Analyse({.calls = 8});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "stage-imbalance");
  EXPECT_EQ(found[0].finding.scope.stage, 1);
  EXPECT_FALSE(found[0].at_most_info);
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Ms(60)));
}

TEST(StageAnalysis, OnePerCentOfAStepIsLongerWithoutDevicesTwo) {
  // 20 calls that take 0.08 ms more each, of a step of 102.6 ms: 1.6 %; of 0.05: just under one.
  const auto found = [](Nanos call, bool device) { return Analyse({.call = call, .device = device}); };
  const std::vector<Candidate> little = found(Us(5080), true);
  ASSERT_EQ(little.size(), 1U);
  EXPECT_EQ(little[0].excess, std::vector<Nanos>(6, Us(1600)));
  EXPECT_TRUE(little[0].at_most_info);
  EXPECT_TRUE(found(Us(5050), true).empty());
  EXPECT_TRUE(found(Us(5080), false).empty());
  EXPECT_EQ(found(Us(5150), false).size(), 1U);  // 3 of 104 ms
}

TEST(StageAnalysis, LayersShowBesideWhatTheFirstAndTheLastStageHaveBesides) {
  // Three stages of ten layers of 10 ms, the first with an embedding of 12 ms, the last with a head of 20; the second
  // has eleven layers, or ten: 110 ms are less than 112, and 10 more than the others' layers.
  const auto found = [](int layers) {
    MadeMesh mesh({.ranks = 3});
    const int pp = mesh.Group("mesh_pp", {0, 1, 2});
    for (int s = 0; s < 6; ++s) {
      mesh.Step();
      for (int r = 0; r < 3; ++r) {
        const int n = r == 1 ? layers : 10;
        mesh.Work(r, WorkClass::kCompute, "gemm", n * Ms(10), n);
      }
      mesh.Work(0, WorkClass::kCompute, "embedding", Ms(12));
      mesh.Work(2, WorkClass::kCompute, "cross_entropy", Ms(20));
      mesh.Meet(pp, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
    Look look(mesh.Make());
    std::vector<Candidate> all = look.Run(RunStageAnalysis).candidates;
    std::erase_if(all, [](const Candidate& c) { return c.finding.scope.stage != 1; });
    return all;
  };
  EXPECT_TRUE(found(10).empty());
  const std::vector<Candidate> more = found(11);
  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(more[0].finding.cause, "stage-imbalance");
  EXPECT_EQ(more[0].excess, std::vector<Nanos>(6, Ms(10)));
  EXPECT_TRUE(more[0].at_most_info);
  EXPECT_EQ(
      more[0].finding.sentence,
      "Of what all stages run stage 1, rank 1 (host n0) has 10.0 ms more to do in a step, by the number of calls: "
      "66 of gemm against 60.");
}

// Two stages of a rank; a step is 100 calls of 1 ms, which vary by 1.6 % from step to step, and on stage 1 `more` calls
// in the steps that `in` tells; it loads its batches for `input`.
std::vector<Candidate> MoreCalls(int more, const std::function<bool(int)>& in, Nanos input = 0, bool both = false) {
  MadeMesh mesh({.ranks = 2});
  const int pp = mesh.Group("mesh_pp", {0, 1});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 2; ++r) {
      const int calls = 100 + ((r == 1 || both) && in(s) ? more : 0);
      mesh.Work(r, WorkClass::kCompute, "gemm", calls * (Us(992) + (r * 5 + s * 7) % 9 * Us(2)), calls);
    }
    mesh.Work(1, WorkClass::kInput, "train.py(7): read_shard", input);
    mesh.Meet(pp, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return look.Run(RunStageAnalysis).candidates;
}

bool InEveryFourth(int step) { return step % 4 == 1; }

TEST(StageAnalysis, MoreCallsInSomeStepsShowBelowWhatTimesVaryBy) {
  const std::vector<Candidate> found = MoreCalls(1, InEveryFourth);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "stage-imbalance");
  EXPECT_EQ(found[0].finding.scope.stage, 1);
  EXPECT_EQ(found[0].finding.when.steps, (std::vector<int64_t>{1, 5, 9}));
  EXPECT_TRUE(found[0].at_most_info);
  for (const Nanos x : found[0].excess) EXPECT_LE(x, Us(1008));  // no more than a call takes
  EXPECT_TRUE(MoreCalls(1, InEveryFourth, 0, true).empty());     // all stages: steps differ, not stages
  EXPECT_TRUE(MoreCalls(1, [](int s) { return s == 3; }).empty());
  EXPECT_TRUE(MoreCalls(1, [](int s) { return s % 3 != 0; }).empty());
  EXPECT_EQ(MoreCalls(1, [](int s) { return s >= 4; }).size(), 1U);
}

TEST(StageAnalysis, MoreCallsInSomeStepsAreToldBesideSlowInput) {
  // 60 ms of input in all steps, 40 calls in three of them: in these under half of the 100 ms is input.
  const std::vector<Candidate> found = MoreCalls(40, InEveryFourth, Ms(60));
  ASSERT_EQ(found.size(), 2U);
  const size_t input = found[0].finding.cause == "slow-input" ? 0 : 1;
  EXPECT_EQ(found[input].finding.cause, "slow-input");
  EXPECT_EQ(*std::max_element(found[input].excess.begin(), found[input].excess.end()), Ms(60));
  EXPECT_EQ(found[1 - input].finding.cause, "stage-imbalance");
  EXPECT_EQ(found[1 - input].finding.when.steps, (std::vector<int64_t>{1, 5, 9}));
}

TEST(StageAnalysis, OfAStageWhoseEveryKernelTakesLongerIsARemark) {
  // The same 160 ms of 5 calls of 8 ms: 1.6 times the others', and no more of them.
  const std::vector<Candidate> found = Analyse({.call = Ms(8)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "stage-imbalance");
  EXPECT_TRUE(found[0].at_most_info);
  EXPECT_NE(found[0].finding.sentence.find("Each call takes 1.60x the time, too"), std::string::npos)
      << found[0].finding.sentence;
}

TEST(StageAnalysis, SlowKernelsExcuseNoMoreThanTheyAre) {
  // 8 calls of 7 ms: 224 ms, of which 224 / 1.4 = 160 are what it has to do.
  const std::vector<Candidate> found = Analyse({.calls = 8, .call = Ms(7)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].at_most_info);
}

TEST(StageAnalysis, ThreeKernelsAreTooFewToTell) {
  const std::vector<Candidate> found = Analyse({.kernels = 3, .call = Ms(8)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].at_most_info);
}

// On stage 1 its batch takes `input` ms and its optimizer `host`, elsewhere 1 ms each.
std::vector<Candidate> WithInput(int input, int host, int elsewhere = 1) {
  return Analyse({.more = [&](MadeMesh* mesh, int r) {
    mesh->Work(r, WorkClass::kInput, "train.py(7): read_shard", Ms(r == 1 ? input : elsewhere));
    mesh->Work(r, WorkClass::kHost, "train.py(30): optimizer", Ms(r == 1 ? host : 1));
  }});
}

TEST(StageAnalysis, AStageThatWaitsForItsBatchesHasNoMoreLayers) {
  // All of 50 ms more, then 35 of 50.
  const std::vector<Candidate> all = WithInput(51, 1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].finding.cause, "slow-input");
  EXPECT_EQ(all[0].finding.id, "slow-input-stage-1");
  EXPECT_EQ(all[0].finding.scope.stage, 1);
  EXPECT_EQ(all[0].excess, std::vector<Nanos>(6, Ms(50)));
  EXPECT_EQ(all[0].longer, 51);
  const std::vector<Candidate> most = WithInput(36, 16);
  ASSERT_EQ(most.size(), 1U);
  EXPECT_EQ(most[0].finding.cause, "slow-input");
}

TEST(StageAnalysis, BatchesThatTakeFarLongerAreTheirOwnMatterBesideWhatElseTakesLonger) {
  // Half of 50 ms is neither most of it; a batch takes 26 times as long as elsewhere.
  const std::vector<Candidate> half = WithInput(26, 26);
  ASSERT_EQ(half.size(), 2U);
  EXPECT_EQ(half[0].finding.cause, "stage-imbalance");
  EXPECT_EQ(half[0].excess, std::vector<Nanos>(6, Ms(25)));
  EXPECT_EQ(half[1].finding.cause, "slow-input");
  EXPECT_EQ(half[1].excess, std::vector<Nanos>(6, Ms(25)));
  EXPECT_EQ(half[1].longer, 26);
  EXPECT_FALSE(half[1].at_most_info);
  const char* told = "take 26.0 ms of own time per step waiting for batches, the other stages 1.0 ms, mostly in read";
  EXPECT_NE(half[1].finding.sentence.find(told), std::string::npos) << half[1].finding.sentence;
  // Where stages load for 15 ms one that loads for 40 has more to load; for 45 that is no more.
  EXPECT_EQ(WithInput(40, 26, 15).size(), 1U);
  EXPECT_EQ(WithInput(45, 26, 15).size(), 2U);
}

TEST(StageAnalysis, OfAStageThatLoadsTheRestCountsBesideItsInput) {
  // Stages 0 and 1 load for 50 ms; stage 1 takes 40 ms longer besides, of what nothing is recorded. All 90 of them
  // would be layers: neither is most of it.
  const std::vector<Candidate> found = Analyse({.more = [](MadeMesh* mesh, int r) {
    if (r < 2) mesh->Work(r, WorkClass::kInput, "enumerate(DataLoader)", Ms(50));
    if (r == 1) mesh->Work(r, WorkClass::kIdle, "(nothing recorded)", Ms(40));
  }});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].finding.cause, "slow-input");
  const report::Finding& finding = found[1].finding;
  EXPECT_EQ(finding.cause, "slow-host-code");
  EXPECT_EQ(finding.scope.ranks, (std::vector<RankId>{1}));
  EXPECT_EQ(found[1].excess, std::vector<Nanos>(6, Ms(40)));
  const char* told = "take 140.0 ms of own time per step beside what they wait for batches and launches, the";
  EXPECT_NE(finding.sentence.find(told), std::string::npos) << finding.sentence;
}

TEST(StageAnalysis, AStageThatCopiesHasNoMoreLayers) {
  const std::vector<Candidate> found = Analyse({.more = [&](MadeMesh* mesh, int r) {
    mesh->Work(r, WorkClass::kMemory, "Memcpy HtoD (Pinned -> Device)", Ms(r == 1 ? 51 : 1));
  }});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "slow-copy");
  EXPECT_EQ(found[0].finding.id, "slow-copy-stage-1");
  EXPECT_NE(found[0].finding.suggestion.find("PCIe"), std::string::npos);
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Ms(50)));
}

TEST(StageAnalysis, CopiesInSomeStepsMakeNoLayers) {
  // 10 ms more to compute in all six steps, and 60 of copies in two: most of the sum, not of most steps.
  Plan plan;
  int work = 0;
  plan.more = [&](MadeMesh* mesh, int r) {
    const int step = work++ / 4;
    mesh->Work(r, WorkClass::kCompute, "kernel0", Ms(r == 1 ? 10 : 0));
    mesh->Work(r, WorkClass::kMemory, "Memcpy HtoD (Pinned -> Device)", Ms(r == 1 && step < 2 ? 61 : 1));
  };
  const std::vector<Candidate> found = Analyse(plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "stage-imbalance");
}

// `own` of nothing recorded on stage 1 and `usual` of it on the others, and `compute` more to compute on stage 1.
Candidate WithHoles(int own, int usual, int compute = 0) {
  Plan plan;
  plan.more = [=](MadeMesh* mesh, int r) {
    mesh->Work(r, WorkClass::kIdle, "(nothing recorded)", Ms(r == 1 ? own : usual));
    if (r == 1) mesh->Work(r, WorkClass::kCompute, "kernel0", Ms(compute));
  };
  const std::vector<Candidate> found = Analyse(plan);
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? Candidate() : found[0];
}

TEST(StageAnalysis, AStageThatTakesLongerBetweenCallsHasNoMoreLayers) {
  // The others compute for 100 ms a step.
  const Candidate all = WithHoles(61, 1);
  EXPECT_EQ(all.finding.cause, "slow-host-code");
  EXPECT_EQ(all.finding.id, "slow-host-code-stage-1");
  EXPECT_EQ(all.excess, std::vector<Nanos>(6, Ms(60)));
  EXPECT_NE(all.finding.suggestion.find("with_stack"), std::string::npos);
  // 55 of 60 ms between calls; 51 or 45 of 60, with more to compute.
  EXPECT_EQ(WithHoles(56, 1, 5).finding.cause, "slow-host-code");
  EXPECT_EQ(WithHoles(52, 1, 9).finding.cause, "stage-imbalance");
  EXPECT_EQ(WithHoles(46, 1, 15).finding.cause, "stage-imbalance");
  // Where a fifth and more of what stages do is never recorded, layers may be in it.
  EXPECT_EQ(WithHoles(90, 30).finding.cause, "stage-imbalance");
}

TEST(StageAnalysis, ARankThatSuffersFromSomethingElseDoesNotSpeakForItsStage) {
  // The second stage has 14 calls of 5 ms for 10; its first rank copies for 60 ms besides, more than that is.
  MadeMesh mesh({.ranks = 8});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      const int calls = r < 4 ? 10 : 14;
      mesh.Work(r, WorkClass::kCompute, "gemm", calls * Ms(5), calls);
      if (r == 4) mesh.Work(r, WorkClass::kMemory, "Memcpy HtoD (Pageable -> Device)", Ms(60));
    }
    for (const int g : pp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  const std::vector<Candidate> found = look.Run(RunStageAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "stage-imbalance");
  EXPECT_EQ(found[0].finding.scope.function, "gemm");
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Ms(20)));
}

TEST(StageAnalysis, LaunchesThatComeLateAreNoLayers) {
  // 60 ms more, `idle` of it in many small pieces before launches, which is told of as such.
  const auto excess = [](int idle) {
    Plan plan;
    plan.more = [=](MadeMesh* mesh, int r) {
      mesh->Work(r, WorkClass::kRuntime, "cudaLaunchKernel", Ms(r == 1 ? idle : 0));
      mesh->Work(r, WorkClass::kCompute, "kernel0", Ms(r == 1 ? 60 - idle : 0));
      mesh->StepOf(r).device_rows = mesh->StepOf(r).launches = 100;
    };
    const std::vector<Candidate> found = Analyse(plan);
    EXPECT_LE(found.size(), 1U);
    if (found.empty()) return Nanos{0};
    EXPECT_EQ(found[0].finding.cause, "stage-imbalance");
    return found[0].excess[0];
  };
  EXPECT_EQ(excess(59), 0);
  EXPECT_EQ(excess(40), Ms(20));
  EXPECT_EQ(excess(30), Ms(30));
  EXPECT_EQ(excess(10), Ms(60));  // a small part: layers have launches
}

// Two stages of two ranks, twelve steps of 100 ms; stage 0 takes `base` and stage 1 `more(step)` longer.
std::vector<Candidate> InSteps(const std::function<Nanos(int)>& more, Nanos base = 0) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int r = 0; r < 4; ++r) mesh.Compute(r, r < 2 ? base : more(s));
    for (const int g : pp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return look.Run(RunStageAnalysis).candidates;
}

TEST(StageAnalysis, AStageThatTakesLongerInSomeStepsIsARemark) {
  // 20 ms more in every fourth step.
  const std::vector<Candidate> found = InSteps([](int s) { return s % 4 == 0 ? Ms(20) : Nanos{0}; });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "stage-imbalance");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{2, 3}));
  EXPECT_TRUE(found[0].at_most_info);
  for (size_t s = 0; s < 12; ++s) EXPECT_EQ(found[0].excess[s], s % 4 == 0 ? Ms(20) : 0) << s;
  EXPECT_EQ(found[0].finding.sentence.rfind("In these steps all ranks of stage 1 take 120.0 ms", 0), 0U)
      << found[0].finding.sentence;
}

TEST(StageAnalysis, AboutHalfOfTheStepsAreSomeMoreAreNot) {
  EXPECT_EQ(InSteps([](int s) { return s % 2 == 0 ? Ms(20) : Nanos{0}; }).size(), 1U);
  // Seven of twelve are six tenths at most.
  EXPECT_EQ(InSteps([](int s) { return s % 2 == 0 || s == 11 ? Ms(20) : Nanos{0}; }).size(), 1U);
  EXPECT_TRUE(InSteps([](int s) { return s % 3 != 0 ? Ms(20) : Nanos{0}; }).empty());  // eight of twelve
}

TEST(StageAnalysis, MoreThanHalfOfTheStepsAreSomeWhereItSetsIn) {
  // Eight of twelve, from step 4 on.
  const std::vector<Candidate> found = InSteps([](int s) { return s >= 4 ? Ms(20) : Nanos{0}; });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "stage-imbalance");
  EXPECT_EQ(found[0].finding.when.kind, report::WhenKind::kOnset);
  EXPECT_EQ(found[0].finding.when.steps, (std::vector<int64_t>{4}));
  EXPECT_TRUE(found[0].at_most_info);
  for (size_t s = 0; s < 12; ++s) EXPECT_EQ(found[0].excess[s], s >= 4 ? Ms(20) : 0) << s;
}

TEST(StageAnalysis, AStageMayBeSlowerThanItWasInThreeQuartersOfTheSteps) {
  // Stage 1 is 30 ms quicker than stage 0 and takes as long from step 3 on, or from step 2: nine steps of twelve are
  // three quarters, ten are more.
  const auto from = [](int begin) {
    return InSteps([begin](int s) { return s >= begin ? Ms(30) : Nanos{0}; }, Ms(30));
  };
  const std::vector<Candidate> found = from(3);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{2, 3}));
  EXPECT_EQ(found[0].finding.when.kind, report::WhenKind::kOnset);
  EXPECT_EQ(found[0].finding.when.steps, (std::vector<int64_t>{3}));
  for (size_t s = 0; s < 12; ++s) EXPECT_EQ(found[0].excess[s], s >= 3 ? Ms(30) : 0) << s;
  EXPECT_TRUE(from(2).empty());
}

TEST(StageAnalysis, WhatVariesAsMuchInOtherStepsIsChance) {
  // Against stage 0 -5, -4, -3, -1, 0, 1, 3, 4, 5 and three times 24 ms. The sixth is usual; those below lie 6, 5, 4, 2
  // and 1 from it: 6 * 1.4826 * 4 ms = 36, and 24 is only 23 above.
  EXPECT_TRUE(InSteps([](int s) { return s % 4 == 0 ? Ms(30) : Ms(s); }, Ms(6)).empty());
  EXPECT_EQ(InSteps([](int s) { return s % 4 == 0 ? Ms(50) : Ms(s); }, Ms(6)).size(), 1U);
}

}  // namespace
}  // namespace headway::diagnose
