// SPDX-License-Identifier: Apache-2.0
// A device that is slow and has more work in one kernel, too.
#include "diagnose/slow_besides.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Four ranks that exchange tokens. A step is five kernels of 20 ms and one of experts of 40 ms; that takes `more` on
// rank 1 and `more_of_slow` on rank 3, whose kernels take `slow` times as long besides.
std::vector<pattern::RankPattern> Make(Nanos more, Nanos more_of_slow, double slow, double slow_too = 1) {
  MadeMesh mesh({.ranks = 4});
  const int ep = mesh.Group("mesh_ep", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      const double times = r == 3 ? slow : r == 1 ? slow_too : 1;
      for (int k = 0; k < 5; ++k) {
        mesh.Work(r, WorkClass::kCompute, "kernel" + std::to_string(k), static_cast<Nanos>(times * 20e6));
      }
      mesh.Work(r, WorkClass::kCompute, "bmm",
                static_cast<Nanos>(times * 40e6) + (r == 1   ? more
                                                    : r == 3 ? more_of_slow
                                                             : 0));
    }
    mesh.Meet(ep, trace::CommOp::kAllToAll, 1000, Ms(1));
  }
  return mesh.Make();
}

std::vector<Candidate> Analyse(Nanos more, Nanos more_of_slow, double slow) {
  Look look(Make(more, more_of_slow, slow));
  return look.Run(RunOwnTimeAnalysis).candidates;
}

const Candidate* Find(const std::vector<Candidate>& all, const std::string& cause) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const Candidate& c) { return c.finding.cause == cause; });
  return it == all.end() ? nullptr : &*it;
}

// Rank 3 takes `slow` times 140 ms and 20 ms more in the experts' kernel, as rank 1 does.
void ExpectBoth(double slow_by, const std::string& told) {
  const std::vector<Candidate> found = Analyse(Ms(20), Ms(20), slow_by);
  ASSERT_EQ(found.size(), 2U);
  const Candidate *uneven = Find(found, "data-imbalance"), *slow = Find(found, "slow-device");
  ASSERT_NE(uneven, nullptr);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(uneven->finding.scope.ranks, (std::vector<RankId>{1, 3}));
  EXPECT_EQ(uneven->finding.scope.function, "bmm");
  EXPECT_EQ(slow->finding.scope.ranks, (std::vector<RankId>{3}));
  EXPECT_NE(slow->finding.sentence.find(told), std::string::npos) << slow->finding.sentence;
  for (const Nanos x : uneven->excess) EXPECT_NEAR(static_cast<double>(x), 20e6, 1e3);
  for (const Nanos x : slow->excess) EXPECT_NEAR(static_cast<double>(x), (slow_by - 1) * 140e6, 1e3);
  const auto less_on = [&](const Candidate& candidate, size_t rank) {
    Look look(Make(Ms(20), Ms(20), slow_by));
    Nanos less = 0;
    for (const auto& own : candidate.edit.own) {
      const graph::Mark& mark = look.job.graph.marks[own.mark];
      if (mark.rank == rank) less += mark.Own() - own.own;
    }
    return static_cast<double>(less);
  };
  EXPECT_NEAR(less_on(*uneven, 1), 6 * 20e6, 1e4);
  EXPECT_NEAR(less_on(*uneven, 3), 6 * 20e6, 1e4);
  EXPECT_NEAR(less_on(*slow, 3), 6 * (slow_by - 1) * 140e6, 1e4);
}

TEST(SlowBesides, AnExpertsRankWhoseDeviceIsSlowBesides) {
  // 28 ms in all kernels are most of what it takes longer.
  ExpectBoth(1.2, "take 1.20x the time");
}

TEST(SlowBesides, AnExpertsRankWhoseDeviceIsALittleSlowBesides) {
  // Of 34 ms 24 are in the experts' kernel, which speaks for all of it.
  ExpectBoth(1.1, "take 1.10x the time");
}

TEST(SlowBesides, WhereAllOfThemAreALittleSlowItIsTheirWork) {
  Look look(Make(Ms(20), Ms(20), 1.1, 1.1));
  const std::vector<Candidate> found = look.Run(RunOwnTimeAnalysis).candidates;
  EXPECT_EQ(Find(found, "slow-device"), nullptr);
  ASSERT_EQ(found.size(), 1U);
}

TEST(SlowBesides, MuchLessOrMoreIsNotTheSame) {
  const auto ranks = [](Nanos more_of_slow) {
    const std::vector<Candidate> found = Analyse(Ms(20), more_of_slow, 1.2);
    const Candidate* uneven = Find(found, "data-imbalance");
    return uneven == nullptr ? 0U : uneven->finding.scope.ranks.size();
  };
  EXPECT_EQ(ranks(Ms(11)), 2U);
  EXPECT_EQ(ranks(Ms(9)), 1U);
}

TEST(SlowBesides, ADeviceThatIsSlowInAllKernelsHasNoMoreWork) {
  const std::vector<Candidate> found = Analyse(Ms(20), 0, 1.2);
  const Candidate *uneven = Find(found, "data-imbalance"), *slow = Find(found, "slow-device");
  ASSERT_NE(uneven, nullptr);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(uneven->finding.scope.ranks, (std::vector<RankId>{1}));
  for (const Nanos x : slow->excess) EXPECT_NEAR(static_cast<double>(x), 28e6, 1e3);
}

TEST(SlowBesides, APeerWithoutTheStepIsNoMeasure) {
  // The file of rank 0, one of the two that rank 3 is held against, lacks the third step.
  std::vector<pattern::RankPattern> ranks = Make(Ms(20), Ms(20), 1.2);
  ranks[0].steps.erase(ranks[0].steps.begin() + 2);
  std::erase_if(ranks[0].function_steps, [](const auto& row) { return row.step == 2; });
  for (auto& row : ranks[0].function_steps) row.step -= row.step > 2 ? 1 : 0;
  trace::RankComms& comms = ranks[0].comms;
  comms.step_numbers.erase(comms.step_numbers.begin() + 2);
  comms.step_starts.erase(comms.step_starts.begin() + 2);
  for (auto& row : comms.instances) row.step = row.step == 2 ? -1 : row.step - (row.step > 2 ? 1 : 0);
  Look look(std::move(ranks));
  const std::vector<Candidate> found = look.Run(RunOwnTimeAnalysis).candidates;
  const Candidate* uneven = Find(found, "data-imbalance");
  ASSERT_NE(uneven, nullptr);
  EXPECT_EQ(uneven->finding.scope.ranks, (std::vector<RankId>{1, 3}));
  EXPECT_NEAR(static_cast<double>(uneven->excess[2]), 20e6, 1e3);
}

}  // namespace
}  // namespace headway::diagnose
