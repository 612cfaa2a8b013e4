// SPDX-License-Identifier: Apache-2.0
// Which transfers are slow, in which steps, and whose way out they share.
#include "diagnose/slow_channels.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <utility>

#include "diagnose/egress_finding.h"
#include "diagnose/made_mesh.h"
#include "diagnose/shared_way.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

constexpr Bytes kBytes = 1'000'000;

struct Found {
  Job job;
  std::vector<Channel> channels;
  std::vector<SlowChannel> slow;
};

Found Search(std::vector<pattern::RankPattern> ranks, Against against) {
  Found out;
  out.job = JoinJob(std::move(ranks));
  out.channels = CollectChannels(out.job);
  out.slow = FindSlowChannels(out.job, out.channels, against);
  return out;
}

std::vector<Egress> LocaliseAll(const Found& found, Against against) {
  return Localise(found.job, found.channels, found.slow, against);
}

// Four pairs on one host; a step is 50 ms of work and one all-reduce of `transfer(group, step)`.
std::vector<pattern::RankPattern> FourPairs(int steps, bool device, const std::function<Nanos(int, int)>& transfer) {
  MadeMesh mesh({.ranks = 8, .device = device});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  for (int s = 0; s < steps; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int g = 0; g < 4; ++g) mesh.Meet(tp[static_cast<size_t>(g)], CommOp::kAllReduce, kBytes, transfer(g, s));
  }
  return mesh.Make();
}

