// SPDX-License-Identifier: Apache-2.0
// What a slow channel is held against: quick ones of its kind that take hardly any time, ones whose clocks leave open
// what they take, its own other steps.
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

// Four pairs of one host, each with one all-reduce of 10 ms in each of eight steps of 50 ms of kernels. That of the
// third pair takes 13, but 10 in step `quick`, and what it began in step 5 counts to step 6: no sibling makes two
// calls.
std::vector<Nanos> CostOfThePairThatGoesOnBeyondItsStep(int quick) {
  MadeMesh mesh({.ranks = 8});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (size_t g = 0; g < 4; ++g) {
      const int calls = g != 2 || s < 5 || s > 6 ? 1 : s == 5 ? 0 : 2;
      for (int k = 0; k < calls; ++k) {
        mesh.Meet(tp[g], trace::CommOp::kAllReduce, 1'000'000, Ms(g == 2 && s != quick ? 13 : 10));
      }
    }
  }
  const Job job = JoinJob(mesh.Make());
  const std::vector<SlowChannel> found = FindSlowChannels(job, CollectChannels(job), Against::kSiblings);
  return found.size() == 1 ? found[0].cost : std::vector<Nanos>();
}

TEST(SlowChannels, WhatIsAlwaysSlowIsSoWhereNothingIsLikeIt) {
  // 26 ms at 1.3 times the time: 6 are too many. Not so if it is quick in a step: who knows in which of them.
  EXPECT_EQ(CostOfThePairThatGoesOnBeyondItsStep(-1),
            (std::vector<Nanos>{Ms(3), Ms(3), Ms(3), Ms(3), Ms(3), 0, Ms(6), Ms(3)}));
  EXPECT_EQ(CostOfThePairThatGoesOnBeyondItsStep(2), (std::vector<Nanos>{Ms(3), Ms(3), 0, Ms(3), Ms(3), 0, 0, Ms(3)}));
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

// A pipeline of four stages: each sends to both of its neighbours, 10 ms, rank 1 to rank 2 for 40 and to rank 0 for
// `back`, of which the clocks leave `unsure` open.
std::vector<Egress> OutOfRankOne(Nanos back, Nanos unsure) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 1}, {1, 2}, {2, 3}});
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int r = 0; r < 3; ++r) mesh.Send(pp[static_cast<size_t>(r)], r, 1'000'000, r == 1 ? Ms(40) : Ms(10));
    for (int r = 3; r > 0; --r) mesh.Send(pp[static_cast<size_t>(r - 1)], r, 1'000'000, r == 1 ? back : Ms(10));
  }
  const Job job = JoinJob(mesh.Make());
  std::vector<Channel> channels = CollectChannels(job);
  for (Channel& channel : channels) {
    if (channel.sender == 1 && channel.ranks.front() == 0) channel.uncertain = unsure;
  }
  return Localise(job, channels, FindSlowChannels(job, channels, Against::kSiblings), Against::kSiblings);
}

TEST(Localise, WhatClocksLeaveUnsureSpeaksNeitherForNorAgainst) {
  const auto slow_of = [](const std::vector<Egress>& found) {
    return found.size() == 1 && found[0].sides == std::vector<int32_t>{1} ? found[0].slow.size() : 0;
  };
  EXPECT_EQ(slow_of(OutOfRankOne(Ms(40), 0)), 2U);
  EXPECT_EQ(slow_of(OutOfRankOne(Ms(10), 0)), 0U);  // a quick channel: half of its way out is no way out
  const std::vector<Egress> found = OutOfRankOne(Ms(40), Ms(50));
  ASSERT_EQ(slow_of(found), 2U);
  EXPECT_FALSE(found[0].slow[0].is_taken);
  EXPECT_TRUE(found[0].slow[1].is_taken);
  EXPECT_EQ(found[0].slow[1].cost, std::vector<Nanos>(8, Ms(30)));
  EXPECT_EQ(slow_of(OutOfRankOne(Ms(10), Ms(50))), 0U);  // quick it is, whatever its clocks
}

TEST(SlowChannels, WhatClocksAreOffByIsOffInAllSteps) {
  // From step 6 on a message takes 30 ms longer. 50 may be the clocks': beside its like, not beside its own other
  // steps.
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int r = 0; r < 2; ++r) mesh.Send(pp[static_cast<size_t>(r)], r, 1'000'000, r == 0 && s >= 6 ? Ms(40) : Ms(10));
  }
  const Job job = JoinJob(mesh.Make());
  std::vector<Channel> channels = CollectChannels(job);
  for (Channel& channel : channels) {
    channel.uncertain = Ms(51);
    channel.wanders = Ms(1);
  }
  EXPECT_TRUE(FindSlowChannels(job, channels, Against::kSiblings).empty());
  const std::vector<SlowChannel> slow = FindSlowChannels(job, channels, Against::kOtherSteps);
  ASSERT_EQ(slow.size(), 1U);
  for (size_t s = 0; s < 12; ++s) EXPECT_EQ(slow[0].cost[s], s < 6 ? 0 : Ms(30)) << s;
}

// Two stages of two tensor-parallel ranks; no size is written, and each stage runs a program of its own. Both reduce
// twenty activations in a step, the second stage `times` as slowly.
TEST(SlowChannels, TensorParallelGroupsOfOtherStagesStandInWhereNoSizeIsWritten) {
  const auto slow = [](int times, const char* desc) {
    MadeMesh mesh({.ranks = 4, .device = false});
    const std::vector<int> tp = mesh.Groups(desc, {{0, 1}, {2, 3}});
    mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
    for (int s = 0; s < 8; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(50));
      for (int k = 0; k < 20; ++k) {
        for (size_t g = 0; g < 2; ++g) mesh.Meet(tp[g], trace::CommOp::kAllReduce, -1, g == 1 ? times * Ms(1) : Ms(1));
      }
    }
    const Job job = JoinJob(mesh.Make());
    EXPECT_NE(job.peer_class[0], job.peer_class[2]);
    const std::vector<Channel> channels = CollectChannels(job);
    std::vector<size_t> out;
    for (const SlowChannel& found : FindSlowChannels(job, channels, Against::kSiblings)) {
      EXPECT_TRUE(channels[found.channel].is_assumed);
      EXPECT_EQ(channels[found.channel].ranks.front(), 2);
      out.push_back(found.channel);
    }
    return out.size();
  };
  EXPECT_EQ(slow(4, "mesh_tp"), 1U);
  EXPECT_EQ(slow(2, "mesh_tp"), 0U);  // twice the time may be another size
  EXPECT_EQ(slow(4, "mesh_dp"), 0U);  // gradients of stages differ
}

}  // namespace
}  // namespace headway::diagnose
