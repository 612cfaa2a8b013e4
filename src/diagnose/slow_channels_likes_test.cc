// SPDX-License-Identifier: Apache-2.0
// Channels that are quick and take hardly any time are what a slow one of their kind is held against.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace headway::diagnose
