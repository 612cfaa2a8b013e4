// SPDX-License-Identifier: Apache-2.0
// Slow links that only the order of ends shows, in several groups side by side.
#include "diagnose/ring_links.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

constexpr Bytes kBytes = 10'000'000;

// Two hosts of two ranks. A step is 20 ms of work, a barrier that tells the hosts' clocks, and an all-reduce of either
// pair across, which its member on the first host leaves `first` after the last one came, the other one `second`.
std::vector<pattern::RankPattern> PairsAcross(bool device, Nanos first, Nanos second) {
  MadeMesh mesh({.ranks = 4, .per_host = 2, .device = device});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  const std::vector<int> pairs = mesh.Groups("mesh_dp", {{0, 2}, {1, 3}});
  for (int s = 0; s < 16; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(20));
    mesh.Meet(world, CommOp::kBarrier, 0, Us(20));
    for (const int pair : pairs) mesh.Meet(pair, CommOp::kAllReduce, kBytes, {first, second});
  }
  return mesh.Make();
}

std::vector<Candidate> Find(const std::vector<pattern::RankPattern>& ranks) {
  const Job job = JoinJob(ranks);
  const std::vector<Channel> all = CollectChannels(job);
  Channels channels;
  for (const Channel& channel : all) channels.push_back(&channel);
  return FindRingLinks(job, channels, all).candidates;
}

using Links = std::vector<std::pair<RankId, RankId>>;

Links LinksOf(const report::Finding& finding) {
  Links out;
  for (const report::Link& link : finding.scope.links) out.emplace_back(link.from, link.to);
  return out;
}

TEST(RingLinks, PairsFromOneHostToAnotherAreOneWay) {
  // The members on the first host end 2 ms after the others, in all of 16 calls of either pair: who ends last has
  // waited for the other one. Of 10 ms that is 20 %.
  for (const bool device : {true, false}) {
    const std::vector<Candidate> found = Find(PairsAcross(device, Ms(12), Ms(10)));
    ASSERT_EQ(found.size(), 1U) << device;
    const report::Finding& f = found[0].finding;
    EXPECT_EQ(f.cause, "slow-link");
    EXPECT_EQ(LinksOf(f), (Links{{2, 0}, {3, 1}}));
    EXPECT_EQ(f.scope.ranks, (std::vector<RankId>{0, 1, 2, 3}));
    EXPECT_EQ(f.headline, "from ranks 2, 3 to ranks 0, 1 (either end)");
    // On devices at least what the order tells: twice the 2 ms, as an all-reduce passes the link twice. A host backend
    // is held against a link four times faster. The pairs run side by side: once a step.
    const Nanos excess = found[0].excess[3];
    EXPECT_EQ(excess, device ? Ms(4) : Ms(10) * 3 / 4);
  }
}

TEST(RingLinks, WhatIsQuickerInOtherStepsCostsWhatThoseTellApart) {
  // The members on the first host end 2 ms after the others and 12 after the last one came, in every other step; else
  // all do after 5. Those that came last spend 10 against 5 ms, whatever a link may be or ends tell.
  for (const bool device : {true, false}) {
    MadeMesh mesh({.ranks = 4, .per_host = 2, .device = device});
    const int world = mesh.Group("default_pg", {0, 1, 2, 3});
    const std::vector<int> pairs = mesh.Groups("mesh_dp", {{0, 2}, {1, 3}});
    for (int s = 0; s < 32; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(20));
      mesh.Meet(world, CommOp::kBarrier, 0, Us(20));
      for (const int pair : pairs) {
        mesh.Meet(pair, CommOp::kAllReduce, kBytes,
                  s % 2 == 1 ? std::vector{Ms(12), Ms(10)} : std::vector{Ms(5), Ms(5)});
      }
    }
    const Job job = JoinJob(mesh.Make());
    const std::vector<Channel> all = CollectChannels(job);
    Channels channels;
    for (const Channel& channel : all) channels.push_back(&channel);
    const std::vector<SlowChannel> slow = FindSlowChannels(job, all, Against::kOtherSteps);
    ASSERT_EQ(slow.size(), 2U);
    const std::vector<Candidate> found = FindRingLinks(job, channels, all, slow).candidates;
    ASSERT_EQ(found.size(), 1U) << device;
    EXPECT_EQ(LinksOf(found[0].finding), (Links{{2, 0}, {3, 1}}));
    for (size_t s = 0; s < 32; ++s) EXPECT_EQ(found[0].excess[s], s % 2 == 1 ? Ms(5) : 0) << s;
  }
}

