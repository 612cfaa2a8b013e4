// SPDX-License-Identifier: Apache-2.0
// What transfers are held against: like calls of sibling groups, and the same calls in other steps.
#include "diagnose/channels.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

constexpr Bytes kBytes = 1'000'000;

// `groups` tensor-parallel pairs on one host; a step is 50 ms of work and one all-reduce of `transfer(group, step)`.
Job Pairs(int groups, int steps, const std::function<Nanos(int group, int step)>& transfer) {
  MadeMesh mesh({.ranks = 2 * groups});
  std::vector<int> tp;
  for (int g = 0; g < groups; ++g) tp.push_back(mesh.Group("mesh_tp", {2 * g, 2 * g + 1}));
  for (int s = 0; s < steps; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int g = 0; g < groups; ++g) mesh.Meet(tp[static_cast<size_t>(g)], CommOp::kAllReduce, kBytes, transfer(g, s));
  }
  return JoinJob(mesh.Make());
}

std::vector<Nanos> Times(size_t n, Nanos value) { return std::vector<Nanos>(n, value); }

TEST(Channels, OneOfFourSiblingsTakesLonger) {
  // Group 2 takes 13 ms, the others 10: without itself each sees two or three that take 10.
  const Job job = Pairs(4, 5, [](int g, int) { return g == 2 ? Ms(13) : Ms(10); });
  const std::vector<Channel> channels = CollectChannels(job);
  ASSERT_EQ(channels.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(channels[i].actual, Times(5, i == 2 ? Ms(13) : Ms(10)));
    EXPECT_EQ(channels[i].siblings, Times(5, Ms(10)));
    EXPECT_EQ(channels[i].family, channels[0].family);
  }
  EXPECT_EQ(channels[2].ranks, (std::vector<int32_t>{4, 5}));
}

TEST(Channels, HalfOfEightStruckStillSeeTheOtherHalf) {
  // A struck group sees four of 10 ms and three of 13: their lower middle is 10.
  const Job job = Pairs(8, 5, [](int g, int) { return g % 2 == 1 ? Ms(13) : Ms(10); });
  for (const Channel& channel : CollectChannels(job)) {
    const bool is_struck = channel.ranks.front() % 4 == 2;
    if (is_struck) {
      EXPECT_EQ(channel.siblings, Times(5, Ms(10)));
    }
  }
}

TEST(Channels, OfTwoSiblingsTheQuickerCounts) {
  // Two of three are struck: each of them sees one of 10 ms and one of 13.
  const Job job = Pairs(3, 5, [](int g, int) { return g > 0 ? Ms(13) : Ms(10); });
  const std::vector<Channel> channels = CollectChannels(job);
  ASSERT_EQ(channels.size(), 3U);
  EXPECT_EQ(channels[1].siblings, Times(5, Ms(10)));
  EXPECT_EQ(channels[2].siblings, Times(5, Ms(10)));
  EXPECT_EQ(channels[0].siblings, Times(5, Ms(13)));
}

TEST(Channels, FromEightOnTwoFifthsUpCounts) {
  // Of ten groups six are struck. One of them sees four of 10 ms and five of 13; (9 * 2) / 5 = 3, counted from 0: the
  // fourth, which is 10. The middle would be 13.
  const Job job = Pairs(10, 4, [](int g, int) { return g < 6 ? Ms(13) : Ms(10); });
  const std::vector<Channel> channels = CollectChannels(job);
  ASSERT_EQ(channels.size(), 10U);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(channels[i].siblings, Times(4, Ms(10)));
}