TEST(SlowChannels, OneSiblingOfFourInEveryStep) {
  const Found found =
      Search(FourPairs(6, true, [](int g, int) { return g == 2 ? Ms(13) : Ms(10); }), Against::kSiblings);
  ASSERT_EQ(found.slow.size(), 1U);
  EXPECT_EQ(found.channels[found.slow[0].channel].ranks, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(found.slow[0].cost, std::vector<Nanos>(6, Ms(3)));
  EXPECT_DOUBLE_EQ(found.slow[0].ratio, 1.3);
}

TEST(SlowChannels, SlowFromEarlyOn) {
  // Three steps of twelve before it: the quicker half of the steps holds slow ones, which are no scatter.
  const Found found = Search(FourPairs(12, true, [](int g, int s) { return g == 2 && s >= 3 ? Ms(20) : Ms(10); }),
                             Against::kOtherSteps);
  ASSERT_EQ(found.slow.size(), 1U);
  EXPECT_EQ(found.channels[found.slow[0].channel].ranks, (std::vector<int32_t>{4, 5}));
  for (size_t s = 0; s < 12; ++s) EXPECT_EQ(found.slow[0].cost[s], s < 3 ? 0 : Ms(10)) << s;
}

TEST(SlowChannels, HealthyTwin) {
  const auto all_alike = [](int, int) { return Ms(10); };
  EXPECT_TRUE(Search(FourPairs(6, true, all_alike), Against::kSiblings).slow.empty());
  EXPECT_TRUE(Search(FourPairs(6, true, all_alike), Against::kOtherSteps).slow.empty());
}

TEST(SlowChannels, TheLastStepAloneTellsNothing) {
  const auto slow_in = [](int step) {
    return Search(FourPairs(8, true, [step](int g, int s) { return Ms(g == 2 && s == step ? 20 : 10); }),
                  Against::kOtherSteps)
        .slow.size();
  };
  EXPECT_EQ(slow_in(6), 1U);
  EXPECT_EQ(slow_in(7), 0U);
}

TEST(SlowChannels, OneSiblingInTwoStepsOfEight) {
  // Level of the eight steps: none. The two struck ones are 30 % above.
  const Found found =
      Search(FourPairs(8, true, [](int g, int s) { return g == 2 && (s == 3 || s == 4) ? Ms(13) : Ms(10); }),
             Against::kSiblings);
  ASSERT_EQ(found.slow.size(), 1U);
  EXPECT_EQ(found.slow[0].cost, (std::vector<Nanos>{0, 0, 0, Ms(3), Ms(3), 0, 0, 0}));
}

TEST(SlowChannels, OnsetShowsAgainstOtherStepsOnly) {
  // All groups alike, so siblings say nothing: 10 ms, from step 4 of 8 on 14.
  const auto onset = [](int, int s) { return s < 4 ? Ms(10) : Ms(14); };
  EXPECT_TRUE(Search(FourPairs(8, true, onset), Against::kSiblings).slow.empty());
  const Found found = Search(FourPairs(8, true, onset), Against::kOtherSteps);
  ASSERT_EQ(found.slow.size(), 4U);
  for (const SlowChannel& slow : found.slow) {
    EXPECT_EQ(slow.cost, (std::vector<Nanos>{0, 0, 0, 0, Ms(4), Ms(4), Ms(4), Ms(4)}));
    EXPECT_DOUBLE_EQ(slow.ratio, 1.4);
  }
}

TEST(SlowChannels, AHostBackendsUnevennessIsNoSlowLink) {
  // 20 % above its siblings stands out on a device, where rings agree within per cents, and not where the transfers
  // share cores with everything else.
  const auto a_fifth = [](int g, int) { return g == 2 ? Ms(12) : Ms(10); };
  EXPECT_EQ(Search(FourPairs(6, true, a_fifth), Against::kSiblings).slow.size(), 1U);
  EXPECT_TRUE(Search(FourPairs(6, false, a_fifth), Against::kSiblings).slow.empty());
}

TEST(SlowChannels, WhatMovesHardlyAnythingIsPassedOver) {
  // 0.08 ms a step of 50 is 0.16 %.
  const auto little = [](int g, int) { return g == 2 ? Us(80) : Us(40); };
  EXPECT_TRUE(Search(FourPairs(6, true, little), Against::kSiblings).slow.empty());
}

TEST(SlowChannels, MustStandOutOfTheirScatter) {
  // In turn the four take 8, 10, 10 and 12 ms: 0.8, 1, 1 and 1.2 of the middle of the others. About 1 that scatters by
  // 1.4826 * 0.2 = 0.3; a level over 12 steps is off by 1.25 * 0.3 / sqrt(12) = 0.11, and four times that is needed.
  // Group 2 does not show at 1.1 times its time, and does at 1.8.
  const auto in_turn = [](int percent) {
    return [percent](int g, int s) {
      constexpr int kTurn[] = {8, 10, 10, 12};
      return kTurn[(g + s) % 4] * Us(10) * (g == 2 ? percent : 100);
    };
  };
  EXPECT_TRUE(Search(FourPairs(12, true, in_turn(110)), Against::kSiblings).slow.empty());
  const Found found = Search(FourPairs(12, true, in_turn(180)), Against::kSiblings);
  ASSERT_EQ(found.slow.size(), 1U);
  EXPECT_EQ(found.channels[found.slow[0].channel].ranks, (std::vector<int32_t>{4, 5}));
}

// Eight ranks on `per_host`-rank hosts, tp {0..3}, {4..7} and dp {0, 4}, {1, 5}, {2, 6}, {3, 7}: one all-reduce each a
// step, 10 ms long, 13 ms where `is_slow` says so of the group's members.
std::vector<pattern::RankPattern> Mesh(int per_host, const std::function<bool(const MadeMesh::Members&)>& is_slow) {
  MadeMesh mesh({.ranks = 8, .per_host = per_host});
  const std::vector<MadeMesh::Members> tp = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  const std::vector<MadeMesh::Members> dp = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  const std::vector<int> tp_groups = mesh.Groups("mesh_tp", tp), dp_groups = mesh.Groups("mesh_dp", dp);
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (size_t g = 0; g < tp.size(); ++g) {
      mesh.Meet(tp_groups[g], CommOp::kAllReduce, kBytes, is_slow(tp[g]) ? Ms(13) : Ms(10));
    }
    for (size_t g = 0; g < dp.size(); ++g) {
      mesh.Meet(dp_groups[g], CommOp::kAllReduce, kBytes, is_slow(dp[g]) ? Ms(13) : Ms(10));
    }
  }
  return mesh.Make();
}