TEST(RingLinks, PairsOfOneHostShareItsProcessors) {
  MadeMesh mesh({.ranks = 4, .device = false});
  const std::vector<int> pairs = mesh.Groups("mesh_dp", {{0, 2}, {1, 3}});
  for (int s = 0; s < 16; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(20));
    for (const int pair : pairs) mesh.Meet(pair, CommOp::kAllReduce, kBytes, {Ms(12), Ms(10)});
  }
  EXPECT_TRUE(Find(mesh.Make()).empty());
}

// 40 calls of a pair across two hosts, of which `often` end apart by `lag`, the others the other way round.
std::vector<Candidate> OnePair(int often, Nanos transfer, Nanos lag) {
  MadeMesh mesh({.ranks = 4, .per_host = 2});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  const int pair = mesh.Group("mesh_dp", {0, 2});
  for (int s = 0; s < 40; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(1));
    mesh.Meet(world, CommOp::kBarrier, 0, Us(20));
    const bool first = s % 10 < often / 4;
    mesh.Meet(pair, CommOp::kAllReduce, kBytes, {transfer + (first ? lag : 0), transfer + (first ? 0 : lag)});
  }
  return Find(mesh.Make());
}

TEST(RingLinks, WhoComesLastShowsALinkThatClocksDoNot) {
  // Members on the first host end 0.3 ms after those on the second, 3 % of the transfer: clocks that nothing else tells
  // may be off by as much. The one host comes last in every other step: 10.3 ms if it is the first, else 10.
  const auto pairs = [](bool device, bool in_turn) {
    MadeMesh mesh({.ranks = 4, .per_host = 2, .device = device});
    const std::vector<int> groups = mesh.Groups("mesh_dp", {{0, 2}, {1, 3}});
    for (int s = 0; s < 16; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(20));
      for (int r = 0; r < 4; ++r) mesh.Compute(r, in_turn && r / 2 == s % 2 ? Ms(2) : 0);
      for (const int group : groups) mesh.Meet(group, CommOp::kAllReduce, kBytes, {Us(10'300), Ms(10)});
    }
    return Find(mesh.Make());
  };
  const std::vector<Candidate> found = pairs(true, true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(LinksOf(found[0].finding), (Links{{2, 0}, {3, 1}}));
  EXPECT_TRUE(found[0].at_most_info && found[0].is_at_least);
  EXPECT_NE(found[0].finding.sentence.find("longer where rank 0 comes last than where rank 2 does"), std::string::npos)
      << found[0].finding.sentence;
  EXPECT_NEAR(static_cast<double>(found[0].excess[3]), 6e5, 6e4);  // an all-reduce pays for both of its halves
  EXPECT_TRUE(pairs(true, false).empty());
  EXPECT_TRUE(pairs(false, true).empty());  // processes share cores
}

TEST(RingLinks, OfTwoMembersOneIsAlwaysLast) {
  // 28 of 40 are 2.5 deviations of chance; 32 are 3.8, beyond what chance does, but below nine in ten.
  EXPECT_TRUE(OnePair(28, Us(200), Us(40)).empty());
  EXPECT_TRUE(OnePair(32, Us(200), Us(40)).empty());
  EXPECT_EQ(OnePair(36, Us(200), Us(40)).size(), 1U);
}

TEST(RingLinks, EndsOfShortOperationsAreApartByNature) {
  // 6 % of a transfer, but 6 us: healthy members may be apart by 8.
  EXPECT_TRUE(OnePair(40, Us(100), Us(6)).empty());
  EXPECT_EQ(OnePair(40, Us(100), Us(10)).size(), 1U);
}

TEST(RingLinks, PairsThatEndTogether) {
  EXPECT_TRUE(Find(PairsAcross(true, Ms(10), Ms(10))).empty());
  EXPECT_TRUE(Find(PairsAcross(false, Ms(10) + Us(100), Ms(10))).empty());  // 1 %
}

// Four rings of four whose files name no host; of each step 20 ms are work, and a barrier tells the clocks. The members
// of the first two rings end as behind a slow link between their second and third (ring_order_test.cc), `slow` after
// the last one came; the others take `usual`.
std::vector<pattern::RankPattern> FourRings(Nanos slow, Nanos usual) {
  MadeMesh mesh({.ranks = 16});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  const std::vector<int> rings = mesh.Groups("mesh_dp", {{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}});
  for (int s = 0; s < 16; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(20));
    mesh.Meet(world, CommOp::kBarrier, 0, Us(20));
    for (size_t g = 0; g < rings.size(); ++g) {
      if (g < 2) {
        mesh.Meet(rings[g], CommOp::kAllGather, kBytes, {slow + Ms(1), slow, slow + Ms(3), slow + Ms(2)});
      } else {
        mesh.Meet(rings[g], CommOp::kAllGather, kBytes, usual);
      }
    }
  }
  std::vector<pattern::RankPattern> ranks = mesh.Make();
  for (pattern::RankPattern& rank : ranks) {
    rank.comms.host_known = false;
    rank.comms.host = rank.meta.host = "";
  }
  return ranks;
}

TEST(RingLinks, RingsBetweenTheSamePlacesAreOneWay) {
  const std::vector<Candidate> found = Find(FourRings(Ms(15), Ms(8)));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(LinksOf(found[0].finding), (Links{{2, 4}, {3, 5}}));
  EXPECT_EQ(found[0].finding.headline, "from ranks 2, 3 to ranks 4, 5 (either end)");
  // Groups of the kind that make as many calls take 8 instead of 15 ms.
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(16, Ms(7)));
}

TEST(RingLinks, WhereNoneOfTheKindIsQuickerTheOrderTellsTheLeast) {
  EXPECT_EQ(Find(FourRings(Ms(15), Ms(16)))[0].excess, std::vector<Nanos>(16, Ms(3)));
}

TEST(RingLinks, NoLinkHoldsAnAllReduceBackOnItsSecondRoundAlone) {
  // Ends 6 ms apart of which the first comes after 2. An all-gather goes round once.
  const auto ring = [](CommOp op) {
    MadeMesh mesh({.ranks = 4, .device = false});
    const int group = mesh.Group("mesh_dp", {0, 1, 2, 3});
    for (int s = 0; s < 16; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(20));
      mesh.Meet(group, op, kBytes, {Ms(2), Ms(4), Ms(6), Ms(8)});
    }
    return Find(mesh.Make());
  };
  EXPECT_TRUE(ring(CommOp::kAllReduce).empty());
  EXPECT_EQ(ring(CommOp::kAllGather).size(), 1U);
}

