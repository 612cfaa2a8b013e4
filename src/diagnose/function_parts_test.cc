// SPDX-License-Identifier: Apache-2.0
// Ranks whose hosts are in two functions for longer.
#include "diagnose/function_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnose/analyses.h"
#include "diagnose/class_parts.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

constexpr size_t kSteps = 6;

// Four ranks, 100 ms of operators or kernels a step, and on each 1 ms in either function; rank 2 is in them for longer.
struct Plan {
  Nanos augment = Ms(30), collect = Ms(10);
  std::string second = "gc.collect";
  WorkClass second_class = WorkClass::kHost;
  bool device = true;
  Nanos others = Ms(1);  // rank 2 in each of three further functions
};

std::vector<pattern::RankPattern> Make(const Plan& plan) {
  MadeMesh mesh({.ranks = 4, .device = plan.device});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (size_t s = 0; s < kSteps; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int r = 0; r < 4; ++r) {
      mesh.Work(r, WorkClass::kHost, "train.py(9): augment", Ms(1) + (r == 2 ? plan.augment : 0));
      mesh.Work(r, plan.second_class, plan.second, Ms(1) + (r == 2 ? plan.collect : 0));
      for (const char name : std::string("abc")) {
        mesh.Work(r, WorkClass::kHost, {name}, r == 2 ? plan.others : Ms(1), 10);
      }
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

// What is left of rank 2, and what is split from it.
struct Split {
  std::vector<Suspect> left, seconds;
};

Split SplitOf(const Plan& plan) {
  Look look(Make(plan));
  Split out;
  out.left = FindSuspects(look.In());
  JobCallTimes calls_of(look.job);
  out.seconds = SplitByFunction(look.In(), &out.left, &calls_of);
  return out;
}

TEST(FunctionParts, EachOfTwoFunctionsIsACause) {
  for (const bool device : {true, false}) {
    const auto [left, seconds] = SplitOf({.device = device});
    ASSERT_EQ(left.size(), 1U);
    ASSERT_EQ(seconds.size(), 1U);
    EXPECT_EQ(left[0].cost, std::vector<Nanos>(kSteps, Ms(30)));
    EXPECT_EQ(seconds[0].cost, std::vector<Nanos>(kSteps, Ms(10)));
    EXPECT_EQ(seconds[0].rank, 2U);
    EXPECT_TRUE(left[0].is_part && seconds[0].is_part);
  }
}

TEST(FunctionParts, EachIsToldByItsName) {
  Look look(Make({}));
  const std::vector<Candidate> found = look.Run(RunOwnTimeAnalysis).candidates;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].finding.cause, "slow-host-code");
  EXPECT_EQ(found[0].finding.scope.function, "augment");
  EXPECT_EQ(found[1].finding.cause, "gc-pause");
  EXPECT_EQ(found[1].finding.scope.function, "gc.collect");
  Look input(Make({.second = "train.py(7): read_shard", .second_class = WorkClass::kInput}));
  EXPECT_EQ(input.Run(RunOwnTimeAnalysis).candidates.at(1).finding.cause, "slow-input");
}

TEST(FunctionParts, TheSecondOneIsAnEighthAndTwoPerCentOfAStep) {
  // 5 of 35 ms are a seventh, 4 of 34 less than an eighth; of a step of 121 ms 3 ms are more than 2 %, 2.3 are less.
  EXPECT_EQ(SplitOf({.collect = Ms(5)}).seconds.size(), 1U);
  EXPECT_TRUE(SplitOf({.collect = Ms(4)}).seconds.empty());
  EXPECT_EQ(SplitOf({.augment = Ms(12), .collect = Ms(3)}).seconds.size(), 1U);
  EXPECT_TRUE(SplitOf({.augment = Ms(12), .collect = Us(2300)}).seconds.empty());
}

TEST(FunctionParts, OnASlowHostTwoFunctionsAreWhatShows) {
  EXPECT_EQ(SplitOf({.others = Us(1400)}).seconds.size(), 1U);
  EXPECT_TRUE(SplitOf({.others = Us(1600)}).seconds.empty());
}

TEST(FunctionParts, WhatWasToldByItsClassIsNotToldAgain) {
  Look look(Make(
      {.collect = Ms(60), .second = "train.py(7): read_shard", .second_class = WorkClass::kInput, .device = false}));
  std::vector<Suspect> left = FindSuspects(look.In());
  EXPECT_EQ(SplitByClass(look.In(), &left)[0].size(), 1U);
  JobCallTimes calls_of(look.job);
  EXPECT_TRUE(SplitByFunction(look.In(), &left, &calls_of).empty());
  EXPECT_EQ(left.at(0).cost, std::vector<Nanos>(kSteps, Ms(60)));
}

TEST(FunctionParts, NeitherMayBeWhatAHostIsSlowBy) {
  // Elsewhere the second one takes 1 ms; holes are no function, and what the device does is told by its class.
  Plan plan;
  plan.second = "(nothing recorded)";
  plan.second_class = WorkClass::kIdle;
  EXPECT_TRUE(SplitOf(plan).seconds.empty());
  plan.second = "aten::add";
  plan.second_class = WorkClass::kCompute;
  EXPECT_TRUE(SplitOf(plan).seconds.empty());
  // 1 + 5 ms are six times the peers', of 4 ms 2.25 times.
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (size_t s = 0; s < kSteps; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int r = 0; r < 4; ++r) {
      mesh.Work(r, WorkClass::kHost, "train.py(9): augment", r == 2 ? Ms(21) : Ms(1));
      mesh.Work(r, WorkClass::kHost, "train.py(12): log", r == 2 ? Ms(9) : Ms(4));
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  std::vector<Suspect> left = FindSuspects(look.In());
  ASSERT_EQ(left.size(), 1U);
  JobCallTimes calls_of(look.job);
  EXPECT_TRUE(SplitByFunction(look.In(), &left, &calls_of).empty());
}

}  // namespace
}  // namespace headway::diagnose
