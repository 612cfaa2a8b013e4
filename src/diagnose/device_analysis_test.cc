// SPDX-License-Identifier: Apache-2.0
// Devices that stand idle behind their host.
#include <gtest/gtest.h>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Two ranks; a step is 100 ms of kernels, `idle` behind the host, and an all-reduce of 1 ms.
struct Plan {
  Nanos idle = Ms(30);
  int launches = 100;
  int syncs = 0;
  Nanos longest_hole = Us(300);
  Nanos first_more = 0;  // in the first step
  Nanos rank_1_less = 0;
};

std::vector<pattern::RankPattern> MakeRanks(const Plan& plan) {
  MadeMesh mesh({.ranks = 2});
  const int dp = mesh.Group("mesh_dp", {0, 1});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int r = 0; r < 2; ++r) {
      mesh.Work(r, WorkClass::kIdle, "(nothing recorded)",
                plan.idle + (s == 0 ? plan.first_more : 0) - (r == 1 ? plan.rank_1_less : 0));
      pattern::Step& step = mesh.StepOf(r);
      step.device_rows = 100;
      step.launches = plan.launches;
      step.syncs = plan.syncs;
      step.longest_stretch = plan.longest_hole;
      step.longest_stretch_function = 0;  // the hole
    }
    mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

std::vector<Candidate> Analyse(const Plan& plan) {
  Look look(MakeRanks(plan));
  return look.Run(RunDeviceAnalysis).candidates;
}

TEST(DeviceAnalysis, ManyHolesWithoutWaitsAreLaunchBound) {
  // 30 of 131 ms: above a fifth, a warning.
  const std::vector<Candidate> found = Analyse({});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "launch-bound");
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Ms(30)));
  EXPECT_FALSE(found[0].at_most_info);
}

TEST(DeviceAnalysis, ManyHolesAfterWaitsAreHiddenSyncs) {
  // 150 us of idle time a wait, about what it takes to launch again.
  Plan plan;
  plan.syncs = 200;
  const std::vector<Candidate> found = Analyse(plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "hidden-sync");
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(6, Ms(30)));
}

TEST(DeviceAnalysis, WaitsThatExplainLittleLeaveItLaunchBound) {
  for (const int syncs : {2, 6}) {  // one or two read the loss; with six it would be 5 ms a wait
    Plan plan;
    plan.syncs = syncs;
    const std::vector<Candidate> found = Analyse(plan);
    ASSERT_EQ(found.size(), 1U) << syncs;
    EXPECT_EQ(found[0].finding.cause, "launch-bound") << syncs;
  }
}

TEST(DeviceAnalysis, LittleIdleTimeIsARemarkOnlyWhereWaitsCauseIt) {
  // 0.9 of 101.9 ms.
  Plan plan;
  plan.idle = Us(900);
  EXPECT_TRUE(Analyse(plan).empty());
  plan.syncs = 8;
  const std::vector<Candidate> found = Analyse(plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "hidden-sync");
  EXPECT_TRUE(found[0].at_most_info);
}

// What the edit takes off own time in all.
Nanos Taken(const Plan& plan) {
  Look look(MakeRanks(plan));
  const AnalysisOutput found = look.Run(RunDeviceAnalysis);
  Nanos sum = 0;
  for (const auto& change : found.candidates.at(0).edit.own) {
    sum += look.job.graph.marks[change.mark].Own() - change.own;
  }
  return sum;
}

TEST(DeviceAnalysis, WaitsOfRanksThatHaveLessGoWithIt) {
  // Six steps of 30 ms on rank 0; on rank 1 of 5 ms, which is too little to name it.
  Plan plan;
  plan.rank_1_less = Ms(25);
  EXPECT_EQ(Analyse(plan)[0].finding.scope.ranks, (std::vector<RankId>{0}));
  EXPECT_NEAR(static_cast<double>(Taken(plan)), 6 * 30e6 + 6 * 5e6, 100);
}

TEST(DeviceAnalysis, TheFirstStepLacksWhatWasLaunchedBefore) {
  // 70 ms in the first step, 30 in the other five.
  Plan plan;
  plan.first_more = Ms(40);
  EXPECT_NEAR(static_cast<double>(Taken(plan)), 2 * 6 * 30e6, 100);
}

TEST(DeviceAnalysis, OneLongHoleIsNoLaunch) {
  Plan plan;
  plan.longest_hole = Ms(25);
  EXPECT_TRUE(Analyse(plan).empty());
}

TEST(DeviceAnalysis, GapsInsideAGraphAreNotTheHosts) {
  Plan plan;
  plan.launches = 2;
  EXPECT_TRUE(Analyse(plan).empty());
}

}  // namespace
}  // namespace headway::diagnose
