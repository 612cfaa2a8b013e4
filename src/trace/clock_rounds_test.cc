// SPDX-License-Identifier: Apache-2.0
// What operations across hosts tell of their clocks, and how much all of a kind together.
#include "trace/clock_rounds.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "trace/clock_alignment.h"

namespace headway::trace {
namespace {

// Four ranks of a host backend, two on either host. Every 20 ms both hosts' pairs {0, 2} and {1, 3} reduce for 10 ms,
// sixty times; then all reduce a few bytes for 0.3 ms. Behind a slow link the second host ends each long operation
// 0.6 ms late. All ends vary by up to 80 us.
struct TwoHosts {
  std::vector<RankComms> ranks{4};
  std::vector<Collective> collectives;

  explicit TwoHosts(int steps) {
    std::vector<Collective> of_group[3];
    for (int r = 0; r < 4; ++r) {
      RankComms& rank = ranks[static_cast<size_t>(r)];
      rank.rank = r;
      rank.host = r < 2 ? "a" : "b";
      rank.host_known = true;
      rank.groups.resize(3);
    }
    Nanos now = kSecond;
    for (int s = 0; s < steps; ++s) {
      for (int k = 0; k < 60; ++k, now += 20 * kMillisecond) {
        for (int g = 0; g < 2; ++g) Run(g, {g, g + 2}, now, 10 * kMillisecond, 600 * kMicrosecond, &of_group[g]);
      }
      Run(2, {0, 1, 2, 3}, now, 300 * kMicrosecond, 0, &of_group[2]);
      now += 20 * kMillisecond;
    }
    for (const auto& of : of_group) collectives.insert(collectives.end(), of.begin(), of.end());
  }

 private:
  void Run(int group, const std::vector<int>& members, Nanos start, Nanos takes, Nanos late,
           std::vector<Collective>* out) {
    Collective collective{.group = group, .ordinal = std::ssize(*out), .op = CommOp::kAllReduce};
    for (const int r : members) {
      auto& rows = ranks[static_cast<size_t>(r)].instances;
      collective.members.push_back({r, static_cast<int32_t>(rows.size())});
      rows.push_back({.start = start,
                      .end = start + takes + (r < 2 ? 0 : late) + jitter_(random_),
                      .local_group = group,
                      .op = CommOp::kAllReduce});
    }
    out->push_back(collective);
  }

  std::mt19937 random_{4};
  std::uniform_int_distribution<Nanos> jitter_{-80 * kMicrosecond, 80 * kMicrosecond};
};

TEST(CollectRounds, OperationsOfOneKindOverTheSameHostsAreAlike) {
  const TwoHosts job(10);
  const ClockRounds rounds = CollectRounds(job.ranks, job.collectives, {0, 0, 1, 1});
  ASSERT_EQ(rounds.size(), 1210U);
  // The long ones of both pairs, whose ends may lie a tenth of 10 ms apart; the short ones by themselves.
  for (size_t r = 0; r < rounds.size(); ++r) {
    EXPECT_EQ(rounds.alike[r], rounds.deviation[r] > 5e5 ? 1200 : 10) << r;
  }
}

TEST(AlignClocks, ManyLongOperationsThatEndAlikeDoNotOutvoteAFewShortOnes) {
  // A long operation may end 1.0 ms off, each time, a short one 0.1: against each other they weigh 1 to 100 however
  // many there are, and pull the clocks by a hundredth of 0.6 ms. Were they 2,400 and 20 independent ones, they would
  // weigh 1.2 to 1. The twenty short ones tell to 46 us (of 80 us either way) x sqrt(2 / 20), 15 us.
  const TwoHosts job(20);
  const ClockAlignment found = AlignClocks(job.ranks, job.collectives);
  ASSERT_EQ(found.clocks.size(), 2U);
  EXPECT_LT(std::abs(found.clocks[1].offset), 50 * kMicrosecond);
  EXPECT_LT(found.clocks[1].residual, 200 * kMicrosecond);
}

}  // namespace
}  // namespace headway::trace