TEST(RingLinks, OfAHostBackendNearlyAllHaveToSaySoWhereTransfersAreShort) {
  // gloo's all-reduce sends to the rank before: the one behind rank 3 is rank 0. The transfers are 4 of 104 ms. In
  // every fourth step rank 2 ends last, which leaves three in four: by far not by chance, but processes share cores.
  const auto ring = [](bool always) {
    MadeMesh mesh({.ranks = 4, .device = false});
    const int group = mesh.Group("mesh_dp", {0, 1, 2, 3});
    for (int s = 0; s < 16; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(100));
      const bool other = !always && s % 4 == 0;
      mesh.Meet(group, CommOp::kAllReduce, kBytes, {Ms(4), Ms(5), other ? Ms(8) : Ms(6), Ms(7)});
    }
    return Find(mesh.Make());
  };
  ASSERT_EQ(ring(true).size(), 1U);
  EXPECT_EQ(LinksOf(ring(true)[0].finding), (Links{{0, 3}}));
  EXPECT_TRUE(ring(false).empty());
}

TEST(RingLinks, OfAHostBackendOneHasToEndLastMostOfTheTime) {
  // Of 200 rings that hold a fifth of the step rank 3 ends last in two or in three of five, the others in turn in the
  // rest. Both are no chance of one in four, at 5 and at 11 standard deviations (0.15 and 0.35 / sqrt(0.25 x 0.75 /
  // 200)); but the receiver behind a slow link waits for it each time.
  const auto ring = [](int of_five) {
    MadeMesh mesh({.ranks = 4, .device = false});
    const int group = mesh.Group("mesh_dp", {0, 1, 2, 3});
    for (int s = 0; s < 200; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(16));
      std::vector<Nanos> ends(4, Ms(3));
      ends[s % 5 < of_five ? 3 : static_cast<size_t>(s % 3)] = Ms(4);
      mesh.Meet(group, CommOp::kAllReduce, kBytes, ends);
    }
    return Find(mesh.Make());
  };
  EXPECT_TRUE(ring(2).empty());
  EXPECT_EQ(ring(3).size(), 1U);
}

TEST(RingLinks, WhatALikeGroupTakesAsLongForIsNoLink) {
  // As above, rank 3 last in three of five; beside it four ranks that end in turn, after as long or after half of it.
  const auto rings = [](Nanos other) {
    MadeMesh mesh({.ranks = 8, .device = false});
    const std::vector<int> groups = mesh.Groups("mesh_dp", {{0, 1, 2, 3}, {4, 5, 6, 7}});
    for (int s = 0; s < 200; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(16));
      std::vector<Nanos> ends(4, Ms(3)), others(4, other);
      ends[s % 5 < 3 ? 3 : static_cast<size_t>(s % 3)] = Ms(4);
      others[static_cast<size_t>(s % 4)] += Us(500);
      mesh.Meet(groups[0], CommOp::kAllReduce, kBytes, ends);
      mesh.Meet(groups[1], CommOp::kAllReduce, kBytes, others);
    }
    return Find(mesh.Make()).size();
  };
  EXPECT_EQ(rings(Us(3500)), 0U);
  EXPECT_EQ(rings(Ms(1)), 1U);
}

}  // namespace
}  // namespace headway::diagnose
