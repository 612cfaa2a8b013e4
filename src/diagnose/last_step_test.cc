// SPDX-License-Identifier: Apache-2.0
// What ranks do behind their last meeting.
#include "diagnose/last_step.h"

#include <gtest/gtest.h>

#include "diagnose/made_job.h"
#include "diagnose/step_selection.h"

namespace headway::diagnose {
namespace {

using pattern::RankPattern;

// Four ranks of three steps; the last one goes on for `tail(rank)` in the job's second function, with which the tail's
// only operation begins.
std::vector<RankPattern> WithTails(const std::function<Nanos(int)>& tail) {
  std::vector<RankPattern> ranks = Make({.ranks = 4, .steps = 3});
  for (int r = 0; r < 4; ++r) {
    RankPattern& p = ranks[static_cast<size_t>(r)];
    pattern::Step step;
    step.number = p.steps.back().number;
    step.start = p.steps.back().end;
    step.end = step.marked_end = step.start + tail(r);
    step.by_class[static_cast<size_t>(pattern::WorkClass::kInput)] = tail(r);
    step.longest_stretch = tail(r);
    step.longest_stretch_start = step.start;
    step.longest_stretch_function = 1;
    step.behind_host.fill(255);
    p.steps.push_back(step);
    p.function_steps.push_back({3, 0, 7, 1});
    p.function_steps.push_back({3, 1, tail(r), 1});
    trace::CommInstance row = p.comms.instances.back();
    row.start = step.start;
    row.step = -1;
    p.comms.instances.push_back(row);
  }
  return ranks;
}

TEST(LastStep, ATailThatAllHaveIsPartOfIt) {
  std::vector<RankPattern> ranks = WithTails([](int r) { return 40 * kMillisecond + r * kMillisecond; });
  const Nanos before = ranks[2].steps[2].end;
  SettleLastSteps(&ranks);
  const RankPattern& p = ranks[2];
  ASSERT_EQ(p.steps.size(), 3U);
  EXPECT_EQ(p.steps[2].end, before + 42 * kMillisecond);
  EXPECT_EQ(p.window_end, p.steps[2].end);
  EXPECT_EQ(p.steps[2].by_class[static_cast<size_t>(pattern::WorkClass::kInput)], 42 * kMillisecond);
  EXPECT_EQ(p.steps[2].longest_stretch, 42 * kMillisecond);
  EXPECT_EQ(p.steps[2].longest_stretch_function, 1);
  EXPECT_EQ(p.comms.instances.back().step, 2);
  // 102 ms and 42 more: of 144 ms the slices of 9 ms from 102 on are the tail's.
  EXPECT_EQ(p.steps[2].behind_host[11], 170);  // 6 of 9 ms
  EXPECT_EQ(p.steps[2].behind_host[12], 255);
  EXPECT_EQ(p.steps[2].behind_host[10], 0);
  // One row a function: 100 ms and 7 ns of the first, the tail's of the second, the exchange as it was.
  std::vector<pattern::FunctionStep> last;
  for (const pattern::FunctionStep& row : p.function_steps) {
    ASSERT_LT(row.step, 3);
    if (row.step == 2) last.push_back(row);
  }
  ASSERT_EQ(last.size(), 3U);
  EXPECT_EQ(last[0].own, 100 * kMillisecond + 7);
  EXPECT_EQ(last[0].calls, 2);
  EXPECT_EQ(last[1].own, 42 * kMillisecond);
  // Rows that are read from a file later know nothing of that.
  std::vector<pattern::FunctionStep> rows{{2, 0, 5, 1}, {3, 0, 6, 1}};
  KeepSelected(p, &rows);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].step, 2);
}

TEST(LastStep, ATailThatOneRankHasIsLeftOut) {
  // Others stop their profilers while rank 3 is still in its step.
  std::vector<RankPattern> ranks = WithTails([](int r) { return (r == 3 ? 17 : 1) * kMillisecond; });
  const Nanos before = ranks[3].steps[2].end;
  SettleLastSteps(&ranks);
  const RankPattern& p = ranks[3];
  ASSERT_EQ(p.steps.size(), 3U);
  EXPECT_EQ(p.steps[2].end, before);
  EXPECT_EQ(p.comms.instances.back().step, -1);
  for (const pattern::FunctionStep& row : p.function_steps) EXPECT_LT(row.step, 3);
  std::vector<pattern::FunctionStep> rows{{2, 0, 5, 1}, {3, 0, 6, 1}};
  KeepSelected(p, &rows);
  EXPECT_EQ(rows.size(), 1U);
}

TEST(LastStep, WhereNobodyHasATailNothingChanges) {
  std::vector<RankPattern> ranks = Make({.ranks = 2, .steps = 3});
  const Nanos before = ranks[0].steps[2].end;
  SettleLastSteps(&ranks);
  EXPECT_EQ(ranks[0].steps.size(), 3U);
  EXPECT_EQ(ranks[0].steps[2].end, before);
  EXPECT_TRUE(ranks[0].unread_steps.empty());
}

}  // namespace
}  // namespace headway::diagnose
