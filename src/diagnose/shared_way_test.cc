// SPDX-License-Identifier: Apache-2.0
#include "diagnose/shared_way.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "diagnose/egress_finding.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

std::vector<pattern::RankPattern> WithoutHosts(std::vector<pattern::RankPattern> ranks) {
  for (pattern::RankPattern& rank : ranks) {
    rank.comms.host_known = false;
    rank.meta.host = rank.comms.host = "";
  }
  return ranks;
}

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
  return SlowBesides(job, *channels, egress[0], FindSlowChannels(job, *channels, Against::kOtherSteps));
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
      EXPECT_TRUE(slow.is_taken);
      // Three quarters of 40 ms, were the card as quick as the others'.
      for (const Nanos cost : slow.cost) EXPECT_EQ(cost, Ms(30));
    }
  }
}

// Two stages of eight ranks whose files name no host. Those of the first send to the second, four exchange at a time,
// and each stage reduces its gradients, of its own size. In every second step all that ranks 2 and 3 take part in takes
// half as long again.
TEST(SlowBesides, WhatIsSlowInTheSameStepsPassesTheRowToo) {
  MadeMesh mesh({.ranks = 16});
  std::vector<MadeMesh::Members> sends, fours;
  for (int r = 0; r < 8; ++r) sends.push_back({r, r + 8});
  for (int r = 0; r < 16; r += 4) fours.push_back({r, r + 1, r + 2, r + 3});
  const std::vector<int> pp = mesh.Groups("mesh_pp", sends), ep = mesh.Groups("mesh_ep", fours);
  const std::vector<int> dp = mesh.Groups("mesh_dp", {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}});
  for (int s = 0; s < 12; ++s) {
    const auto time = [s](bool passes) { return passes && s % 3 == 0 ? Ms(15) : Ms(10); };
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int r = 0; r < 8; ++r) mesh.Send(pp[static_cast<size_t>(r)], r, 1'000'000, time(r == 2 || r == 3));
    // What comes back in these steps, as slowly to all, comes another way.
    for (int r = 0; r < 8; ++r) mesh.Send(pp[static_cast<size_t>(r)], r + 8, 2'000'000, time(true));
    for (size_t g = 0; g < ep.size(); ++g) mesh.Meet(ep[g], CommOp::kAllToAll, 1'000'000, time(g == 0));
    mesh.Meet(dp[0], CommOp::kAllReduce, 3'000'000, 2 * time(true));
    mesh.Meet(dp[1], CommOp::kAllReduce, 2'000'000, Ms(13));
  }
  const Job job = JoinJob(WithoutHosts(mesh.Make()));
  const std::vector<Channel> channels = CollectChannels(job);
  // Either of the two explains its send and the exchange of three slow channels.
  const std::vector<Egress> egress =
      Localise(job, channels, FindSlowChannels(job, channels, Against::kSiblings), Against::kSiblings);
  ASSERT_EQ(egress.size(), 1U);
  EXPECT_TRUE(egress[0].is_row);
  EXPECT_EQ(egress[0].sides, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(egress[0].slow.size(), 3U);
  const std::vector<SlowChannel> besides =
      SlowBesides(job, channels, egress[0], FindSlowChannels(job, channels, Against::kOtherSteps));
  ASSERT_EQ(besides.size(), 1U);
  const Channel& ring = channels[besides[0].channel];
  EXPECT_EQ(ring.op, CommOp::kAllReduce);
  EXPECT_EQ(ring.ranks.front(), 0);
  EXPECT_FALSE(besides[0].is_taken);
  for (size_t s = 0; s < 12; ++s) EXPECT_EQ(besides[0].cost[s], s % 3 == 0 ? Ms(10) : 0) << s;
}

// Two stages of two ranks whose files name no hosts and no sizes; each rank sends to the one at its place in the other
// stage for so long, and the two of each stage meet.
struct TwoStages {
  Job job;
  std::vector<Channel> channels;
  std::vector<Egress> egress;

  TwoStages(const std::vector<Nanos>& sends, const std::vector<Nanos>& rings, CommOp op = CommOp::kAllReduce) {
    MadeMesh mesh({.ranks = 4});
    const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
    const std::vector<int> dp = mesh.Groups("mesh_dp", {{0, 1}, {2, 3}});
    for (int s = 0; s < 10; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(50));
      for (size_t r = 0; r < 4; ++r) mesh.Send(pp[r % 2], static_cast<int>(r), -1, sends[r]);
      for (size_t g = 0; g < 2; ++g) mesh.Meet(dp[g], op, -1, rings[g]);
    }
    job = JoinJob(WithoutHosts(mesh.Make()));
    channels = CollectChannels(job);
    egress = Localise(job, channels, FindSlowChannels(job, channels, Against::kSiblings), Against::kSiblings);
  }
};

