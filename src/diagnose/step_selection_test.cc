// SPDX-License-Identifier: Apache-2.0
#include "diagnose/step_selection.h"

#include <gtest/gtest.h>

#include "diagnose/diagnosis.h"
#include "diagnose/made_job.h"

namespace headway::diagnose {
namespace {

TEST(ParseSteps, Forms) {
  EXPECT_EQ(ParseSteps("3:7").value(), (std::pair<int64_t, int64_t>{3, 7}));
  EXPECT_EQ(ParseSteps("5").value(), (std::pair<int64_t, int64_t>{5, 5}));
  EXPECT_EQ(ParseSteps("3:").value(), (std::pair<int64_t, int64_t>{3, INT64_MAX}));
  EXPECT_EQ(ParseSteps(":7").value(), (std::pair<int64_t, int64_t>{INT64_MIN, 7}));
  for (const char* bad : {"", "a", "7:3", "1:2:3", "1-2"}) {
    SCOPED_TRACE(bad);
    EXPECT_FALSE(ParseSteps(bad));
  }
}

TEST(SelectSteps, FaultOutsideTheSelectionIsNotSeen) {
  MadeJob made;
  made.steps = 8;
  made.own = [](int rank, int step) { return 100 * kMillisecond + Nanos{(rank + step) % 3} * 100 * kMicrosecond; };
  made.extra = [](int rank, int step) { return rank == 1 && step == 6 ? 300 * kMillisecond : 0; };
  std::vector<pattern::RankPattern> ranks = Make(made);
  for (pattern::RankPattern& rank : ranks) SelectSteps(1, 4, &rank);
  const Diagnosis d = Diagnose(std::move(ranks));
  EXPECT_EQ(d.job.steps, (std::vector<int64_t>{1, 2, 3, 4}));
  for (const report::Finding& f : d.findings) EXPECT_EQ(f.severity, report::Severity::kInfo) << f.id;
}

}  // namespace
}  // namespace headway::diagnose