bool Holds(const MadeMesh::Members& members, int rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

TEST(Localise, ARankInTwoSlowGroups) {
  // Rank 5's tp and dp group are slow. Only rank 5 is in both: 2 of 2; each other member of them is in one of its two,
  // 1 / (2 + 2 - 1). Its host n1 sends in four groups that leave it, of which one is slow: 1 / (4 + 2 - 1).
  const Found found = Search(Mesh(4, [](const auto& members) { return Holds(members, 5); }), Against::kSiblings);
  ASSERT_EQ(found.slow.size(), 2U);
  const std::vector<Egress> egress = LocaliseAll(found, Against::kSiblings);
  ASSERT_EQ(egress.size(), 1U);
  EXPECT_FALSE(egress[0].is_host);
  EXPECT_EQ(egress[0].sides, (std::vector<int32_t>{5}));
  EXPECT_EQ(egress[0].predicted, 2U);
  EXPECT_EQ(egress[0].slow.size(), 2U);
}

TEST(Localise, MembersOfOneSlowGroupTie) {
  // Of the four tp ranks 4 to 7 each has one slow group of two, 1 / 2: no more than half, so none is named. With tp
  // alone all four explain it equally well.
  const Found mesh =
      Search(Mesh(8, [](const auto& members) { return members.size() == 4 && members[0] == 4; }), Against::kSiblings);
  ASSERT_EQ(mesh.slow.size(), 1U);
  EXPECT_TRUE(LocaliseAll(mesh, Against::kSiblings).empty());
  const Found pairs =
      Search(FourPairs(6, true, [](int g, int) { return g == 2 ? Ms(13) : Ms(10); }), Against::kSiblings);
  const std::vector<Egress> egress = LocaliseAll(pairs, Against::kSiblings);
  ASSERT_EQ(egress.size(), 1U);
  EXPECT_EQ(egress[0].sides, (std::vector<int32_t>{4, 5}));
}

TEST(Localise, SlowGroupsWithoutACommonSideNameNobody) {
  const Found found =
      Search(FourPairs(6, true, [](int g, int) { return g < 2 ? Ms(13) : Ms(10); }), Against::kSiblings);
  ASSERT_EQ(found.slow.size(), 2U);
  EXPECT_TRUE(LocaliseAll(found, Against::kSiblings).empty());
}

TEST(Localise, AHostOfOneRankIsNamedAsItsRank) {
  // One rank a host: rank and host explain the same.
  const Found found = Search(Mesh(1, [](const auto& members) { return Holds(members, 5); }), Against::kSiblings);
  const std::vector<Egress> egress = LocaliseAll(found, Against::kSiblings);
  ASSERT_EQ(egress.size(), 1U);
  EXPECT_FALSE(egress[0].is_host);
  EXPECT_EQ(egress[0].sides, (std::vector<int32_t>{5}));
}

TEST(Localise, AHostWhoseTrafficToOthersIsSlow) {
  // Two ranks a host, n0 to n3. dp {0, 2}, {1, 3} joins n0 and n1, {4, 6}, {5, 7} n2 and n3; sends go both ways in pp
  // {0, 4}, {1, 5}, {2, 6}, {3, 7}; tp stays inside. What n1 (ranks 2 and 3) sends takes 13 ms instead of 10: two dp
  // groups and two sends, all that leave it. Of n0's four two are slow, 2 / (4 + 4 - 2); of rank 2's two, but of the
  // four slow ones only two: 2 / (2 + 4 - 2).
  MadeMesh mesh({.ranks = 8, .per_host = 2});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  const std::vector<int> dp = mesh.Groups("mesh_dp", {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (const int g : tp) mesh.Meet(g, CommOp::kAllReduce, kBytes, Ms(10));
    for (int r = 0; r < 4; ++r) mesh.Send(pp[static_cast<size_t>(r)], r, kBytes, r >= 2 ? Ms(13) : Ms(10));
    for (int r = 0; r < 4; ++r) mesh.Send(pp[static_cast<size_t>(r)], r + 4, kBytes, Ms(10));
    for (const int g : dp) mesh.Meet(g, CommOp::kAllReduce, kBytes, g < dp[2] ? Ms(13) : Ms(10));
  }
  const Found found = Search(mesh.Make(), Against::kSiblings);
  EXPECT_EQ(found.slow.size(), 4U);
  const std::vector<Egress> egress = LocaliseAll(found, Against::kSiblings);
  ASSERT_EQ(egress.size(), 1U);
  EXPECT_TRUE(egress[0].is_host);
  ASSERT_EQ(egress[0].sides.size(), 1U);
  EXPECT_EQ(found.job.comms.clocks[static_cast<size_t>(egress[0].sides[0])].host, "n1");
  EXPECT_EQ(egress[0].predicted, 4U);
}

// Two stages of four: 0 to 3 send to 4 to 7, 13 ms where `is_slow` says so of the sender, else 10. Ranks 0 and 2 also
// send to their neighbours, for `to_neighbour`, if that is above 0.
Found Stages(const std::function<bool(int)>& is_slow, bool named = false, Nanos to_neighbour = 0) {
  MadeMesh mesh({.ranks = 8});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  const std::vector<int> pairs = mesh.Groups("pairs", {{0, 1}, {2, 3}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int r = 0; r < 4; ++r) mesh.Send(pp[static_cast<size_t>(r)], r, kBytes, is_slow(r) ? Ms(13) : Ms(10));
    for (int g = 0; g < 2 && to_neighbour > 0; ++g) {
      mesh.Send(pairs[static_cast<size_t>(g)], 2 * g, kBytes, to_neighbour);
    }
  }
  std::vector<pattern::RankPattern> ranks = mesh.Make();
  for (pattern::RankPattern& rank : ranks) {
    if (named) continue;
    rank.comms.host_known = false;
    rank.meta.host = rank.comms.host = "";
  }
  return Search(std::move(ranks), Against::kSiblings);
}

TEST(Localise, ARowOfSendersWhoseFilesNameNoHost) {
  // Each of the two explains one of two slow channels, 1 / (1 + 2 - 1): no more than half.
  const auto second_half = [](int r) { return r >= 2; };
  const Found found = Stages(second_half);
  ASSERT_EQ(found.slow.size(), 2U);
  const std::vector<Egress> egress = LocaliseAll(found, Against::kSiblings);
  ASSERT_EQ(egress.size(), 1U);
  EXPECT_TRUE(egress[0].is_row);
  EXPECT_FALSE(egress[0].is_host);
  EXPECT_EQ(egress[0].sides, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(egress[0].predicted, 2U);
  EXPECT_EQ(egress[0].slow.size(), 2U);
  EXPECT_TRUE(LocaliseAll(Stages(second_half, true), Against::kSiblings).empty());
}

TEST(Localise, ASlowCollectiveBesideARowOfSendersIsNoneOfIt) {
  Found found = Stages([](int r) { return r >= 2; });
  found.channels.push_back({.op = CommOp::kAllReduce, .ranks = {4, 5, 6, 7}, .hosts = {4, 5, 6, 7}});
  found.slow.push_back({found.channels.size() - 1, std::vector<Nanos>(6, Ms(1)), 1.3});
  const std::vector<Egress> egress = LocaliseAll(found, Against::kSiblings);
  ASSERT_EQ(egress.size(), 1U);
  EXPECT_EQ(egress[0].sides, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(egress[0].slow.size(), 2U);
}

TEST(Localise, SendersThatAreNoRowShareNoHost) {
  const Found found = Stages([](int r) { return r % 2 == 0; });
  ASSERT_EQ(found.slow.size(), 2U);
  EXPECT_TRUE(LocaliseAll(found, Against::kSiblings).empty());
}

TEST(Localise, ASenderWithAQuickChannelHasAGoodWayOut) {
  // Rank 2 sends to its neighbour as quickly as rank 0 does.
  const Found found = Stages([](int r) { return r >= 2; }, false, Ms(10));
  ASSERT_EQ(found.slow.size(), 2U);
  EXPECT_TRUE(LocaliseAll(found, Against::kSiblings).empty());
}

// Four hosts of two ranks. Experts exchange between the first two and the last two hosts, rings run over all four. What
// the second host sends is slow: its two exchanges take 11 instead of 10 ms and end on the first host; both rings pass
// it, so none of them is quicker.
Found ExchangesAndRings() {
  MadeMesh mesh({.ranks = 8, .per_host = 2});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  const std::vector<int> exchanges = mesh.Groups("mesh_ep", {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  const std::vector<int> rings = mesh.Groups("mesh_dp", {{0, 2, 4, 6}, {1, 3, 5, 7}});
  for (int s = 0; s < 16; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    mesh.Meet(world, CommOp::kBarrier, 0, Us(20));
    for (size_t e = 0; e < exchanges.size(); ++e) {
      const Nanos last = e < 2 ? Ms(11) + Us(500) : Ms(10);
      mesh.Meet(exchanges[e], CommOp::kAllToAll, kBytes, {last, e < 2 ? Ms(11) : Ms(10)});
    }
    for (const int ring : rings) mesh.Meet(ring, CommOp::kAllReduce, kBytes, Ms(22));
  }
  return Search(mesh.Make(), Against::kSiblings);
}

TEST(Localise, RingsThatAllPassSayNothingAgainstAWayOut) {
  const Found found = ExchangesAndRings();
  ASSERT_EQ(found.slow.size(), 2U);
  std::vector<Egress> all = LocaliseAll(found, Against::kSiblings);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].is_host);
  EXPECT_EQ(all[0].sides, (std::vector<int32_t>{0, 1}));  // either host's, by the exchanges alone
  EXPECT_EQ(all[0].predicted, 2U);
  NarrowByOrder(found.job, found.channels, &all[0]);
  EXPECT_EQ(all[0].sides, (std::vector<int32_t>{1}));  // ranks 0 and 1 end last
}

TEST(Localise, OfTwoHostsOneSlowPairIsItsRanks) {
  // Every pair spans both hosts, so neither host's card explains that one of four is slow; its two ranks do.
  MadeMesh mesh({.ranks = 8, .per_host = 4});
  const std::vector<int> pairs = mesh.Groups("mesh_dp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int g = 0; g < 4; ++g) {
      mesh.Meet(pairs[static_cast<size_t>(g)], CommOp::kAllReduce, kBytes, g == 1 ? Ms(13) : Ms(10));
    }
  }
  const Found found = Search(mesh.Make(), Against::kSiblings);
  ASSERT_EQ(found.slow.size(), 1U);
  const std::vector<Egress> all = LocaliseAll(found, Against::kSiblings);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].is_host);
  EXPECT_EQ(all[0].sides, (std::vector<int32_t>{1, 5}));
  EXPECT_EQ(all[0].predicted, 1U);
}

TEST(SlowBesides, RingsThatAllPassAreAsSlow) {
  const Found found = ExchangesAndRings();
  std::vector<Egress> all = LocaliseAll(found, Against::kSiblings);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(SlowBesides(found.job, found.channels, all[0], {}).empty());  // two sides: not known which
  NarrowByOrder(found.job, found.channels, &all[0]);
  const std::vector<SlowChannel> besides = SlowBesides(found.job, found.channels, all[0], {});
  ASSERT_EQ(besides.size(), 2U);  // not the barrier
  for (const SlowChannel& slow : besides) {
    EXPECT_EQ(found.channels[slow.channel].op, CommOp::kAllReduce);
    // The exchanges take 11 for 10: of 22 ms two.
    for (const Nanos cost : slow.cost) EXPECT_NEAR(static_cast<double>(cost), 2e6, 1e4);
  }
}

// Two hosts of two ranks, a stage each, on a host backend. In a step the first stage sends four times `there`, and gets
// four times `back`; a barrier tells the clocks.
Found StagesOfHosts(Nanos there, Nanos back) {
  MadeMesh mesh({.ranks = 4, .per_host = 2, .device = false});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  const std::vector<int> pairs = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    mesh.Meet(world, CommOp::kBarrier, 0, Us(100));
    for (int k = 0; k < 8; ++k) {
      mesh.ComputeAll(Ms(10));
      for (size_t g = 0; g < pairs.size(); ++g) {
        const int first = static_cast<int>(g);
        mesh.Send(pairs[g], k < 4 ? first : first + 2, kBytes, k < 4 ? there : back);
      }
    }
  }
  return Search(mesh.Make(), Against::kSiblings);
}

TEST(SlowChannels, MessagesOfAHostBackendTheOtherWayRound) {
  const Found found = StagesOfHosts(Ms(1), Ms(18));
  ASSERT_EQ(found.slow.size(), 2U);
  for (const SlowChannel& slow : found.slow) {
    EXPECT_GE(found.channels[slow.channel].sender, 2);
    EXPECT_NEAR(slow.ratio, 18, 0.1);
    for (const Nanos cost : slow.cost) EXPECT_NEAR(static_cast<double>(cost), 4 * 17e6, 4e5);
  }
  const std::vector<Egress> all = LocaliseAll(found, Against::kSiblings);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].is_host);
  EXPECT_EQ(all[0].sides, (std::vector<int32_t>{1}));
}

TEST(SlowChannels, MessagesThatDifferByWhatAHostWritesLate) {
  EXPECT_TRUE(StagesOfHosts(Us(100), Ms(1)).slow.empty());  // ten times; but a row may begin 1 ms late
}

}  // namespace
}  // namespace headway::diagnose