TEST(SlowBesides, ARingThatHasNoLikesIsAsSlowWhateverOthersTake) {
  // What rank 2 sends back takes four times as long as what it gets; of rings like that of its stage there is no other,
  // as the other stage reduces other gradients.
  // In an exchange each of the two has what the other one sent.
  for (const CommOp op : {CommOp::kAllReduce, CommOp::kAllToAll}) {
    const TwoStages made({Ms(10), Ms(10), Ms(40), Ms(10)}, {Ms(10), Ms(80)}, op);
    ASSERT_EQ(made.egress.size(), 1U);
    EXPECT_EQ(made.egress[0].sides, (std::vector<int32_t>{2}));
    const std::vector<SlowChannel> besides = SlowBesides(made.job, made.channels, made.egress[0], {});
    ASSERT_EQ(besides.size(), 1U);
    EXPECT_EQ(made.channels[besides[0].channel].ranks, (std::vector<int32_t>{2, 3}));
    EXPECT_TRUE(besides[0].is_taken);
    for (const Nanos cost : besides[0].cost) EXPECT_EQ(cost, Ms(60));  // three quarters of 80, were the way as quick
  }
}

TEST(SlowBesides, WhatStaysAmongRanksInARowDoesNotPassTheirCard) {
  // Both of the first stage send to the second four times as slowly as they get; so they may share a card.
  const TwoStages made({Ms(40), Ms(40), Ms(10), Ms(10)}, {Ms(80), Ms(80)});
  ASSERT_EQ(made.egress.size(), 1U);
  EXPECT_TRUE(made.egress[0].is_row);
  EXPECT_EQ(made.egress[0].sides, (std::vector<int32_t>{0, 1}));
  EXPECT_TRUE(SlowBesides(made.job, made.channels, made.egress[0], {}).empty());
}

// Three stages of two ranks on one host, sizes of messages not written: what rank 2 sends takes three times as long in
// steps 3 and 6, and so does the ring of its stage, of whose size there is no other. That ring is on the host, but the
// way is the rank's own.
TEST(SlowBesides, ARanksOwnWayInsideAHostSlowsItsRingInTheSameSteps) {
  MadeMesh mesh({.ranks = 6, .device = false});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}, {2, 4}, {3, 5}});
  const std::vector<int> dp = mesh.Groups("mesh_dp", {{0, 1}, {2, 3}, {4, 5}});
  for (int s = 0; s < 10; ++s) {
    const bool struck = s == 3 || s == 6;
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    const auto time = [&](int from) { return struck && from == 2 ? Ms(30) : Ms(10); };
    for (const int r : {0, 1, 2, 3}) mesh.Send(pp[static_cast<size_t>(r)], r, -1, time(r));
    for (const int r : {0, 1, 2, 3}) mesh.Send(pp[static_cast<size_t>(r)], r + 2, -1, time(r + 2));
    for (size_t g = 0; g < dp.size(); ++g) {
      mesh.Meet(dp[g], CommOp::kAllReduce, static_cast<Bytes>(g + 2) * 1'000'000, struck && g == 1 ? Ms(60) : Ms(20));
    }
  }
  const Job job = JoinJob(mesh.Make());
  const std::vector<Channel> channels = CollectChannels(job);
  const std::vector<Egress> egress =
      Localise(job, channels, FindSlowChannels(job, channels, Against::kSiblings), Against::kSiblings);
  ASSERT_EQ(egress.size(), 1U);
  for (const SlowChannel& slow : egress[0].slow) EXPECT_TRUE(channels[slow.channel].is_assumed);
  EXPECT_FALSE(egress[0].is_host);
  EXPECT_EQ(egress[0].sides, (std::vector<int32_t>{2}));
  const std::vector<SlowChannel> besides =
      SlowBesides(job, channels, egress[0], FindSlowChannels(job, channels, Against::kOtherSteps));
  ASSERT_EQ(besides.size(), 1U);
  EXPECT_EQ(channels[besides[0].channel].ranks, (std::vector<int32_t>{2, 3}));
  EXPECT_FALSE(besides[0].is_taken);
  for (size_t s = 0; s < 10; ++s) EXPECT_EQ(besides[0].cost[s], s == 3 || s == 6 ? Ms(40) : 0) << s;
  // That all of it strikes in the same steps leaves no doubt that sizes could be the reason.
  EXPECT_TRUE(MakeSlowEgress(job, channels, egress[0], Against::kSiblings, {}).at_most_info);
  EXPECT_FALSE(MakeSlowEgress(job, channels, egress[0], Against::kSiblings, besides).at_most_info);
}

}  // namespace
}  // namespace headway::diagnose
