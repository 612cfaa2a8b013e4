// SPDX-License-Identifier: Apache-2.0
// Jobs that are odd as a whole.
#include "diagnose/job.h"

#include <gtest/gtest.h>

#include "diagnose/diagnosis.h"
#include "diagnose/made_job.h"

namespace headway::diagnose {
namespace {

TEST(Job, AbsurdWorldSizeIsNotCountedOut) {
  MadeJob made;
  std::vector<pattern::RankPattern> ranks = Make(made);
  for (pattern::RankPattern& rank : ranks) rank.meta.world_size = 2'000'000'000;
  const Diagnosis d = Diagnose(std::move(ranks));
  EXPECT_EQ(d.job.world_size, 4);
  EXPECT_TRUE(d.job.missing.empty());
}

TEST(Job, TwoWorldSizesAreDoubted) {
  std::vector<pattern::RankPattern> ranks = Make({});
  ranks[3].meta.world_size = 8;
  const Diagnosis d = Diagnose(std::move(ranks));
  ASSERT_EQ(d.job.doubts.size(), 1U);
  EXPECT_NE(d.job.doubts[0].find("world sizes from 4 to 8"), std::string::npos);
}

TEST(Job, CutFileIsDoubted) {
  std::vector<pattern::RankPattern> ranks = Make({});
  ranks[2].log.Add(trace::ProblemKind::kDropped, "truncated-tail", 1000);
  const Diagnosis d = Diagnose(std::move(ranks));
  ASSERT_EQ(d.job.doubts.size(), 1U);
  EXPECT_NE(d.job.doubts[0].find("rank 2"), std::string::npos);
}

TEST(Job, AllTimesZero) {
  std::vector<pattern::RankPattern> ranks = Make({});
  for (pattern::RankPattern& rank : ranks) {
    rank.window_start = rank.window_end = 0;
    for (pattern::Step& step : rank.steps) {
      step.start = step.end = step.marked_end = 0;
      step.by_class = {};
    }
    for (trace::CommInstance& instance : rank.comms.instances) {
      instance.start = instance.end = instance.exposed = instance.exposed_begin = instance.exposed_end = 0;
    }
    for (pattern::FunctionStep& row : rank.function_steps) row.own = 0;
  }
  const Diagnosis d = Diagnose(std::move(ranks));
  for (const report::Finding& f : d.findings) EXPECT_EQ(f.severity, report::Severity::kInfo) << f.id;
}

TEST(Job, NoRanksAtAll) {
  const Diagnosis d = Diagnose({});
  EXPECT_TRUE(d.findings.empty());
}

}  // namespace
}  // namespace headway::diagnose
