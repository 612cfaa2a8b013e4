// SPDX-License-Identifier: Apache-2.0
// Steps in which all peers take longer.
#include <gtest/gtest.h>

#include <functional>

#include "diagnose/analyses.h"
#include "diagnose/diagnosis.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;
using report::WhenKind;

constexpr const char* kSave = "train.py(50): save_checkpoint";
constexpr const char* kCompile = "torch/_dynamo/convert_frame.py(100): compile_inner";

// Four ranks of one host in two stages of two; ten steps of 100 ms of kernels, what `more` adds, and an all-reduce of
// all.
std::vector<pattern::RankPattern> Make(bool device, const std::function<void(MadeMesh*, int rank, int step)>& more) {
  MadeMesh mesh({.ranks = 4, .device = device});
  mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 10; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      mesh.Compute(r, Ms(100));
      more(&mesh, r, s);
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

TEST(LongSteps, ACheckpointAndACompilationAreTwoFindings) {
  Look look(Make(true, [](MadeMesh* mesh, int r, int s) {
    if (s == 3) mesh->Work(r, WorkClass::kHost, kSave, Ms(80));
    if (s == 6) mesh->Work(r, WorkClass::kHost, kCompile, Ms(120));
  }));
  const std::vector<Candidate> found = look.Run(RunLongStepsAnalysis).candidates;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].finding.cause, "checkpoint-stall");
  EXPECT_EQ(found[0].finding.scope.function, "save_checkpoint");
  EXPECT_EQ(found[0].finding.when.steps, (std::vector<int64_t>{3}));
  EXPECT_EQ(found[0].excess[3], Ms(80));
  EXPECT_EQ(found[0].excess[6], 0);
  EXPECT_EQ(found[1].finding.cause, "compile-or-load");
  EXPECT_EQ(found[1].finding.when.steps, (std::vector<int64_t>{6}));
  EXPECT_EQ(found[1].excess[6], Ms(120));
  for (const Candidate& c : found) {
    EXPECT_EQ(c.finding.scope.ranks, (std::vector<RankId>{0, 1, 2, 3}));
    EXPECT_FALSE(c.at_most_info);
  }
}

TEST(LongSteps, ACheckpointBesideASlowBatchIsToldForWhatItIs) {
  // Batches of 40 ms in steps 0, 3, 6 and 9, and in step 6 a checkpoint of 30: under half of what that step is longer
  // by.
  for (const bool device : {true, false}) {
    Look look(Make(device, [](MadeMesh* mesh, int r, int s) {
      if (s % 3 == 0) mesh->Work(r, WorkClass::kInput, "train.py(7): read_shard", Ms(40));
      if (s == 6) mesh->Work(r, WorkClass::kHost, kSave, Ms(30));
    }));
    std::vector<Candidate> found = look.Run(RunLongStepsAnalysis).candidates;
    std::erase_if(found, [](const Candidate& c) { return c.finding.cause != "checkpoint-stall"; });
    ASSERT_EQ(found.size(), 1U) << device;
    EXPECT_EQ(found[0].finding.scope.function, "save_checkpoint");
    EXPECT_EQ(found[0].finding.when.steps, (std::vector<int64_t>{6}));
    EXPECT_EQ(found[0].excess[6], Ms(30));
  }
}

TEST(LongSteps, EachIsPricedByItsOwnSteps) {
  // Without the checkpoints of 80 ms in steps 3 and 7 the window is 160 ms shorter, without the compilation 120: 16 and
  // 12 ms a step.
  const Diagnosis d = Diagnose(Make(true, [](MadeMesh* mesh, int r, int s) {
    if (s == 3 || s == 7) mesh->Work(r, WorkClass::kHost, kSave, Ms(80));
    if (s == 5) mesh->Work(r, WorkClass::kHost, kCompile, Ms(120));
  }));
  ASSERT_EQ(d.findings.size(), 2U);
  EXPECT_EQ(d.findings[0].cause, "checkpoint-stall");
  EXPECT_EQ(d.findings[0].when.steps, (std::vector<int64_t>{3, 7}));
  EXPECT_NEAR(static_cast<double>(d.findings[0].recoverable_per_step), 16e6, 1e4);
  EXPECT_EQ(d.findings[1].cause, "compile-or-load");
  EXPECT_NEAR(static_cast<double>(d.findings[1].recoverable_per_step), 12e6, 1e4);
  for (const report::Finding& f : d.findings) EXPECT_EQ(f.severity, report::Severity::kWarning);
}

