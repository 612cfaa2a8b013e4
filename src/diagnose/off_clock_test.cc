// SPDX-License-Identifier: Apache-2.0
#include "diagnose/off_clock.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/headline.h"
#include "diagnose/made_job.h"

namespace headway::diagnose {
namespace {

using Ranks = std::vector<pattern::RankPattern>;

// Every time of a rank `factor` times as large, and later: its own clock.
void Recorded(Nanos later, int64_t factor, pattern::RankPattern* rank) {
  const auto move = [&](Nanos* t) { *t = *t * factor + later; };
  move(&rank->window_start);
  move(&rank->window_end);
  for (pattern::Step& step : rank->steps) {
    for (Nanos* t : {&step.start, &step.end, &step.marked_end}) move(t);
    for (Nanos& part : step.by_class) part *= factor;
  }
  for (pattern::FunctionStep& row : rank->function_steps) row.own *= factor;
  for (Nanos& start : rank->comms.step_starts) move(&start);
  for (trace::CommInstance& c : rank->comms.instances) {
    for (Nanos* t : {&c.start, &c.end, &c.exposed_begin, &c.exposed_end}) move(t);
    c.exposed *= factor;
  }
}

TEST(OffClock, ARankWhoseStepsLastTwiceAsLongAtAnotherTimeIsNotCompared) {
  Ranks ranks = Make({});
  Recorded(3600 * kSecond, 2, &ranks[1]);
  const Diagnosis d = Diagnose(std::move(ranks));
  EXPECT_EQ(d.job.ranks[1].log.Count(kClockTellsNothing), 1);
  EXPECT_TRUE(d.findings.empty());
  EXPECT_EQ(d.job.doubts.front(),
            "the clock of rank 1 tells nothing: it was recorded at another time than the rest of the host, and a step "
            "lasts 2.00x as long there");
  EXPECT_FALSE(HeadlineOf(d).detection_floor);
}

// Who waits for a late rank has this wait in its window: no rank of one clock is late by an hour in a window of a third
// of a second.
TEST(OffClock, NobodyIsLateByMoreThanAWindow) {
  MadeJob made;
  made.steps = 3;
  Ranks ranks = Make(made);
  Recorded(3600 * kSecond, 1, &ranks[1]);
  const Diagnosis d = Diagnose(std::move(ranks));
  for (const report::Finding& f : d.findings) EXPECT_NE(f.cause, "late-entry");
  EXPECT_TRUE(std::ranges::any_of(d.not_checked, [](const auto& n) { return n.what == "late entry"; }));
}

// What lasts as long may be compared whenever it was recorded.
TEST(OffClock, StepsOfTheSameLengthStay) {
  Ranks ranks = Make({});
  Recorded(3600 * kSecond, 1, &ranks[1]);
  EXPECT_EQ(DropOffClock(&ranks), "");
  EXPECT_EQ(ranks[1].steps.size(), 6U);
}

// Of two and two nobody is off.
TEST(OffClock, WithoutAMajorityNobodyIsOff) {
  Ranks ranks = Make({});
  for (const size_t r : {0, 1}) Recorded(3600 * kSecond, 2, &ranks[r]);
  EXPECT_EQ(DropOffClock(&ranks), "");
}

}  // namespace
}  // namespace headway::diagnose
