// SPDX-License-Identifier: Apache-2.0
// A way out that channels tell which are slow by little, or in single steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/egress_finding.h"
#include "diagnose/made_mesh.h"
#include "diagnose/slow_channels.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

// Eight ranks on one host, in pairs of three kinds. What rank 5 takes part in takes so long, all else 10 ms.
struct Pairs {
  Job job;
  std::vector<Channel> channels;
  std::vector<Egress> egress;

  Pairs(bool device, Nanos tp, Nanos dp, Nanos ep, Nanos ep_of_rank_2 = Ms(10)) {
    MadeMesh mesh({.ranks = 8, .device = device});
    const std::vector<MadeMesh::Members> members = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                                    {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
    std::vector<int> groups;
    for (size_t g = 0; g < members.size(); ++g) {
      groups.push_back(mesh.Group(g < 4 ? "mesh_tp" : g < 8 ? "mesh_dp" : "mesh_ep", members[g]));
    }
    for (int s = 0; s < 8; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(50));
      for (size_t g = 0; g < members.size(); ++g) {
        const auto holds = [&](int rank) {
          return std::find(members[g].begin(), members[g].end(), rank) != members[g].end();
        };
        const Nanos of_rank_5 = g < 4 ? tp : g < 8 ? dp : ep;
        mesh.Meet(groups[g], CommOp::kAllReduce, 1'000'000,
                  holds(5)             ? of_rank_5
                  : g >= 8 && holds(2) ? ep_of_rank_2
                                       : Ms(10));
      }
    }
    job = JoinJob(mesh.Make());
    channels = CollectChannels(job);
    egress = Localise(job, channels, FindSlowChannels(job, channels, Against::kSiblings), Against::kSiblings);
  }
  // Kind of group, and what it costs in each step.
  [[nodiscard]] std::vector<std::pair<std::string, Nanos>> Slow() const {
    std::vector<std::pair<std::string, Nanos>> out;
    for (const SlowChannel& slow : egress.front().slow) {
      const auto group = static_cast<size_t>(channels[slow.channel].group);
      EXPECT_EQ(slow.cost, std::vector<Nanos>(8, slow.cost.front()));
      out.emplace_back(job.comms.groups[group].desc, slow.cost.front());
    }
    return out;
  }
};
using Costs = std::vector<std::pair<std::string, Nanos>>;

TEST(Localise, WhatIsSlowByLittleIsPricedWithTheWayItPasses) {
  // 3 ms of 10 in two of three groups of rank 5, two thirds of what its way out should slow, tell it; in the third 0.2
  // ms, 2 %, would not stand for themselves.
  const Pairs made(true, Ms(13), Ms(13), Us(10'200), Us(10'200));
  ASSERT_EQ(made.egress.size(), 1U);
  EXPECT_EQ(made.egress[0].sides, (std::vector<int32_t>{5}));
  EXPECT_FALSE(made.egress[0].is_slight);
  EXPECT_EQ(made.Slow(), (Costs{{"mesh_tp", Ms(3)}, {"mesh_dp", Ms(3)}, {"mesh_ep", Us(200)}}));  // not that of rank 2
  EXPECT_EQ(Pairs(true, Ms(13), Ms(13), Us(10'090)).egress[0].slow.size(), 2U);                   // 0.9 %
}

TEST(Localise, WhatIsSlowByLittleTellsWhoseWayOutItIs) {
  // A host backend: 4 ms of 10 stand out, but say nothing of which end it is; 1.5 ms in the others are those of rank 5.
  const Pairs made(false, Us(11'500), Ms(14), Us(11'500));
  ASSERT_EQ(made.egress.size(), 1U);
  EXPECT_EQ(made.egress[0].sides, (std::vector<int32_t>{5}));
  EXPECT_TRUE(made.egress[0].is_slight);
  EXPECT_EQ(made.Slow(), (Costs{{"mesh_dp", Ms(4)}, {"mesh_ep", Us(1'500)}, {"mesh_tp", Us(1'500)}}));
  EXPECT_TRUE(MakeSlowEgress(made.job, made.channels, made.egress[0], Against::kSiblings).at_most_info);
  EXPECT_TRUE(Pairs(false, Us(10'900), Ms(14), Us(11'500)).egress.empty());               // one of three is as usual
  EXPECT_TRUE(Pairs(false, Us(11'500), Us(11'500), Us(11'500)).egress.empty());           // nothing stands out
  EXPECT_EQ(Pairs(false, Us(11'500), Ms(14), Us(11'500), Us(11'500)).egress.size(), 1U);  // one more: 3 of 4
}

// Ranks 0 and 1 send to ranks 2 and 3, and each two meet. From rank 0 it takes 13 instead of 10 ms in steps that
// `sends` says, of which clocks and late rows leave 50 open; meeting rank 1 takes 15 in every third.
size_t SlowInSteps(bool (*sends)(int step)) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}}), dp = mesh.Groups("mesh_dp", {{0, 1}, {2, 3}});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int r = 0; r < 2; ++r)
      mesh.Send(pp[static_cast<size_t>(r)], r, 1'000'000, r == 0 && sends(s) ? Ms(13) : Ms(10));
    for (size_t g = 0; g < 2; ++g)
      mesh.Meet(dp[g], CommOp::kAllReduce, 1'000'000, g == 0 && s % 3 == 0 ? Ms(15) : Ms(10));
  }
  const Job job = JoinJob(mesh.Make());
  std::vector<Channel> channels = CollectChannels(job);
  for (Channel& channel : channels) channel.wanders = channel.sender >= 0 ? Ms(50) : 0;
  return FindSlowChannels(job, channels, Against::kOtherSteps).size();
}

TEST(SlowChannels, NoClockIsOffInJustTheStepsInWhichAnotherChannelIsSlow) {
  EXPECT_EQ(SlowInSteps([](int s) { return s % 3 == 0; }), 2U);
  EXPECT_EQ(SlowInSteps([](int s) { return s % 3 == 0 && s > 0; }), 2U);  // three of four
  EXPECT_EQ(SlowInSteps([](int s) { return s % 6 == 0; }), 1U);           // two of four
  EXPECT_EQ(SlowInSteps([](int s) { return s % 3 == 1; }), 1U);
}

}  // namespace
}  // namespace headway::diagnose