TEST(Channels, OtherCountsAndOtherBytesAreNoSiblings) {
  // Group 0 moves twice as much, group 1 in two calls; groups 2 and 3 alone are alike.
  MadeMesh mesh({.ranks = 8});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    mesh.Meet(tp[0], CommOp::kAllReduce, 2 * kBytes, Ms(20));
    for (int k = 0; k < 2; ++k) mesh.Meet(tp[1], CommOp::kAllReduce, kBytes, Ms(10));
    mesh.Meet(tp[2], CommOp::kAllReduce, kBytes, Ms(11));
    mesh.Meet(tp[3], CommOp::kAllReduce, kBytes, Ms(12));
  }
  const std::vector<Channel> channels = CollectChannels(JoinJob(mesh.Make()));
  ASSERT_EQ(channels.size(), 4U);
  EXPECT_EQ(channels[0].siblings, Times(4, kNoValue));
  EXPECT_EQ(channels[1].siblings, Times(4, kNoValue));
  EXPECT_EQ(channels[1].actual, Times(4, Ms(20)));
  EXPECT_EQ(channels[2].siblings, Times(4, Ms(12)));
  EXPECT_EQ(channels[3].siblings, Times(4, Ms(11)));
}

TEST(Channels, GroupsInsideAHostAndAcrossHostsAreNoSiblings) {
  // Three ranks a host: {0, 1} and {4, 5} stay inside one, {2, 3} does not.
  MadeMesh mesh({.ranks = 6, .per_host = 3});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (const int g : tp) mesh.Meet(g, CommOp::kAllReduce, kBytes, g == tp[1] ? Ms(30) : Ms(10));
  }
  const std::vector<Channel> channels = CollectChannels(JoinJob(mesh.Make()));
  ASSERT_EQ(channels.size(), 3U);
  EXPECT_EQ(channels[1].hosts.size(), 2U);
  EXPECT_EQ(channels[1].siblings, Times(4, kNoValue));
  EXPECT_EQ(channels[0].siblings, Times(4, Ms(10)));
}

TEST(Channels, WithoutWrittenBytesTheProgramDecides) {
  // Ranks 4 to 7 run a barrier of their own in every step: another program, whose calls may be of any size.
  MadeMesh mesh({.ranks = 8});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  const int others = mesh.Group("others", {4, 5, 6, 7});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (const int g : tp) mesh.Meet(g, CommOp::kAllReduce, -1, g < tp[2] ? Ms(10) : Ms(13));
    mesh.Meet(others, CommOp::kBarrier, -1, Ms(1));
  }
  for (const Channel& channel : CollectChannels(JoinJob(mesh.Make()))) {
    if (channel.op != CommOp::kAllReduce) continue;
    EXPECT_EQ(channel.siblings, Times(4, channel.ranks.front() < 4 ? Ms(10) : Ms(13)));
  }
}

// A pipeline of three stages of one rank each, forward and back: 10 and 13 ms between the first two, 20 and 26 between
// the last two. `forward`, `back`: the sizes.
Job ThreeStages(Bytes forward, Bytes back) {
  MadeMesh mesh({.ranks = 3});
  const std::vector<int> next = mesh.Groups("mesh_pp", {{0, 1}, {1, 2}});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (const int r : {0, 1}) mesh.Send(next[static_cast<size_t>(r)], r, forward, r == 0 ? Ms(10) : Ms(20));
    for (const int r : {1, 0}) mesh.Send(next[static_cast<size_t>(r)], r + 1, back, r == 0 ? Ms(13) : Ms(26));
  }
  return JoinJob(mesh.Make());
}

TEST(Channels, WithoutWrittenBytesTheOtherDirectionStandsIn) {
  // A gradient is as large as the activation it belongs to; other stages may exchange other sizes.
  const std::vector<Channel> channels = CollectChannels(ThreeStages(-1, -1));
  ASSERT_EQ(channels.size(), 4U);
  const std::map<std::pair<int32_t, int32_t>, Nanos> expected = {
      {{0, 1}, Ms(13)}, {{1, 0}, Ms(10)}, {{1, 2}, Ms(26)}, {{2, 1}, Ms(20)}};  // (sender, receiver)
  for (const Channel& channel : channels) {
    const int32_t receiver = channel.ranks[channel.ranks[0] == channel.sender ? 1 : 0];
    EXPECT_EQ(channel.siblings, Times(4, expected.at({channel.sender, receiver}))) << channel.sender << receiver;
  }
}

