// SPDX-License-Identifier: Apache-2.0
// What a cause is worth is taken from where it lies: stalls and late launches of all ranks from their piece of the
// step.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "diagnose/analyses.h"
#include "diagnose/diagnosis.h"
#include "diagnose/launch_steps.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;
using trace::CommOp;

// Four ranks, twelve steps of two pieces, 30 ms and 70 ms of kernels, each up to an all-reduce; `more(mesh, rank,
// step)` comes at the end of the second one.
std::vector<pattern::RankPattern> TwoPieces(const std::function<void(MadeMesh*, int, int)>& more) {
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(30));
    mesh.Meet(world, CommOp::kAllReduce, 1000, Ms(1));
    mesh.ComputeAll(Ms(70));
    for (int r = 0; r < 4; ++r) more(&mesh, r, s);
    mesh.Meet(world, CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

struct Taken {
  Nanos first = 0, rest = 0;  // from pieces of 30 ms, and from others
};

Taken TakenBy(const Job& job, const Candidate& candidate) {
  Taken out;
  for (const replay::SegmentEdit::Own& own : candidate.edit.own) {
    const Nanos measured = job.graph.marks[own.mark].Own();
    (measured == Ms(30) ? out.first : out.rest) += measured - own.own;
  }
  return out;
}

TEST(WhereItLies, ACheckpointOfAllRanks) {
  Look look(TwoPieces([](MadeMesh* mesh, int r, int s) {
    if (s == 5) mesh->Work(r, WorkClass::kHost, "train.py(50): save_checkpoint", Ms(40));
  }));
  const std::vector<Candidate> found = look.Run(RunLongStepsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  const Taken taken = TakenBy(look.job, found[0]);
  EXPECT_EQ(taken.first, 0);
  EXPECT_EQ(taken.rest, 4 * Ms(40));
}

TEST(WhereItLies, APauseThatDevicesHideMostOf) {
  // The hosts of all pause for 60 ms in step 5, and devices wait for 40 of them.
  Look look(TwoPieces([](MadeMesh* mesh, int r, int s) {
    if (s == 5) mesh->Hole(r, Ms(40));
    mesh->StepOf(r).host_stretch = s == 5 ? Ms(60) : Ms(5);
    mesh->StepOf(r).host_stretch_function = -1;
  }));
  const std::vector<Candidate> found = look.Run(RunHiddenStallsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  const Taken taken = TakenBy(look.job, found[0]);
  EXPECT_EQ(taken.first, 0);
  EXPECT_EQ(taken.rest, 4 * Ms(40));
}

TEST(WhereItLies, LaunchesThatComeLateInSomeSteps) {
  const auto made = [](MadeMesh* mesh, int r, int s) {
    mesh->Work(r, WorkClass::kIdle, "(nothing recorded)", s % 4 == 1 ? Ms(5) : Us(500));
    mesh->StepOf(r).device_rows = mesh->StepOf(r).launches = 200;
  };
  Look look(TwoPieces(made));
  const std::vector<Candidate> found = FindLaunchSteps(look.In());
  ASSERT_EQ(found.size(), 1U);
  const Taken taken = TakenBy(look.job, found[0]);
  EXPECT_EQ(taken.first, 0);
  EXPECT_EQ(taken.rest, 4 * 3 * Us(4'500));
  // The analysis of devices tells them.
  const std::vector<Candidate> told = look.Run(RunDeviceAnalysis).candidates;
  const auto is_it = [](const Candidate& c) { return c.finding.id == "launch-bound-steps-0"; };
  EXPECT_EQ(std::count_if(told.begin(), told.end(), is_it), 1);
}

TEST(WhereItLies, AnExpertsTokensGoToTheOthers) {
  // Rank 3 of four takes 20 ms longer in one kernel of a program that exchanges tokens: shared out they are 5 for each.
  MadeMesh mesh({.ranks = 4});
  const int ep = mesh.Group("mesh_ep", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.Meet(ep, CommOp::kAllToAll, 1000, Ms(1));
    for (int r = 0; r < 4; ++r) {
      for (const char* kernel : {"attention", "norm", "gemm", "embed"}) {
        mesh.Work(r, WorkClass::kCompute, kernel, Ms(20), 4);
      }
      mesh.Work(r, WorkClass::kCompute, "bmm", r == 3 ? Ms(40) : Ms(20), 4);
    }
    mesh.Meet(ep, CommOp::kAllToAll, 1000, Ms(1));
  }
  const Diagnosis d = Diagnose(mesh.Make());
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings[0].cause, "data-imbalance");
  EXPECT_EQ(d.findings[0].scope.ranks, std::vector<RankId>{3});
  EXPECT_NEAR(static_cast<double>(d.findings[0].recoverable_per_step), 15e6, 0.1e6);
}

TEST(WhereItLies, AHoleInEachStepIsAsLikelyCode) {
  // Rank 2 records nothing for 20 ms in one piece, in all steps or in every fourth.
  const auto sentence = [](int every) {
    MadeMesh mesh({.ranks = 4});
    const int world = mesh.Group("default_pg", {0, 1, 2, 3});
    for (int s = 0; s < 12; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(100));
      if (s % every == 0) {
        mesh.Work(2, WorkClass::kIdle, "(nothing recorded)", Ms(20));
        mesh.StepOf(2).longest_stretch = Ms(20);
      }
      mesh.Meet(world, CommOp::kAllReduce, 1000, Ms(1));
    }
    Look look(mesh.Make());
    const std::vector<Candidate> found = look.Run(RunOwnTimeAnalysis).candidates;
    return found.size() == 1 ? found[0].finding.sentence : "";
  };
  EXPECT_EQ(sentence(1),
            "Nothing of the process ran for 240 ms in all, in one piece in each step: without Python stacks a garbage "
            "collection, or any code, looks the same.");
  EXPECT_EQ(sentence(4),
            "Nothing of the process ran for 60 ms in all, each time in one piece; without Python stacks a garbage "
            "collection looks the same.");
}

}  // namespace
}  // namespace headway::diagnose
