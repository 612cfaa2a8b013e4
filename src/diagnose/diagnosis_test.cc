// SPDX-License-Identifier: Apache-2.0
// Whole diagnoses of made jobs whose answer is arithmetic.
#include "diagnose/diagnosis.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/made_job.h"

namespace headway::diagnose {
namespace {

using report::Finding;
using report::Severity;
using report::WhenKind;

Nanos Ms(int64_t ms) { return ms * kMillisecond; }

std::vector<Finding> Loud(const Diagnosis& d) {
  std::vector<Finding> out;
  for (const Finding& f : d.findings) {
    if (f.severity != Severity::kInfo) out.push_back(f);
  }
  return out;
}

// Some ms of variation that no rank and no step owns: the healthy background of all cases.
Nanos Own(int rank, int step) { return Ms(100) + Nanos{(rank * 7 + step * 5) % 4} * 200 * kMicrosecond; }

TEST(Diagnosis, HealthyJobHasNoWarning) {
  MadeJob made;
  made.own = Own;
  const Diagnosis d = Diagnose(Make(made));
  EXPECT_TRUE(Loud(d).empty());
  EXPECT_LT(d.job.replay_error.max, 1e-6);
  EXPECT_LT(d.detection_floor, Ms(5));
}

TEST(Diagnosis, SlowLoaderOnOneRank) {
  // Rank 2 takes 40 ms more in its loader in every step: all others wait 40 ms, so fixing it brings 40 ms a step.
  MadeJob made;
  made.own = Own;
  made.extra = [](int rank, int) { return rank == 2 ? Ms(40) : 0; };
  const Diagnosis d = Diagnose(Make(made));
  ASSERT_EQ(Loud(d).size(), 1U);
  const Finding f = Loud(d)[0];
  EXPECT_EQ(f.cause, "slow-input");
  EXPECT_EQ(f.scope.ranks, (std::vector<RankId>{2}));
  EXPECT_EQ(f.scope.function, "read_shard");
  EXPECT_EQ(f.when.kind, WhenKind::kPersistent);
  EXPECT_EQ(f.victims, (std::vector<RankId>{0, 1, 3}));
  EXPECT_NEAR(static_cast<double>(f.recoverable_per_step), 40e6, 1e6);
  EXPECT_EQ(f.severity, Severity::kCritical);  // 40 of 142 ms is above a fifth
}

TEST(Diagnosis, OnePauseIsOnceAndPricedOverTheWindow) {
  // 300 ms in step 3 of 6: 50 ms per step over the window, 300 in its worst step.
  MadeJob made;
  made.own = Own;
  made.extra = [](int rank, int step) { return rank == 1 && step == 3 ? Ms(300) : 0; };
  const Diagnosis d = Diagnose(Make(made));
  ASSERT_EQ(Loud(d).size(), 1U);
  const Finding f = Loud(d)[0];
  EXPECT_EQ(f.when.kind, WhenKind::kOnce);
  EXPECT_EQ(f.when.steps, (std::vector<int64_t>{3}));
  EXPECT_NEAR(static_cast<double>(f.recoverable_per_step), 50e6, 1e6);
  EXPECT_NEAR(static_cast<double>(f.worst_step), 300e6, 2e6);
}

TEST(Diagnosis, IntermittentNamesItsSteps) {
  MadeJob made;
  made.steps = 9;
  made.own = Own;
  made.extra = [](int rank, int step) { return rank == 3 && step % 3 == 1 ? Ms(60) : 0; };
  const Diagnosis d = Diagnose(Make(made));
  ASSERT_EQ(Loud(d).size(), 1U);
  EXPECT_EQ(Loud(d)[0].when.kind, WhenKind::kIntermittent);
  EXPECT_EQ(Loud(d)[0].when.steps, (std::vector<int64_t>{1, 4, 7}));
}

TEST(Diagnosis, TwoFaultsThatHideOneAnother) {
  // Rank 0 is 60 ms longer, rank 3 44 ms: alone, fixing rank 0 brings 16 and fixing rank 3 nothing; together 60. Half
  // of what each brings first and last: (16 + 60) / 2 = 38 and (0 + 44) / 2 = 22, which add up to the 60.
  MadeJob made;
  made.own = [](int rank, int step) { return Own(rank, step) + (rank == 3 ? Ms(44) : 0); };
  made.extra = [](int rank, int) { return rank == 0 ? Ms(60) : 0; };
  const Diagnosis d = Diagnose(Make(made));
  ASSERT_EQ(Loud(d).size(), 2U);
  EXPECT_EQ(Loud(d)[0].scope.ranks, (std::vector<RankId>{0}));
  EXPECT_EQ(Loud(d)[1].scope.ranks, (std::vector<RankId>{3}));
  EXPECT_NEAR(static_cast<double>(Loud(d)[0].recoverable_per_step), 38e6, 2e6);
  EXPECT_NEAR(static_cast<double>(Loud(d)[1].recoverable_per_step), 22e6, 2e6);
  EXPECT_NEAR(static_cast<double>(d.all_removed_per_step), 60e6, 2e6);
}

TEST(Diagnosis, AllRanksWaitingForInputIsACommonCause) {
  MadeJob made;
  made.own = Own;
  made.extra = [](int, int) { return Ms(50); };
  const Diagnosis d = Diagnose(Make(made));
  ASSERT_EQ(Loud(d).size(), 1U);
  EXPECT_EQ(Loud(d)[0].cause, "slow-input");
  EXPECT_EQ(Loud(d)[0].scope.ranks.size(), 4U);
}

TEST(Diagnosis, ImbalanceThatMovesNamesNoRank) {
  // Another rank is 50 ms longer in each step, always in the same operator.
  MadeJob made;
  made.steps = 8;
  made.own = [](int rank, int step) { return Own(rank, step) + (rank == (step * 3) % 4 ? Ms(50) : 0); };
  const Diagnosis d = Diagnose(Make(made));
  ASSERT_EQ(Loud(d).size(), 1U);
  EXPECT_EQ(Loud(d)[0].cause, "data-imbalance");
  EXPECT_TRUE(Loud(d)[0].scope.ranks.empty());
  EXPECT_EQ(Loud(d)[0].when.kind, WhenKind::kIntermittent);
}

TEST(Diagnosis, LateEntryIsNoFaultInsideTheWindow) {
  MadeJob made;
  made.own = Own;
  made.entry_skew = Ms(70);
  const Diagnosis d = Diagnose(Make(made));
  ASSERT_EQ(Loud(d).size(), 1U);
  EXPECT_EQ(Loud(d)[0].cause, "late-entry");
  EXPECT_EQ(Loud(d)[0].scope.ranks, (std::vector<RankId>{0}));
}

TEST(Diagnosis, OrderOfFilesChangesNothing) {
  MadeJob made;
  made.own = Own;
  made.extra = [](int rank, int) { return rank == 2 ? Ms(40) : 0; };
  std::vector<pattern::RankPattern> reversed = Make(made);
  std::reverse(reversed.begin(), reversed.end());
  const Diagnosis a = Diagnose(Make(made));
  const Diagnosis b = Diagnose(std::move(reversed));
  ASSERT_EQ(a.findings.size(), b.findings.size());
  for (size_t i = 0; i < a.findings.size(); ++i) {
    EXPECT_EQ(a.findings[i].id, b.findings[i].id);
    EXPECT_EQ(a.findings[i].recoverable_per_step, b.findings[i].recoverable_per_step);
  }
}

TEST(Diagnosis, MissingRankIsNamedAndTheRestStillJudged) {
  MadeJob made;
  made.own = Own;
  made.extra = [](int rank, int) { return rank == 2 ? Ms(40) : 0; };
  std::vector<pattern::RankPattern> ranks = Make(made);
  ranks.erase(ranks.begin() + 1);
  const Diagnosis d = Diagnose(std::move(ranks));
  EXPECT_EQ(d.job.missing, (std::vector<RankId>{1}));
  ASSERT_EQ(Loud(d).size(), 1U);
  EXPECT_EQ(Loud(d)[0].scope.ranks, (std::vector<RankId>{2}));
}

TEST(Diagnosis, SkippedAnalysisIsSaid) {
  MadeJob made;
  made.extra = [](int rank, int) { return rank == 2 ? Ms(40) : 0; };
  const Diagnosis d = Diagnose(Make(made), {{"own-time"}});
  EXPECT_TRUE(Loud(d).empty());
  EXPECT_TRUE(std::any_of(d.not_checked.begin(), d.not_checked.end(),
                          [](const auto& n) { return n.why == "switched off by --skip"; }));
}

}  // namespace
}  // namespace headway::diagnose
