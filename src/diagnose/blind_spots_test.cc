// SPDX-License-Identifier: Apache-2.0
#include "diagnose/blind_spots.h"

#include <gtest/gtest.h>

#include "diagnose/headline.h"
#include "diagnose/made_job.h"

namespace headway::diagnose {
namespace {

// Rank 1 of four reads for 50 ms more in each step of 100; who is held against nobody is not known to be well.
std::vector<pattern::RankPattern> SlowRank() {
  MadeJob made;
  made.extra = [](int rank, int) { return rank == 1 ? 50 * kMillisecond : 0; };
  return Make(made);
}

std::string Said(std::vector<pattern::RankPattern> ranks) { return HeadlineOf(Diagnose(std::move(ranks))).sentence; }

TEST(BlindSpots, ARankWithOtherStepNumbersIsNamed) {
  std::vector<pattern::RankPattern> ranks = SlowRank();
  for (pattern::Step& step : ranks[1].steps) step.number += 100;
  for (int64_t& number : ranks[1].comms.step_numbers) number += 100;
  EXPECT_EQ(Said(std::move(ranks)),
            "Nothing to blame was found, but rank 1 is not compared: its steps have other numbers than most ranks'.");
}

TEST(BlindSpots, ARankWithoutStepsIsNamed) {
  std::vector<pattern::RankPattern> ranks = SlowRank();
  ranks[1].steps.clear();
  ranks[1].function_steps.clear();
  EXPECT_EQ(Said(std::move(ranks)),
            "Nothing to blame was found, but rank 1 is not compared: no step of its trace has a length.");
}

TEST(BlindSpots, GuessedRanksAreSaid) {
  std::vector<pattern::RankPattern> ranks = Make({});
  for (const pattern::RankPattern& rank : ranks) {
    ranks[0].log.Add(trace::ProblemKind::kGuessed, "rank-assumed", -1, std::to_string(rank.meta.rank));
  }
  const Diagnosis d = Diagnose(std::move(ranks));
  ASSERT_EQ(d.not_checked.back().what, "which rank is which");
  EXPECT_EQ(d.not_checked.back().why,
            "4 files name no rank, so the order of file names was taken for it; --rank-map FILE says better");
}

TEST(BlindSpots, AJobWithoutCommunicationRestsOnTooLittle) {
  std::vector<pattern::RankPattern> ranks = Make({});
  for (pattern::RankPattern& rank : ranks) rank.comms.instances.clear();
  EXPECT_EQ(Said(std::move(ranks)),
            "Nothing to blame was found, but no communication was found in any of the traces, so that the answer rests "
            "on too little.");
}

}  // namespace
}  // namespace headway::diagnose