// Two stages of four ranks; sends forward take 10 ms, that of rank 3 13; those back `back`. No sizes are written.
std::vector<Channel> TwoStagesOfFour(Nanos back) {
  MadeMesh mesh({.ranks = 8});
  const std::vector<int> next = mesh.Groups("mesh_pp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int r = 0; r < 4; ++r) mesh.Send(next[static_cast<size_t>(r)], r, -1, r == 3 ? Ms(13) : Ms(10));
    for (int r = 0; r < 4; ++r) mesh.Send(next[static_cast<size_t>(r)], r + 4, -1, back);
  }
  return CollectChannels(JoinJob(mesh.Make()));
}

TEST(Channels, WhereFourSendTheSameWayTheOtherIsNotAsked) {
  // 16 ms back are nothing against 10 there: what is sent back may be more.
  for (const Channel& channel : TwoStagesOfFour(Ms(16))) {
    EXPECT_EQ(channel.siblings, Times(4, channel.sender < 4 ? Ms(10) : Ms(16))) << channel.sender;
    EXPECT_FALSE(channel.is_assumed);
  }
}

TEST(Channels, WhereAllOfOneWayAreFarSlowerItIs) {
  // Of seven others the fourth: the slowest of the other way. 30 ms are over twice 13.
  const std::vector<Channel> channels = TwoStagesOfFour(Ms(30));
  for (const Channel& channel : channels) {
    EXPECT_EQ(channel.likes, channels.front().likes) << channel.sender;  // both ways
    EXPECT_EQ(channel.is_assumed, channel.sender >= 4) << channel.sender;
    if (channel.sender < 4) continue;
    EXPECT_EQ(channel.siblings, Times(4, Ms(13))) << channel.sender;
  }
}

TEST(Channels, AMessageThatTookNothingIsNoSibling) {
  // Of one pair of stages the third of the first stage's messages in each step ended before its receive began.
  MadeMesh mesh({.ranks = 2, .device = false});
  const int pp = mesh.Group("mesh_pp", {0, 1});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int k = 0; k < 4; ++k) {
      mesh.Send(pp, 0, -1, Ms(10));
      mesh.Send(pp, 1, -1, Ms(10));
    }
  }
  Job job = JoinJob(mesh.Make());
  const auto siblings = [&] { return CollectChannels(job).back().siblings; };
  EXPECT_EQ(siblings(), Times(4, Ms(40)));
  const Channel there = CollectChannels(job).front();
  ASSERT_EQ(there.sender, 0);
  for (size_t s = 0; s < 4; ++s) job.graph.collectives[there.CallsOf(s)[2]].shortest = 0;
  EXPECT_EQ(siblings(), Times(4, kNoValue));
}

TEST(Channels, WhereBytesAreWrittenTheyDecideForSendsToo) {
  // Twice as much on the way back: the only like of a send is that of the other stages.
  for (const Channel& channel : CollectChannels(ThreeStages(kBytes, 2 * kBytes))) {
    const bool forward = channel.actual[0] == Ms(10) || channel.actual[0] == Ms(20);
    const Nanos other = Ms(forward ? 30 : 39) - channel.actual[0];
    EXPECT_EQ(channel.siblings, Times(4, other)) << channel.sender;
  }
}

TEST(Channels, UsualIsWhatOtherStepsTake) {
  // 10 ms, from step 4 of 8 on 14. A late step sees four of 10 and three of 14: lower middle 10. An early one sees
  // three of 10 and four of 14: 14.
  const Job job = Pairs(1, 8, [](int, int s) { return s < 4 ? Ms(10) : Ms(14); });
  const std::vector<Channel> channels = CollectChannels(job);
  ASSERT_EQ(channels.size(), 1U);
  EXPECT_EQ(channels[0].siblings, Times(8, kNoValue));
  for (size_t s = 0; s < 8; ++s) EXPECT_EQ(channels[0].usual[s], s < 4 ? Ms(14) : Ms(10)) << s;
}

