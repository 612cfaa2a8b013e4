// SPDX-License-Identifier: Apache-2.0
// Channels that are quick and take hardly any time are what a slow one of their kind is held against.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "diagnose/made_mesh.h"
#include "diagnose/slow_channels.h"

namespace headway::diagnose {
namespace {

// Each of `senders` ranks sends to one of its own in each of six steps of 50 ms of kernels: the last one for `slow`,
// the others for `quick`. Neighbours among them meet for `meeting` besides, if that is above 0.
std::vector<Egress> WaysOut(int senders, Nanos slow, Nanos quick, Nanos meeting = 0) {
  MadeMesh mesh({.ranks = 2 * senders});
  std::vector<int> pp;
  for (int r = 0; r < senders; ++r) pp.push_back(mesh.Group("mesh_pp", {r, r + senders}));
  std::vector<int> neighbours;
  for (int r = 0; r + 1 < senders; r += 2) neighbours.push_back(mesh.Group("mesh_tp", {r, r + 1}));
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int r = 0; r < senders; ++r) {
      mesh.Send(pp[static_cast<size_t>(r)], r, 1'000'000, r + 1 == senders ? slow : quick);
    }
    for (size_t g = 0; g < neighbours.size() && meeting > 0; ++g) {
      mesh.Meet(neighbours[g], trace::CommOp::kAllReduce, 1000, meeting);
    }
  }
  const Job job = JoinJob(mesh.Make());
  const std::vector<Channel> channels = CollectChannels(job);
  std::vector<SlowChannel> found = FindSlowChannels(job, channels, Against::kSiblings);
  return Localise(job, channels, std::move(found), Against::kSiblings);
}

TEST(Localise, AQuickSiblingThatHardlyCountsIsALikeAllTheSame) {
  // 1 ms against 40 us, which are 0.08 % of a step of 51 ms: too little to matter. That one is quick tells that the
  // other's way out is slow, as it is not all of its kind that pass it.
  for (const int senders : {2, 4}) {
    const std::vector<Egress> egress = WaysOut(senders, Ms(1), Us(40));
    ASSERT_EQ(egress.size(), 1U) << senders;
    EXPECT_FALSE(egress[0].is_host);
    EXPECT_EQ(egress[0].sides, (std::vector<int32_t>{senders - 1}));
    EXPECT_EQ(egress[0].predicted, 1U);
    ASSERT_EQ(egress[0].slow.size(), 1U);
    EXPECT_EQ(egress[0].slow[0].cost, std::vector<Nanos>(6, Us(960)));
  }
}

TEST(Localise, WhatHardlyCountsDoesNotSpeakForAWayOut) {
  // Rank 3 also meets rank 2, as quickly as ranks 0 and 1 meet: for 20 us that is no channel that its slow way out had
  // to show in. For 10 ms it is: one slow channel of two is no more than half.
  const std::vector<Egress> egress = WaysOut(4, Ms(1), Us(40), Us(20));
  ASSERT_EQ(egress.size(), 1U);
  EXPECT_EQ(egress[0].sides, (std::vector<int32_t>{3}));
  EXPECT_EQ(egress[0].predicted, 1U);
  EXPECT_TRUE(WaysOut(4, Ms(1), Us(40), Ms(10)).empty());
}

TEST(Localise, ASlowWayOutThatHardlyCountsIsNone) {
  // 90 us are 0.18 % of a step.
  EXPECT_TRUE(WaysOut(4, Us(90), Us(40)).empty());
}

// Two stages on two hosts of two ranks each. The first one's hosts send to the second one's, host 0 for `slow`, host 1
// for 1 ms; gradients go from host to host inside a stage, in the second one twice as many bytes.
std::vector<Egress> OutOfStages(Nanos slow) {
  MadeMesh mesh({.ranks = 8, .per_host = 2});
  const std::vector<int> dp = mesh.Groups("mesh_dp", {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int r = 0; r < 4; ++r) mesh.Send(pp[static_cast<size_t>(r)], r, 1'000'000, r < 2 ? slow : Ms(1));
    for (size_t g = 0; g < dp.size(); ++g) {
      mesh.Meet(dp[g], trace::CommOp::kAllReduce, g < 2 ? 1'000'000 : 2'000'000, g < 2 ? slow : Ms(2));
    }
  }
  const Job job = JoinJob(mesh.Make());
  const std::vector<Channel> channels = CollectChannels(job);
  std::set<int32_t> families;
  std::map<bool, std::set<int32_t>> likes;  // by stage
  for (const Channel& channel : channels) {
    if (channel.sender >= 0) continue;
    families.insert(channel.family);
    likes[channel.ranks.front() < 4].insert(channel.likes);
  }
  EXPECT_EQ(families.size(), 1U);
  EXPECT_EQ(likes[true].size(), 1U);
  EXPECT_EQ(likes[false].size(), 1U);
  EXPECT_NE(likes[true], likes[false]);
  std::vector<SlowChannel> found = FindSlowChannels(job, channels, Against::kSiblings);
  return Localise(job, channels, std::move(found), Against::kSiblings);
}

TEST(Localise, OfOneFamilyThoseHeldAgainstOneAnotherCount) {
  // The gradients of stage 0 pass host 0 all of them, and are held against one another alone: what they take tells
  // nothing. Two sends of two tell of host 0.
  const std::vector<Egress> egress = OutOfStages(Ms(10));
  ASSERT_EQ(egress.size(), 1U);
  EXPECT_TRUE(egress[0].is_host);
  EXPECT_EQ(egress[0].sides, (std::vector<int32_t>{0}));
  EXPECT_EQ(egress[0].predicted, 2U);
  EXPECT_EQ(egress[0].slow.size(), 2U);
  EXPECT_TRUE(OutOfStages(Ms(1)).empty());
}

}  // namespace
}  // namespace headway::diagnose
