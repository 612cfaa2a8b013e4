// SPDX-License-Identifier: Apache-2.0
// Steps in which devices stand idle behind their hosts more than in the others.
#include "diagnose/launch_steps.h"

#include <gtest/gtest.h>

#include <functional>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Four ranks in two stages of two, twelve steps of 100 ms of kernels, 500 us (+-20) behind the host and `more(rank,
// step)`, in 200 launches; `waits(rank, step)` calls wait for the device.
struct Plan {
  std::function<Nanos(int, int)> more = [](int, int) { return Nanos{0}; };
  std::function<int(int, int)> waits = [](int, int) { return 1; };
  Nanos longest_hole = 0;
};

std::vector<Candidate> Find(const Plan& plan) {
  MadeMesh mesh({.ranks = 4});
  mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      mesh.Compute(r, Ms(100));
      mesh.Work(r, WorkClass::kIdle, "(nothing recorded)", Us(500) + Us((r + s) % 3 * 20 - 20) + plan.more(r, s));
      pattern::Step& step = mesh.StepOf(r);
      step.device_rows = step.launches = 200;
      step.syncs = plan.waits(r, s);
      step.longest_stretch = plan.more(r, s) > 0 ? plan.longest_hole : 0;
      step.longest_stretch_function = 0;  // the hole
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return FindLaunchSteps(look.In());
}

Nanos InEveryFourth(int /*rank*/, int step) { return step % 4 == 1 ? Ms(5) : 0; }

TEST(LaunchSteps, ManyWaitsInSomeStepsAreAHiddenSync) {
  const std::vector<Candidate> found =
      Find({.more = InEveryFourth, .waits = [](int, int s) { return s % 4 == 1 ? 101 : 1; }});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "hidden-sync");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1, 2, 3}));
  EXPECT_EQ(found[0].finding.when.steps, (std::vector<int64_t>{1, 5, 9}));
  EXPECT_NE(found[0].finding.sentence.find("waits for the device 100 times more than in the others"),
            std::string::npos);
  for (size_t s = 0; s < 12; ++s) {
    // 5 ms beyond the longest quiet step of a quarter of them, 480 us.
    EXPECT_NEAR(static_cast<double>(found[0].excess[s]), s % 4 == 1 ? 5e6 : 0, 5e4) << s;
  }
  EXPECT_FALSE(found[0].at_most_info);
}

TEST(LaunchSteps, WithoutMoreWaitsEachLaunchComesLate) {
  for (const int waits : {1, 16}) {  // fifteen more read a few statistics
    const std::vector<Candidate> found =
        Find({.more = InEveryFourth, .waits = [waits](int, int s) { return s % 4 == 1 ? waits : 1; }});
    ASSERT_EQ(found.size(), 1U) << waits;
    EXPECT_EQ(found[0].finding.cause, "launch-bound");
    EXPECT_TRUE(found[0].at_most_info);
  }
}

TEST(LaunchSteps, AStageMayHideIt) {
  const std::vector<Candidate> found = Find({.more = [](int r, int s) { return r < 2 ? InEveryFourth(r, s) : 0; }});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1}));
}

TEST(LaunchSteps, WhatRanksRiseByThatShowItLessGoesWithIt) {
  // Of the second stage only rank 2 waits.
  const std::vector<Candidate> found = Find({.more = [](int r, int s) { return r < 3 ? InEveryFourth(r, s) : 0; }});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1}));
  EXPECT_EQ(found[0].edit.own.size(), 9U);  // three steps, in each the one piece of three ranks
}

TEST(LaunchSteps, OfASingleRankOnlyWaitsAreTold) {
  const auto of_one = [](int r, int s) { return r == 3 ? InEveryFourth(r, s) : 0; };
  EXPECT_TRUE(Find({.more = of_one}).empty());  // its peers show whether its host is slow
  const std::vector<Candidate> found =
      Find({.more = of_one, .waits = [](int r, int s) { return r == 3 && s % 4 == 1 ? 101 : 1; }});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "hidden-sync");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{3}));
}

TEST(LaunchSteps, AreSeveralButNotNearlyAll) {
  const auto in = [](int first, int last) {
    return Find({.more = [=](int, int s) { return s >= first && s < last ? Ms(5) : 0; }}).size();
  };
  EXPECT_EQ(in(4, 5), 0U);
  EXPECT_EQ(in(4, 6), 1U);
  EXPECT_EQ(in(3, 12), 1U);
  EXPECT_EQ(in(2, 12), 0U);
}

TEST(LaunchSteps, OneLongHoleIsACallThatTakesItsTime) {
  EXPECT_TRUE(Find({.more = InEveryFourth, .longest_hole = Ms(4)}).empty());
  EXPECT_EQ(Find({.more = InEveryFourth, .longest_hole = Ms(2)}).size(), 1U);
}

TEST(LaunchSteps, WhatVariesIsNoRise) {
  // 40 us between quiet steps, six times that are 240, and a five-hundredth of the step is 203.
  const auto by = [](Nanos more) {
    return Find({.more = [more](int, int s) { return s % 4 == 1 ? more : 0; }}).size();
  };
  EXPECT_EQ(by(Us(100)), 0U);
  EXPECT_EQ(by(Us(400)), 1U);
}

}  // namespace
}  // namespace headway::diagnose