TEST(LongSteps, AStageStruckAlone) {
  // Ranks 2 and 3 are the second stage.
  Look look(Make(true, [](MadeMesh* mesh, int r, int s) {
    if (s == 3 && r >= 2) mesh->Work(r, WorkClass::kHost, kSave, Ms(80));
  }));
  ASSERT_EQ(look.job.classes.size(), 2U);
  const std::vector<Candidate> found = look.Run(RunLongStepsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "checkpoint-stall");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{2, 3}));
}

TEST(LongSteps, StagesStruckInTheSameStepAreStruckByOneThing) {
  Look look(Make(true, [](MadeMesh* mesh, int r, int s) {
    if (s == 3) mesh->Work(r, WorkClass::kHost, kSave, r < 2 ? Ms(80) : Ms(60));
  }));
  const std::vector<Candidate> found = look.Run(RunLongStepsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1, 2, 3}));
  EXPECT_EQ(found[0].excess[3], Ms(80));
}

TEST(LongSteps, EachStageGivesBackItsOwnExcess) {
  // Stages one after the other: 2 and 3 begin their 100 ms when 0 and 1 have sent. Step 3 has 80 ms more of the first
  // stage and 60 of the second one: 140 in ten steps.
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 10; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      if (r >= 2) mesh.Send(pp[static_cast<size_t>(r - 2)], r - 2, 1000, Ms(1));
      mesh.Compute(r, Ms(100));
      if (s == 3) mesh.Work(r, WorkClass::kHost, kSave, r < 2 ? Ms(80) : Ms(60));
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  const Diagnosis d = Diagnose(mesh.Make());
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_NEAR(static_cast<double>(d.findings[0].recoverable_per_step), 14e6, 1e4);
}

TEST(LongSteps, OneRankOfAStageIsNoLongStep) {
  Look look(Make(true, [](MadeMesh* mesh, int r, int s) {
    if (s == 3 && r == 2) mesh->Work(r, WorkClass::kHost, kSave, Ms(80));
  }));
  EXPECT_TRUE(look.Run(RunLongStepsAnalysis).candidates.empty());
}

// A pipeline of three stages of one rank each, every one with a program of its own; what `more` adds to ten steps.
std::vector<pattern::RankPattern> LoneStages(const std::function<void(MadeMesh*, int rank, int step)>& more) {
  MadeMesh mesh({.ranks = 3});
  const std::vector<int> next = mesh.Groups("stages", {{0, 1}, {1, 2}});
  for (int s = 0; s < 10; ++s) {
    mesh.Step();
    for (int r = 0; r < 3; ++r) {
      if (r > 0) mesh.Send(next[static_cast<size_t>(r - 1)], r - 1, 1000, Ms(1));
      mesh.Compute(r, Ms(100));
      more(&mesh, r, s);
    }
  }
  return mesh.Make();
}

TEST(LongSteps, ARankWithoutPeersIsHeldAgainstItsOtherSteps) {
  Look look(LoneStages([](MadeMesh* mesh, int r, int s) {
    if (s == 3 && r == 1) mesh->Hole(r, Ms(80));
  }));
  ASSERT_EQ(look.job.classes.size(), 3U);
  const std::vector<Candidate> found = look.Run(RunLongStepsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  const report::Finding& finding = found[0].finding;
  EXPECT_EQ(finding.cause, "paused-process");
  EXPECT_EQ(finding.scope.ranks, (std::vector<RankId>{1}));
  EXPECT_EQ(finding.when.steps, (std::vector<int64_t>{3}));
  EXPECT_EQ(found[0].excess[3], Ms(80));
  EXPECT_FALSE(found[0].at_most_info);
  // Of it alone, not of "these ranks" or "every rank".
  EXPECT_EQ(finding.sentence.find("In this step it takes longer than in its others. "), 0U) << finding.sentence;
  EXPECT_EQ(finding.sentence.find("rank"), std::string::npos) << finding.sentence;
  EXPECT_NE(finding.confidence_reason.find("no other rank runs the same program"), std::string::npos);
}

TEST(LongSteps, RanksWithoutPeersInTheSameStepAreOneFinding) {
  const auto sentence = [](int from) {
    Look look(LoneStages([from](MadeMesh* mesh, int r, int s) {
      if (s == 3 && r >= from) mesh->Hole(r, Ms(80));
    }));
    const std::vector<Candidate> found = look.Run(RunLongStepsAnalysis).candidates;
    return found.size() == 1 ? found[0].finding.sentence : "";
  };
  EXPECT_EQ(sentence(1).find("In this step these ranks all take longer than in their others. "), 0U) << sentence(1);
  EXPECT_EQ(sentence(0).find("In this step every rank takes longer than in its others. "), 0U) << sentence(0);
}

TEST(LongSteps, MoreComputingInSomeStepsIsNoFinding) {
  for (const int calls : {1, 5}) {  // longer kernels, or more of them
    Look look(Make(true, [calls](MadeMesh* mesh, int r, int s) {
      if (s % 4 == 1) mesh->Work(r, WorkClass::kCompute, "gemm", Ms(50), calls);
    }));
    EXPECT_TRUE(look.Run(RunLongStepsAnalysis).candidates.empty());
  }
}

TEST(LongSteps, WhatNoNameGivesAwayIsARemark) {
  // An evaluation every fifth step may be meant.
  Look look(Make(true, [](MadeMesh* mesh, int r, int s) {
    if (s % 5 == 4) mesh->Work(r, WorkClass::kHost, "train.py(90): evaluate", Ms(60));
  }));
  const std::vector<Candidate> found = look.Run(RunLongStepsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].at_most_info);
  EXPECT_EQ(found[0].finding.when.steps, (std::vector<int64_t>{4, 9}));
}

