// SPDX-License-Identifier: Apache-2.0
// Ranks whose files do not hold the same steps.
#include "diagnose/common_steps.h"

#include <gtest/gtest.h>

#include "diagnose/diagnosis.h"
#include "diagnose/made_job.h"
#include "diagnose/step_selection.h"

namespace headway::diagnose {
namespace {

// A healthy job of four ranks and ten steps, of which each rank recorded those that `has` names.
std::vector<pattern::RankPattern> Recorded(const std::vector<std::pair<int64_t, int64_t>>& has) {
  MadeJob made;
  made.steps = 10;
  std::vector<pattern::RankPattern> ranks = Make(made);
  for (size_t r = 0; r < ranks.size(); ++r) {
    SelectSteps(has[r].first, has[r].second, &ranks[r]);
    ranks[r].unread_steps.clear();
    std::erase_if(ranks[r].comms.instances, [](const auto& row) { return row.step < 0; });
  }
  return ranks;
}

void ExpectNoWarning(const Diagnosis& d) {
  for (const report::Finding& f : d.findings) EXPECT_EQ(f.severity, report::Severity::kInfo) << f.id;
}

TEST(CommonSteps, OnlyWhatNearlyAllHaveIsCompared) {
  const Diagnosis d = Diagnose(Recorded({{0, 5}, {3, 9}, {0, 5}, {3, 9}}));
  EXPECT_EQ(d.job.steps, (std::vector<int64_t>{3, 4, 5}));
  ASSERT_EQ(d.job.doubts.size(), 1U);
  EXPECT_EQ(d.job.doubts[0], "ranks 0, 2 have steps #0-5, ranks 1, 3 have steps #3-9: only steps #3-5 are compared");
  ExpectNoWarning(d);
}

TEST(CommonSteps, WithoutAnyNothingIs) {
  const Diagnosis d = Diagnose(Recorded({{0, 4}, {5, 9}, {0, 4}, {5, 9}}));
  EXPECT_TRUE(d.findings.empty());
  EXPECT_TRUE(LacksTime(d.job));
  EXPECT_EQ(WhyNoTime(d.job),
            "no step is on three quarters of the ranks or more: ranks 0, 2 have steps #0-4, ranks 1, 3 have steps "
            "#5-9");
}

// The odd one of four is left out, not the steps of the other three, and is not late for being elsewhere: five steps of
// 102 ms after them.
TEST(CommonSteps, ARankElsewhereIsNeitherLateNorInTheWay) {
  const Diagnosis d = Diagnose(Recorded({{0, 4}, {0, 4}, {0, 4}, {5, 9}}));
  EXPECT_EQ(d.job.steps, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  ASSERT_FALSE(d.job.doubts.empty());
  EXPECT_EQ(d.job.doubts[0], "ranks 0-2 have steps #0-4, rank 3 has steps #5-9: only steps #0-4 are compared");
  ExpectNoWarning(d);
}

TEST(CommonSteps, TheSameStepsAreNotWorthAWord) {
  EXPECT_TRUE(Diagnose(Recorded({{0, 9}, {0, 9}, {0, 9}, {0, 9}})).job.doubts.empty());
}

// Rank 1 lacks the mark of step 4: its step 3 takes twice as long, which is not its fault.
TEST(CommonSteps, AStepThatLastsThroughAnotherIsNotCompared) {
  MadeJob made;
  made.steps = 10;
  std::vector<pattern::RankPattern> ranks = Make(made);
  std::vector<pattern::Step>& steps = ranks[1].steps;
  steps[3].end = steps[3].marked_end = steps[4].end;
  for (size_t c = 0; c < steps[3].by_class.size(); ++c) steps[3].by_class[c] += steps[4].by_class[c];
  steps[3].longest_stretch += steps[4].longest_stretch;
  steps.erase(steps.begin() + 4);
  ranks[1].comms.step_numbers.erase(ranks[1].comms.step_numbers.begin() + 4);
  ranks[1].comms.step_starts.erase(ranks[1].comms.step_starts.begin() + 4);
  for (trace::CommInstance& row : ranks[1].comms.instances) row.step -= row.step >= 4 ? 1 : 0;
  for (pattern::FunctionStep& row : ranks[1].function_steps) row.step -= row.step >= 4 ? 1 : 0;
  const Diagnosis d = Diagnose(std::move(ranks));
  EXPECT_EQ(d.job.num_steps(), 10U);
  EXPECT_EQ(d.job.StepOf(1, 3), nullptr);
  EXPECT_EQ(d.job.StepOf(1, 4), nullptr);
  EXPECT_NE(d.job.StepOf(1, 5), nullptr);
  ASSERT_EQ(d.job.doubts.size(), 1U);
  EXPECT_EQ(
      d.job.doubts[0],
      "ranks 0, 2, 3 have steps #0-9, rank 1 has steps #0-3, 5-9; where a rank lacks the mark of a step, its step "
      "before is not compared either");
  ExpectNoWarning(d);
}

// A file cut off in step 4: what comes later has marks but no communication, and in step 4 itself rows are missing.
TEST(CommonSteps, WhatACutFileBrokeOffInIsNotCompared) {
  MadeJob made;
  made.own = [](int rank, int step) { return (rank == 2 && step >= 4 ? 300 : 100) * kMillisecond; };
  std::vector<pattern::RankPattern> ranks = Make(made);
  std::erase_if(ranks[2].comms.instances, [](const auto& row) { return row.step > 4; });
  ranks[2].log.Add(trace::ProblemKind::kDropped, "truncated-tail", 1000);
  const Diagnosis d = Diagnose(std::move(ranks));
  EXPECT_EQ(d.job.num_steps(), 6U);
  EXPECT_NE(d.job.StepOf(2, 3), nullptr);
  EXPECT_EQ(d.job.StepOf(2, 4), nullptr);
  ASSERT_FALSE(d.job.doubts.empty());
  EXPECT_EQ(d.job.doubts[0],
            "the file of rank 2 is cut off or damaged: its last whole step is #3, what follows is not compared");
  ExpectNoWarning(d);
  EXPECT_EQ(d.blind_to, "the file of rank 2 breaks off, and what a fix brings may be more");
}

// The same file, of which steps were selected that lie before the break, or end with it.
TEST(CommonSteps, StepsSelectedBeforeTheBreakAreWhole) {
  const auto kept = [](int64_t first, int64_t last) {
    std::vector<pattern::RankPattern> ranks = Make({});  // steps 0 to 5
    std::erase_if(ranks[2].comms.instances, [](const auto& row) { return row.step > 4; });
    ranks[2].log.Add(trace::ProblemKind::kDropped, "truncated-tail", 1000);
    for (pattern::RankPattern& rank : ranks) SelectSteps(first, last, &rank);
    (void)KeepCommonSteps(&ranks);
    return ranks[2].steps.size();
  };
  EXPECT_EQ(kept(1, 3), 3U);
  EXPECT_EQ(kept(2, 2), 1U);
  EXPECT_EQ(kept(2, 4), 2U);  // not the one it broke off in
}

TEST(CommonSteps, AStepThatOneRankLacksIsSaid) {
  std::vector<pattern::RankPattern> ranks = Make({});  // four ranks, steps 0 to 5
  std::erase_if(ranks[2].steps, [](const pattern::Step& step) { return step.number == 3; });
  EXPECT_EQ(KeepCommonSteps(&ranks).apart, "ranks 0, 1, 3 have steps #0-5, rank 2 has steps #0-2, 4-5");
}

TEST(KeepSelected, RowsReadAgainFollowTheSteps) {
  std::vector<pattern::RankPattern> ranks = Make({});
  std::vector<pattern::FunctionStep> rows = ranks[0].function_steps;  // of steps 0 to 5, two each
  SelectSteps(2, 5, &ranks[0]);
  SelectSteps(2, 3, &ranks[0]);
  KeepSelected(ranks[0], &rows);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows.front().step, 0);
  EXPECT_EQ(rows.back().step, 1);
}

}  // namespace
}  // namespace headway::diagnose
