// SPDX-License-Identifier: Apache-2.0
// What a rank that takes longer than its peers suffers from.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Eight ranks without devices in one group; 24 steps of six operators of 20 ms, which on rank 3 take `percent(step,
// operator)` of that.
AnalysisOutput AnalyseEach(const std::function<int(int step, int op)>& percent) {
  MadeMesh mesh({.ranks = 8, .device = false});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 24; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      for (int f = 0; f < 6; ++f) {
        const Nanos time = Us(200) * (r == 3 ? percent(s, f) : 100);
        mesh.Work(r, WorkClass::kCompute, "aten::op" + std::to_string(f), time, 4);
      }
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return look.Run(RunOwnTimeAnalysis);
}

// All of them alike.
AnalysisOutput Analyse(const std::function<int(int step)>& percent) {
  return AnalyseEach([&](int s, int) { return percent(s); });
}

std::string CauseOf(const std::function<int(int step)>& percent) {
  const AnalysisOutput out = Analyse(percent);
  EXPECT_EQ(out.candidates.size(), 1U);
  return out.candidates.empty() ? "" : out.candidates[0].finding.cause;
}

TEST(OwnTime, TheSameShareOfEverythingNowAndThenIsAThrottledHost) {
  // 30 % more of everything in every third step: 36 of 120 ms.
  const AnalysisOutput out = Analyse([](int s) { return s % 3 == 0 ? 130 : 100; });
  ASSERT_EQ(out.candidates.size(), 1U);
  const Candidate& found = out.candidates[0];
  EXPECT_EQ(found.finding.cause, "slow-host");
  EXPECT_EQ(found.finding.scope.ranks, (std::vector<RankId>{3}));
  EXPECT_EQ(found.finding.when.kind, report::WhenKind::kIntermittent);
  EXPECT_FALSE(found.at_most_info);
  for (size_t s = 0; s < 24; ++s) EXPECT_EQ(found.excess[s], s % 3 == 0 ? Ms(36) : 0) << s;
}

TEST(OwnTime, UnevenSharesAreOtherWorkOnTheMachine) {
  // 10, 90, 20 and 60 % more in turn: 12, 108, 24 and 72 ms, the middle is 48. None is within a third of it.
  constexpr int kPercent[] = {110, 190, 120, 160};
  const AnalysisOutput out = Analyse([&](int s) { return s % 3 == 0 ? kPercent[s / 3 % 4] : 100; });
  ASSERT_EQ(out.candidates.size(), 1U);
  EXPECT_EQ(out.candidates[0].finding.cause, "shared-host");
  EXPECT_TRUE(out.candidates[0].at_most_info);
}

TEST(OwnTime, AQuarterOfTheStruckStepsMayBeOfAnotherShare) {
  // Of eight struck steps two, then three, take three times as much more as the others.
  const auto with_far_ones = [](int far) {
    return CauseOf([far](int s) { return s % 3 != 0 ? 100 : s / 3 < far ? 190 : 130; });
  };
  EXPECT_EQ(with_far_ones(2), "slow-host");
  EXPECT_EQ(with_far_ones(3), "shared-host");
}

TEST(OwnTime, TheSameAmountInOtherFunctionsEachTimeIsOtherWork) {
  // 40 ms in every third step, of three operators now in this and now in that one; the other three are as ever.
  const AnalysisOutput out = AnalyseEach([](int s, int f) { return s % 3 == 0 && f == s / 3 % 3 ? 300 : 100; });
  ASSERT_EQ(out.candidates.size(), 1U);
  EXPECT_EQ(out.candidates[0].finding.cause, "shared-host");
}

TEST(OwnTime, ThreeStruckStepsShowNoShare) {
  EXPECT_EQ(CauseOf([](int s) { return s % 8 == 3 ? 130 : 100; }), "shared-host");
  EXPECT_EQ(CauseOf([](int s) { return s % 6 == 3 ? 130 : 100; }), "slow-host");  // four
}

}  // namespace
}  // namespace headway::diagnose
