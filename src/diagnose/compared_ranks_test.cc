// SPDX-License-Identifier: Apache-2.0
// Runs that do not hold the same ranks.
#include "diagnose/compared_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/comparison.h"
#include "diagnose/made_job.h"
#include "diagnose/step_selection.h"

namespace headway::diagnose {
namespace {

// Rank r works 100 + 50 r ms, and all of them `more` on top.
Diagnosis RunOf(const std::vector<int>& with_file, int ranks = 4, Nanos more = 0) {
  MadeJob made;
  made.ranks = ranks;
  made.own = [more](int rank, int) { return (100 + 50 * rank) * kMillisecond + more; };
  std::vector<pattern::RankPattern> all = Make(made), some;
  for (const int r : with_file) some.push_back(std::move(all[static_cast<size_t>(r)]));
  return Diagnose(std::move(some));
}

TEST(Comparison, OnlyRanksInBothRunsAreCompared) {
  // All four work 175 ms in the mean, ranks 0 and 1 alone 125: nothing has changed between the runs.
  const Comparison c = Compare(RunOf({0, 1, 2, 3}), RunOf({0, 1}));
  EXPECT_EQ(c.unlike, "ranks 2, 3 have traces in the earlier run only: only ranks in both are compared");
  EXPECT_EQ(c.class_before[0], 125 * kMillisecond);
  EXPECT_EQ(c.class_after[0], 125 * kMillisecond);
  ASSERT_EQ(c.changed.size(), 1U);
  EXPECT_EQ(c.changed[0], c.unlike);
  EXPECT_EQ(Compare(RunOf({0, 2}), RunOf({0, 1, 2})).unlike,
            "rank 1 has a trace in the later run only: only ranks in both are compared");
}

TEST(Comparison, RanksOfAnotherWorldSizeAreNotTheSame) {
  // 100 ms more on each rank: of the same job that is slower on all ranks, of a larger one it need not be.
  const Diagnosis before = RunOf({0, 1, 2, 3});
  const Comparison same = Compare(before, RunOf({0, 1, 2, 3}, 4, 100 * kMillisecond));
  EXPECT_TRUE(same.unlike.empty());
  EXPECT_EQ(same.share_of_ranks_slower, 1);
  const Diagnosis larger = RunOf({0, 1, 2, 3, 4, 5, 6, 7}, 8, 100 * kMillisecond);
  const Comparison other = Compare(before, larger);
  EXPECT_EQ(other.unlike.substr(0, 18), "world size 4 -> 8:");
  EXPECT_EQ(other.share_of_ranks_slower, 0);
  EXPECT_TRUE(UniformFindings(other, larger.job).empty());
  // Of which only those of the smaller one have a trace: no less another job.
  const Comparison part = Compare(before, RunOf({0, 1, 2, 3}, 8, 100 * kMillisecond));
  EXPECT_EQ(part.share_of_ranks_slower, 0);
}

// Its all-reduces met nobody: they are not gone.
TEST(Comparison, CallsThatWereNotPairedAreNotAbsent) {
  const Comparison c = Compare(RunOf({0, 1, 2, 3}), RunOf({0}));
  EXPECT_EQ(c.changed, (std::vector<std::string>{c.unlike}));
  EXPECT_NE(std::ranges::find(c.reserved,
                              "of the later run: it holds one rank, which does not tell waiting from moving data"),
            c.reserved.end());
  ASSERT_EQ(c.collectives.size(), 1U);
  const std::vector<report::Section> sections = ComparisonSections(c);
  const auto& table = std::get<report::Table>(sections[3].body);
  EXPECT_EQ(table.rows[0].cells[3], report::Value{1.0});
  EXPECT_EQ(table.rows[0].cells[4], report::Value{});
}

// Without communication nothing is known of it; that there is none is said, not that it went.
TEST(Comparison, NorIsCommunicationThatNoNameTells) {
  MadeJob made;
  std::vector<pattern::RankPattern> ranks = Make(made);
  for (pattern::RankPattern& rank : ranks) rank.comms.instances.clear();
  const Comparison c = Compare(Diagnose(Make(made)), Diagnose(std::move(ranks)));
  EXPECT_TRUE(c.changed.empty());
  ASSERT_FALSE(c.reserved.empty());
  EXPECT_EQ(c.reserved[0].substr(0, 56), "of the later run: no communication was found in any of t");
}

// Rank 3 of four has two whole steps of six: its others are not nothing.
TEST(Comparison, StepsThatAFileLacksDoNotCount) {
  std::vector<pattern::RankPattern> ranks = Make({});
  SelectSteps(0, 1, &ranks[3]);
  const Comparison c = Compare(Diagnose(Make({})), Diagnose(std::move(ranks)));
  EXPECT_EQ(c.class_before[0], 100 * kMillisecond);
  EXPECT_EQ(c.class_after[0], 100 * kMillisecond);
}

TEST(Comparison, NoRankInBoth) {
  const Comparison c = Compare(RunOf({0, 1}), RunOf({2, 3}));
  EXPECT_NE(c.unlike.find("no rank is in both"), std::string::npos);
  EXPECT_EQ(c.share_of_ranks_slower, 0);
}

}  // namespace
}  // namespace headway::diagnose
