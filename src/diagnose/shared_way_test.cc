// SPDX-License-Identifier: Apache-2.0
#include "diagnose/shared_way.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

// Two stages of two pairs on four hosts of two ranks: stage 0 on hosts 0 and 2, stage 1 on hosts 1 and 3. In each of
// eight steps, ranks send to the next stage for 5 ms (those of host 0: 20 ms), and stages reduce gradients over hosts:
// the first 40 ms for three times the bytes, the second 10 ms.
std::vector<SlowChannel> Besides(bool device, std::vector<Channel>* channels) {
  MadeMesh mesh({.ranks = 8, .per_host = 2, .device = device});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  const std::vector<int> dp = mesh.Groups("mesh_dp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    const int senders[] = {0, 1, 4, 5};
    for (size_t g = 0; g < pp.size(); ++g) mesh.Send(pp[g], senders[g], 1'000'000, g < 2 ? Ms(20) : Ms(5));
    for (size_t g = 0; g < dp.size(); ++g) {
      mesh.Meet(dp[g], CommOp::kAllReduce, g < 2 ? 3'000'000 : 1'000'000, g < 2 ? Ms(40) : Ms(10));
    }
  }
  const Job job = JoinJob(mesh.Make());
  *channels = CollectChannels(job);
  const std::vector<Egress> egress =
      Localise(job, *channels, FindSlowChannels(job, *channels, Against::kSiblings), Against::kSiblings);
  EXPECT_EQ(egress.size(), 1U);
  if (egress.size() != 1) return {};
  EXPECT_TRUE(egress[0].is_host);
  EXPECT_EQ(egress[0].sides, std::vector<int32_t>{0});
  return SlowBesides(job, *channels, egress[0]);
}

TEST(SlowBesides, OneStagesRingsThatAllPassAreAsSlowWhateverAnotherStageDoes) {
  for (const bool device : {false, true}) {
    std::vector<Channel> channels;
    const std::vector<SlowChannel> besides = Besides(device, &channels);
    ASSERT_EQ(besides.size(), 2U) << device;
    for (const SlowChannel& slow : besides) {
      EXPECT_EQ(channels[slow.channel].op, CommOp::kAllReduce);
      EXPECT_LT(channels[slow.channel].ranks.front(), 2);
      EXPECT_DOUBLE_EQ(slow.ratio, 4);  // 20 ms for 5
      // Three quarters of 40 ms, were the card as quick as the others'.
      for (const Nanos cost : slow.cost) EXPECT_EQ(cost, Ms(30));
    }
  }
}

}  // namespace
}  // namespace headway::diagnose
