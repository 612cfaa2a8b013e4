// SPDX-License-Identifier: Apache-2.0
#include "synth/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "synth/simulate.h"

namespace headway::synth {
namespace {

// The ring step by step: in step k member i gets a chunk from i - 1 once i - 1 has it (k - 1) and the link is free.
std::vector<Time> RingByRecurrence(int steps, Time chunk, const std::vector<double>& factors) {
  const size_t n = factors.size();
  std::vector<Time> before(n, 0), now(n, 0), link_free(n, 0);
  for (int k = 0; k < steps; ++k) {
    for (size_t i = 0; i < n; ++i) {
      const size_t from = (i + n - 1) % n;
      const Time took = static_cast<Time>(static_cast<double>(chunk) * factors[from]);
      link_free[from] = std::max(before[from], link_free[from]) + took;
      now[i] = link_free[from];
    }
    before = now;
  }
  return now;
}

TEST(Ring, ClosedFormIsTheRecurrence) {
  // Four members, all-reduce: 2 * 3 = 6 steps of 100 each = 600. Link 1 -> 2 takes 3 times as long: member 2 gets six
  // chunks at 300 each = 1800; member 3 has the same chunks one hop of 100 later, but the last one passed the slow
  // link a step earlier: 5 * 300 + 100 = 1600; then 1400 and 1200.
  const std::vector<double> factors = {1, 3, 1, 1};
  std::vector<Time> ends(4);
  RingEnds(0, 600, 6, 1, factors, ends);
  EXPECT_EQ(ends, (std::vector<Time>{1400, 1200, 1800, 1600}));
  EXPECT_EQ(ends, RingByRecurrence(6, 100, factors));
}

TEST(Ring, AllGatherEndsAtTheReceiverOfTheSlowLink) {
  for (size_t n : {2u, 3u, 5u, 8u}) {
    for (size_t slow = 0; slow < n; ++slow) {
      std::vector<double> factors(n, 1.0);
      factors[slow] = 2.5;
      std::vector<Time> ends(n);
      const int steps = static_cast<int>(n) - 1;
      RingEnds(0, Time{1000} * steps, steps, 1, factors, ends);
      EXPECT_EQ(ends, RingByRecurrence(steps, 1000, factors)) << n << " members, link " << slow;
      EXPECT_EQ(std::max_element(ends.begin(), ends.end()) - ends.begin(), static_cast<ptrdiff_t>((slow + 1) % n));
    }
  }
}

TEST(Ring, WithoutASlowLinkAllEndTogether) {
  std::vector<Time> ends(3);
  RingEnds(7, 90, 2, 1, std::vector<double>{1, 1, 1}, ends);
  EXPECT_EQ(ends, (std::vector<Time>{97, 97, 97}));
}

TEST(AllToAll, TheSlowSenderIsLateForTheFarthestMost) {
  // Three pieces of 100 each; member 0 sends four times as slowly: its pieces reach 1, 2, 3 at 400, 800, 1200.
  std::vector<Time> ends(4);
  AllToAllEnds(5, 300, std::vector<double>{4, 1, 1, 1}, ends);
  EXPECT_EQ(ends, (std::vector<Time>{305, 405, 805, 1205}));
}

TEST(Bus, FactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(BusFactor(Coll::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(BusFactor(Coll::kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(BusFactor(Coll::kSend, 2), 1);
  EXPECT_EQ(RingSteps(Coll::kAllReduce, 4), 6);
}

// A gloo all-reduce of 2 ranks without noise: 4 MB at 1 GB/s and factor 2 (n - 1) / n = 1 takes 4 ms after 250 us.
TEST(Transfer, IsStartupPlusBytesOverBandwidth) {
  JobSpec spec = *ParseSpec("backend=gloo,dp=2,layers=1,layer_mb=4,bucket_mb=1,noise=0,steps=1,loss_all_reduce=0");
  const JobRun run = Simulate(*Validated(spec));
  const auto& items = run.ranks[0].items;
  ASSERT_EQ(items.size(), 3u);  // one bucket in each of two warm-up steps, one in the recorded step
  EXPECT_EQ(items[1].end - items[1].last_start, 4'250'000);
}

}  // namespace
}  // namespace headway::synth
