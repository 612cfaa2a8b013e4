// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_speed.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

constexpr int kSteps = 12;

// How many times as long as usual a call takes.
using Slower = std::function<double(int rank, int step, int function)>;

// Two stages on two hosts of two ranks without devices. A step is a batch of 30 ms and `functions` operators of 10 ms
// in ten calls; the second stage has half as many more.
Look TwoHosts(const Slower& slower, int functions = 8) {
  MadeMesh mesh({.ranks = 4, .per_host = 2, .device = false});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  for (int s = 0; s < kSteps; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      mesh.Work(r, WorkClass::kInput, "read_shard", Ms(30));
      const int calls = r < 2 ? 10 : 15;
      for (int f = 0; f < functions; ++f) {
        const auto time = static_cast<Nanos>(slower(r, s, f) * calls * 1e6);
        mesh.Work(r, WorkClass::kCompute, "aten::op" + std::to_string(f), time, calls);
      }
    }
    for (const int g : pp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return Look(mesh.Make());
}

std::vector<SlowSteps> Find(const Slower& slower, int functions = 8) {
  Look look = TwoHosts(slower, functions);
  const std::vector<std::vector<size_t>> hosts = {{0, 1}, {2, 3}};
  return FindSlowSteps(look.job, &look.view, hosts);
}

bool IsThird(int step) { return step % 3 == 2; }

TEST(HostSpeed, FromAStepOnItsCallsTakeLongerThanBefore) {
  // 80 calls of 1 ms, half as long again from the seventh step on: 40 ms. The batch takes what it took.
  const std::vector<SlowSteps> found = Find([](int r, int s, int) { return r < 2 && s >= 6 ? 1.5 : 1; });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].host, 0U);
  EXPECT_NEAR(found[0].ratio, 1.5, 1e-6);
  EXPECT_NEAR(found[0].quiet, 0.8, 1e-6);  // of the mean, which is 1.25
  EXPECT_EQ(found[0].quiet_steps, (std::vector<size_t>{0, 1, 2, 3, 4, 5}));
  ASSERT_EQ(found[0].cost.size(), 2U);
  for (int s = 0; s < kSteps; ++s) {
    EXPECT_NEAR(static_cast<double>(found[0].cost[1][static_cast<size_t>(s)]), s < 6 ? 0 : 40e6, 1e3) << s;
  }
}

TEST(HostSpeed, InEveryThirdStep) {
  // The second stage has 120 calls: a tenth of 120 ms.
  const std::vector<SlowSteps> found = Find([](int r, int s, int) { return r >= 2 && IsThird(s) ? 1.1 : 1; });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].host, 1U);
  EXPECT_NEAR(static_cast<double>(found[0].cost[0][2]), 12e6, 1e3);
  EXPECT_EQ(found[0].cost[0][3], 0);
}

TEST(HostSpeed, WhatStandsStillIsNoSlowCall) {
  // One operator takes a tenth longer like all others, and a second more: twice what it would be counts at most.
  const std::vector<SlowSteps> found = Find([](int r, int s, int f) {
    if (r >= 2 || !IsThird(s)) return 1.0;
    return f == 0 ? 100 : 1.1;
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(static_cast<double>(found[0].cost[0][2]), 9e6, 1e3);  // seven of 1 ms and one of 2 ms
}

TEST(HostSpeed, WhatDoesNotFollowIsNoPartOfIt) {
  const std::vector<SlowSteps> found = Find([](int r, int s, int f) {
    if (r >= 2 || !IsThird(s)) return 1.0;
    return f == 0 ? 0.8 : 1.5;
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(static_cast<double>(found[0].cost[0][2]), 35e6, 1e3);  // seven of 5 ms
}

TEST(HostSpeed, InMostStepsOnlyFromOneOn) {
  EXPECT_TRUE(Find([](int r, int s, int) { return r < 2 && !IsThird(s) ? 1.5 : 1; }).empty());
  EXPECT_EQ(Find([](int r, int s, int) { return r < 2 && s >= 4 ? 1.5 : 1; }).size(), 1U);
}

TEST(HostSpeed, OneStepIsNoSlowHost) {
  EXPECT_TRUE(Find([](int r, int s, int) { return r < 2 && s == 5 ? 1.5 : 1; }).empty());
}

TEST(HostSpeed, HostsWanderByAFewPerCent) {
  EXPECT_TRUE(Find([](int r, int s, int) { return r < 2 && IsThird(s) ? 1.07 : 1; }).empty());
}

TEST(HostSpeed, StepsThatVaryAsMuchSayNothing) {
  // By up to a tenth in the others, too.
  EXPECT_TRUE(Find([](int r, int s, int) { return r >= 2 ? 1 : IsThird(s) ? 1.15 : 1 - 0.02 * (s % 5); }).empty());
}

TEST(HostSpeed, WhereTheOtherHostIsSlowerTooItIsTheWork) {
  EXPECT_TRUE(Find([](int r, int s, int) { return !IsThird(s) ? 1 : r < 2 ? 1.2 : 1.1; }).empty());
}

TEST(HostSpeed, OneOfItsRanksIsNoHost) {
  EXPECT_TRUE(Find([](int r, int s, int) { return r == 0 && IsThird(s) ? 1.5 : 1; }).empty());
}

TEST(HostSpeed, MostKindsOfCallsHaveToBeSlow) {
  const auto of = [](int slow) {
    return Find([slow](int r, int s, int f) { return r < 2 && IsThird(s) && f < slow ? 1.5 : 1; }).size();
  };
  EXPECT_EQ(of(5), 0U);  // with the batch five of nine
  EXPECT_EQ(of(7), 1U);
}

TEST(HostSpeed, OfFewFunctionsNothingIsSaid) {
  const auto slower = [](int r, int s, int) { return r < 2 && IsThird(s) ? 1.5 : 1; };
  EXPECT_TRUE(Find(slower, 6).empty());
  EXPECT_EQ(Find(slower, 7).size(), 1U);  // and the batch
}

TEST(HostSpeed, AHostThatIsSlowInSomeStepsIsToldByThose) {
  // Over all steps its calls take 1.25 times as long as those of the other host.
  Look look = TwoHosts([](int r, int s, int) { return r < 2 && s >= 6 ? 1.5 : 1; });
  const std::vector<Candidate> found = look.Run(RunHostCallsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "slow-host");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1}));
  EXPECT_EQ(found[0].finding.when.kind, report::WhenKind::kOnset);
  EXPECT_FALSE(found[0].at_most_info);
  EXPECT_EQ(found[0].excess[5], 0);
  EXPECT_NEAR(static_cast<double>(found[0].excess[6]), 40e6, 1e3);
}

TEST(HostSpeed, NowAndThenItIsARemark) {
  Look look = TwoHosts([](int r, int s, int) { return r < 2 && IsThird(s) ? 1.5 : 1; });
  const std::vector<Candidate> found = look.Run(RunHostCallsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.when.kind, report::WhenKind::kIntermittent);
  EXPECT_TRUE(found[0].at_most_info);
}

TEST(HostSpeed, AHostThatIsSlowInItsOtherStepsTooIsSlow) {
  Look look = TwoHosts([](int r, int s, int) { return r >= 2 ? 1 : s >= 6 ? 2 : 1.5; });
  const std::vector<Candidate> found = look.Run(RunHostCallsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.when.kind, report::WhenKind::kPersistent);
}

}  // namespace
}  // namespace headway::diagnose