TEST(Channels, WhatItTookBeforeAnEarlyOnsetIsUsual) {
  // 10 ms, from step 3 of 12 on 20: of the others of any step most are slow, but all before it are clearly quicker than
  // all from it on. One quick step alone at the beginning is no level.
  const Job early = Pairs(1, 12, [](int, int s) { return s < 3 ? Ms(10) : Ms(20); });
  EXPECT_EQ(CollectChannels(early)[0].usual, Times(12, Ms(10)));
  const Job one = Pairs(1, 12, [](int, int s) { return s < 1 ? Ms(10) : Ms(20); });
  EXPECT_EQ(CollectChannels(one)[0].usual, Times(12, Ms(20)));
  const Job mixed = Pairs(1, 12, [](int, int s) { return s < 3 || s == 7 ? Ms(10) : Ms(20); });
  EXPECT_EQ(CollectChannels(mixed)[0].usual, Times(12, Ms(20)));
}

TEST(Channels, ThreeStepsSayNothingAboutWhatIsUsual) {
  const Job three = Pairs(1, 3, [](int, int) { return Ms(10); });
  EXPECT_EQ(CollectChannels(three)[0].usual, Times(3, kNoValue));
  const Job four = Pairs(1, 4, [](int, int) { return Ms(10); });
  EXPECT_EQ(CollectChannels(four)[0].usual, Times(4, Ms(10)));
}

TEST(Channels, StepsThatMoveOtherBytesAreNotCompared) {
  // Every third step moves twice as much: four like it among twelve, and eight of the usual kind.
  MadeMesh mesh({.ranks = 2});
  const int tp = mesh.Group("mesh_tp", {0, 1});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    mesh.Meet(tp, CommOp::kAllReduce, s % 3 == 0 ? 2 * kBytes : kBytes, s % 3 == 0 ? Ms(20) : Ms(10));
  }
  const std::vector<Channel> channels = CollectChannels(JoinJob(mesh.Make()));
  for (size_t s = 0; s < 12; ++s) EXPECT_EQ(channels.at(0).usual[s], s % 3 == 0 ? Ms(20) : Ms(10)) << s;
}

TEST(Channels, ATransferLastsAsLongAsItsLastArriver) {
  // Rank 1 comes 7 ms after rank 0 and spends 10 ms in it, rank 0 spends 17.
  MadeMesh mesh({.ranks = 2});
  const int tp = mesh.Group("mesh_tp", {0, 1});
  mesh.Step();
  mesh.ComputeAll(Ms(50));
  mesh.Compute(1, Ms(7));
  mesh.Meet(tp, CommOp::kAllReduce, kBytes, Ms(10));
  const Job job = JoinJob(mesh.Make());
  ASSERT_EQ(job.comms.collectives.size(), 1U);
  EXPECT_EQ(TransferTime(job, 0), Ms(10));
}

TEST(Channels, EachDirectionOfAPairIsAChannel) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (const int g : {0, 1}) mesh.Send(pp[static_cast<size_t>(g)], g, kBytes, Ms(4));
    for (const int g : {0, 1}) mesh.Send(pp[static_cast<size_t>(g)], g + 2, kBytes, g == 0 ? Ms(6) : Ms(5));
  }
  const std::vector<Channel> channels = CollectChannels(JoinJob(mesh.Make()));
  ASSERT_EQ(channels.size(), 4U);
  for (const Channel& channel : channels) {
    const Nanos time = channel.sender < 2 ? Ms(4) : channel.sender == 2 ? Ms(6) : Ms(5);
    EXPECT_EQ(channel.actual, Times(4, time)) << channel.sender;
    EXPECT_NE(channel.sender, -1);
  }
}

}  // namespace
}  // namespace headway::diagnose
