// SPDX-License-Identifier: Apache-2.0
#include "diagnose/headline.h"

#include <gtest/gtest.h>

namespace headway::diagnose {
namespace {

Nanos Ms(int64_t ms) { return ms * kMillisecond; }

// A job of these steps of which one cause of `severity` costs so much a step.
Diagnosis Made(std::vector<Nanos> steps, Nanos median, Nanos cost, report::Severity severity) {
  Diagnosis d;
  for (size_t s = 0; s < steps.size(); ++s) d.job.steps.push_back(static_cast<int64_t>(s));
  d.job.step_time = std::move(steps);
  d.job.median_step = median;
  d.job.p95_step = Ms(700);
  d.detection_floor = Ms(2);
  report::Finding finding;
  finding.cause = "paused-process";
  finding.headline = "rank 1";
  finding.severity = severity;
  finding.recoverable_per_step = cost;
  d.findings = {finding};
  if (severity != report::Severity::kInfo) d.all_removed_per_step = cost;
  return d;
}

// Five steps of 50 ms and one of 650: 900 / 6 = 150 ms in the mean. Without the pause, 600 / 6 = 100 ms less: twice the
// median step, two thirds of the mean one.
TEST(Headline, AGainThatOneLongStepHoldsIsAPartOfTheMean) {
  const Diagnosis d =
      Made({Ms(50), Ms(50), Ms(650), Ms(50), Ms(50), Ms(50)}, Ms(50), Ms(100), report::Severity::kCritical);
  EXPECT_EQ(StepLine(d), "50 ms median (p95 700 ms), 150 ms mean; 100 ms of the mean can be won back");
  const report::Headline headline = HeadlineOf(d);
  EXPECT_EQ(headline.sentence, "Paused process, rank 1, costs the whole job 100 ms per step in the mean, 67 % of it.");
  EXPECT_EQ(headline.now, Ms(150));
  EXPECT_EQ(headline.now_label, "now, mean");
  EXPECT_EQ(headline.attainable, Ms(50));
}

TEST(Headline, WhereStepsAreAlikeItIsAPartOfTheMedian) {
  const Diagnosis d = Made({Ms(100), Ms(102), Ms(98)}, Ms(100), Ms(40), report::Severity::kCritical);
  EXPECT_EQ(StepLine(d), "100 ms median; 40 ms of it can be won back");
  EXPECT_EQ(HeadlineOf(d).sentence, "Paused process, rank 1, costs the whole job 40 ms per step, 40 % of it.");
  EXPECT_EQ(HeadlineOf(d).attainable, Ms(60));
}

// A remark of 30 ms and "nothing above 2 ms" cannot both be said.
TEST(Headline, LargeRemarksAreNamed) {
  Diagnosis d = Made({Ms(100), Ms(102), Ms(98)}, Ms(100), Ms(30), report::Severity::kInfo);
  d.job.ranks.resize(2);
  EXPECT_EQ(HeadlineOf(d).sentence,
            "No fault was found, but 1 remark of 30 ms per step below; beside it no rank, host, link or function holds "
            "this job up by more than 2.0 ms per step.");
  d.findings[0].recoverable_per_step = Ms(1);
  EXPECT_EQ(HeadlineOf(d).sentence, "No rank, host, link or function holds this job up by more than 2.0 ms per step.");
}

}  // namespace
}  // namespace headway::diagnose