TEST(LongSteps, RanksThatShareProcessorsAreLateByChance) {
  // 10 ms of 100 in an unnamed function on a host backend: below 15 % of the step. Checkpoints are believed.
  const auto look_at = [](const char* name) {
    Look look(Make(false, [name](MadeMesh* mesh, int r, int s) {
      if (s == 3) mesh->Work(r, WorkClass::kHost, name, Ms(10));
    }));
    return look.Run(RunLongStepsAnalysis).candidates.size();
  };
  EXPECT_EQ(look_at("train.py(90): log"), 0U);
  EXPECT_EQ(look_at(kSave), 1U);
}

// Steps of 100 ms whose length varies by +-4 ms, of neighbours the other way: only 4 * 1.4826 * 4 = 24 ms stand out.
Nanos Varying(int step) { return step % 2 == 0 ? Ms(4) : Ms(-4); }

size_t FoundAmidNoise(bool device, const std::function<void(MadeMesh*, int rank, int step)>& more) {
  Look look(Make(device, [&](MadeMesh* mesh, int r, int s) {
    mesh->Compute(r, Ms(8) + Varying(r + s));
    more(mesh, r, s);
  }));
  return look.Run(RunLongStepsAnalysis).candidates.size();
}

TEST(LongSteps, ANamedStallShowsBelowTheNoiseOfSteps) {
  for (const bool device : {true, false}) {
    EXPECT_EQ(FoundAmidNoise(device,
                             [](MadeMesh* mesh, int r, int s) {
                               if (s == 3) mesh->Work(r, WorkClass::kHost, kSave, Ms(5));
                             }),
              1U);
  }
}

TEST(LongSteps, WhatTheDeviceHidesOfANamedStallIsLittle) {
  // Of a step of 110 ms 0.6 are over 0.4 %, 0.4 are not.
  for (const Nanos stall : {Us(600), Us(400)}) {
    EXPECT_EQ(FoundAmidNoise(true,
                             [stall](MadeMesh* mesh, int r, int s) {
                               if (s == 3) mesh->Work(r, WorkClass::kHost, kSave, stall);
                             }),
              stall > Us(440) ? 1U : 0U);
  }
}

TEST(LongSteps, AShortHoleOnAllRanksIsAStallWhereDevicesComputeOnly) {
  // 1 ms of 101 is over half a per cent, 0.5 is not; on processors a twentieth, 5, is asked for.
  const auto hole = [](bool device, Nanos length) {
    Look look(Make(device, [length](MadeMesh* mesh, int r, int s) {
      if (s == 3) mesh->Hole(r, length);
    }));
    return look.Run(RunLongStepsAnalysis).candidates.size();
  };
  EXPECT_EQ(hole(true, Ms(1)), 1U);
  EXPECT_EQ(hole(true, Us(500)), 0U);
  EXPECT_EQ(hole(false, Ms(1)), 0U);
}

TEST(LongSteps, OneHoleOfTheSameLengthOnAllRanksIsAStall) {
  // 10 ms, of which a host backend's busy machine would make no finding. Of 20 on one rank of a stage and 10 on the
  // other (both above a twentieth of the step) it is not the same hole.
  const auto holes = [](const std::vector<int>& ms) {
    return FoundAmidNoise(false, [&ms](MadeMesh* mesh, int r, int s) {
      if (s == 3) mesh->Hole(r, Ms(ms[static_cast<size_t>(r)]));
    });
  };
  EXPECT_EQ(holes({10, 10, 11, 10}), 1U);
  EXPECT_EQ(holes({20, 10, 20, 10}), 0U);
}

TEST(LongSteps, NoStepLonger) {
  Look look(Make(true, [](MadeMesh*, int, int) {}));
  EXPECT_TRUE(look.Run(RunLongStepsAnalysis).candidates.empty());
}

}  // namespace
}  // namespace headway::diagnose
