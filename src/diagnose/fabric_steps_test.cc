// SPDX-License-Identifier: Apache-2.0
// Steps in which all transfers take longer alike.
#include "diagnose/fabric_steps.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <utility>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

// Four pairs, twelve steps: 50 ms of kernels, what is `computed` on top and what a rank stands still for (`still`), and
// an all-reduce of each pair. Pair g is the job's group g.
struct Pairs {
  std::function<Nanos(int pair, int step)> transfer;
  std::function<Nanos(int rank, int step)> computed, still;
  bool device = true;
  int per_host = 8;
  int steps = 12;
};

struct Found {
  Job job;
  std::vector<Channel> channels;
  std::vector<SlowChannel> fabric;
};

Found Search(const Pairs& pairs, const std::set<int32_t>& explained = {}) {
  MadeMesh mesh({.ranks = 8, .per_host = pairs.per_host, .device = pairs.device});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  for (int s = 0; s < pairs.steps; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      mesh.Compute(r, Ms(50) + (pairs.computed ? pairs.computed(r, s) : 0));
      mesh.Hole(r, pairs.still ? pairs.still(r, s) : 0);
    }
    for (int g = 0; g < 4; ++g)
      mesh.Meet(tp[static_cast<size_t>(g)], CommOp::kAllReduce, 1'000'000, pairs.transfer(g, s));
  }
  Found out;
  out.job = JoinJob(mesh.Make());
  out.channels = CollectChannels(out.job);
  out.fabric = FindFabricSteps(out.job, ComputeExcess(out.job), out.channels, explained);
  return out;
}

size_t CountOf(const Pairs& pairs) { return Search(pairs).fabric.size(); }

// Four of the twelve.
bool IsStruck(int step) { return step >= 4 && step < 8; }

// 10 ms, in the struck steps `more` longer.
std::function<Nanos(int, int)> AllBy(Nanos more, const std::function<bool(int)>& is_struck = IsStruck) {
  return [more, is_struck](int, int s) { return Ms(10) + (is_struck(s) ? more : 0); };
}

// In turn the pairs take 9.4, 9.8, 10.2 and 10.6 ms, 40 in all; in the struck steps 10 % more.
Nanos InTurn(int pair, int step) {
  constexpr int kTurn[] = {94, 98, 102, 106};
  return kTurn[(pair + step) % 4] * Us(IsStruck(step) ? 110 : 100);
}

TEST(FabricSteps, AllRiseByATenthThoughEachOneScatters) {
  // What each of them usually takes is 10.2 ms: of eleven other steps the fifth from the shortest (9.4, 9.4, 9.8, 9.8,
  // 10.2, 10.2, 10.34, ...), and the upper middle of its eight quiet steps, too. In the struck steps, one of each, it
  // takes 10.34, 10.78, 11.22 and 11.66: beyond 10.2 that is 0.14, 0.58, 1.02 and 1.46, 3.2 of 44 in all.
  const Found found = Search({.transfer = InTurn});
  EXPECT_TRUE(FindSlowChannels(found.job, found.channels, Against::kOtherSteps).empty());
  EXPECT_TRUE(FindSlowChannels(found.job, found.channels, Against::kSiblings).empty());
  ASSERT_EQ(found.fabric.size(), 4U);
  for (const SlowChannel& slow : found.fabric) {
    const int pair = found.channels[slow.channel].ranks.front() / 2;
    for (int s = 0; s < 12; ++s) {
      const Nanos cost = IsStruck(s) ? InTurn(pair, s) - Us(10'200) : 0;
      EXPECT_EQ(slow.cost[static_cast<size_t>(s)], cost) << pair << " " << s;
    }
    EXPECT_DOUBLE_EQ(slow.ratio, 44 / 40.8);
  }
}

TEST(FabricSteps, WhatIsExplainedTellsNothing) {
  // Pair 1 does not rise: of 40 ms 30 do, too few. Without it all that are left do.
  const Pairs pairs{.transfer = [](int g, int s) { return Ms(10) + (g != 1 && IsStruck(s) ? Ms(1) : 0); }};
  EXPECT_TRUE(Search(pairs).fabric.empty());
  const Found found = Search(pairs, {1});
  ASSERT_EQ(found.fabric.size(), 3U);
  for (const SlowChannel& slow : found.fabric) EXPECT_NE(found.channels[slow.channel].group, 1);
  EXPECT_TRUE(Search({.transfer = AllBy(Ms(1))}, {0, 1, 2, 3}).fabric.empty());
}

TEST(FabricSteps, WhatIsExplainedWaitsForTheNetworkToo) {
  // Pair 1 is twice as slow in all steps. What it rises by in the struck ones is the network's, up to twice what the
  // others rise by: a tenth.
  const auto of_pair = [](Nanos more) {
    const Found found = Search({.transfer =
                                    [more](int g, int s) {
                                      return Ms(g == 1 ? 20 : 10) + (!IsStruck(s) ? 0 : g == 1 ? more : Ms(1));
                                    }},
                               {1});
    for (const SlowChannel& slow : found.fabric) {
      if (found.channels[slow.channel].group == 1) return slow.cost[4];
    }
    return Nanos{0};
  };
  EXPECT_EQ(of_pair(Ms(2)), Ms(2));
  EXPECT_EQ(of_pair(Us(3900)), Us(3900));
  EXPECT_EQ(of_pair(Us(4100)), 0);  // something else besides
  EXPECT_EQ(of_pair(Us(700)), 0);
}

TEST(FabricSteps, SeveralStepsHaveToBeThreePercentLonger) {
  EXPECT_EQ(CountOf({.transfer = AllBy(Us(200))}), 0U);
  EXPECT_EQ(CountOf({.transfer = AllBy(Us(250))}), 0U);
  EXPECT_EQ(CountOf({.transfer = AllBy(Us(350))}), 4U);
}

TEST(FabricSteps, ASingleStepHasToBeEightPercentLonger) {
  const auto one = [](int s) { return s == 5; };
  const auto two = [](int s) { return s == 5 || s == 6; };
  EXPECT_EQ(CountOf({.transfer = AllBy(Us(700), one)}), 0U);
  EXPECT_EQ(CountOf({.transfer = AllBy(Us(900), one)}), 4U);
  EXPECT_EQ(CountOf({.transfer = AllBy(Us(700), two)}), 4U);
}

TEST(FabricSteps, HaveToStandOutOfWhatTheOtherStepsDifferBy) {
  // Sixteen steps, every fourth struck. The twelve others take 9.75, 9.80, …, 10.30 ms: half of them are within 0.15 ms
  // of their middle, which is a deviation of 1.4826 * 0.15 = 0.22 ms. Four times that is 0.89: 10.9 is 0.6 beyond the
  // longest of them, 11.5 is 1.2.
  const auto found = [](Nanos struck) {
    return CountOf({.transfer = [struck](int, int s) { return s % 4 == 3 ? struck : Us(9750) + (s - s / 4) * Us(50); },
                    .steps = 16});
  };
  EXPECT_EQ(found(Us(10'900)), 0U);
  EXPECT_EQ(found(Us(11'500)), 4U);
}

TEST(FabricSteps, HalfOfTheTransfersIsNotTheFabric) {
  // All together rise by 10 % each time. Those count that rise by 4 % or more.
  const auto halves = [](Nanos first, Nanos second) {
    return CountOf({.transfer = [=](int g, int s) { return Ms(10) + (IsStruck(s) ? (g < 2 ? first : second) : 0); }});
  };
  EXPECT_EQ(halves(Ms(2), 0), 0U);
  EXPECT_EQ(halves(Us(1700), Us(300)), 0U);
  EXPECT_EQ(halves(Us(1500), Us(500)), 4U);
}

TEST(FabricSteps, NineTenthsOfTheTransferTimeIsEnough) {
  // The last pair does not rise: of 31 ms it is 3 %, of 34 it is 12 %.
  const auto found = [](Nanos last) {
    return CountOf({.transfer = [last](int g, int s) { return g == 3 ? last : IsStruck(s) ? Ms(11) : Ms(10); }});
  };
  EXPECT_EQ(found(Ms(1)), 3U);
  EXPECT_EQ(found(Ms(4)), 0U);
}

TEST(FabricSteps, RanksThatComputeLongerInTheSameStepsAreSlowMachines) {
  // Transfers rise by 10 %: four tenths of that are 4 % of 50 ms. The middle rank counts.
  const auto found = [](Nanos more, int ranks) {
    return CountOf(
        {.transfer = AllBy(Ms(1)), .computed = [=](int r, int s) { return r < ranks && IsStruck(s) ? more : 0; }});
  };
  EXPECT_EQ(found(Ms(5), 8), 0U);
  EXPECT_EQ(found(Us(2500), 8), 0U);
  EXPECT_EQ(found(Us(1500), 8), 4U);
  EXPECT_EQ(found(Ms(5), 2), 4U);
}

TEST(FabricSteps, ComputingLongerInOtherStepsSaysNothing) {
  const Pairs pairs{.transfer = AllBy(Ms(1)), .computed = [](int, int s) { return IsStruck(s) ? Nanos{0} : Ms(5); }};
  EXPECT_EQ(CountOf(pairs), 4U);
}

TEST(FabricSteps, OfTheSecondHalf) {
  const Found found = Search({.transfer = AllBy(Ms(2), [](int s) { return s >= 6; })});
  ASSERT_EQ(found.fabric.size(), 4U);
  for (const SlowChannel& slow : found.fabric) {
    for (size_t s = 0; s < 12; ++s) EXPECT_EQ(slow.cost[s], s < 6 ? 0 : Ms(2)) << s;
    EXPECT_DOUBLE_EQ(slow.ratio, 1.2);
  }
}

TEST(FabricSteps, AQuarterOfTheStepsHasToBeQuiet) {
  // What is usual is 10.5 ms then: the quiet steps are quicker, and tell that 0.5 are lost.
  const auto from = [](int first) { return Search({.transfer = AllBy(Us(500), [=](int s) { return s >= first; })}); };
  EXPECT_TRUE(from(2).fabric.empty());
  const Found found = from(3);
  ASSERT_EQ(found.fabric.size(), 4U);
  for (const SlowChannel& slow : found.fabric) {
    for (size_t s = 0; s < 12; ++s) {
      EXPECT_NEAR(static_cast<double>(slow.cost[s]), s < 3 ? 0 : 5e5, 2) << s;
    }
  }
}

TEST(FabricSteps, Healthy) {
  for (const bool device : {true, false}) EXPECT_EQ(CountOf({.transfer = AllBy(0), .device = device}), 0U);
}

// Without devices.
Pairs OnHosts(std::function<Nanos(int, int)> transfer, int per_host = 8) {
  Pairs out;
  out.transfer = std::move(transfer);
  out.device = false;
  out.per_host = per_host;
  return out;
}

TEST(FabricSteps, OnHostsMoreIsAsked) {
  // Several steps a quarter. A single one six tenths, on two machines.
  const auto one = [](int s) { return s == 5; };
  EXPECT_EQ(CountOf(OnHosts(AllBy(Ms(2)))), 0U);
  EXPECT_EQ(CountOf(OnHosts(AllBy(Ms(3)))), 4U);
  EXPECT_EQ(CountOf(OnHosts(AllBy(Ms(5), one), 4)), 0U);
  EXPECT_EQ(CountOf(OnHosts(AllBy(Ms(7), one), 4)), 4U);
}

TEST(FabricSteps, ASingleStepOfOneMachineIsWhateverElseRanThere) {
  const auto one = [](int s) { return s == 5; };
  const auto two = [](int s) { return s == 5 || s == 6; };
  EXPECT_EQ(CountOf(OnHosts(AllBy(Ms(10), one), 8)), 0U);
  EXPECT_EQ(CountOf(OnHosts(AllBy(Ms(10), one), 4)), 4U);
  EXPECT_EQ(CountOf(OnHosts(AllBy(Ms(10), two), 8)), 4U);
}

// Transfers take 10 ms longer in steps 1, 5 and 9; rank 2 stands still for `still` in `of_struck` of them and, of the
// nine others, in the first `of_quiet`.
size_t WithARankThatStandsStill(Nanos still, int of_struck, int of_quiet, bool device = false) {
  Pairs pairs = OnHosts(AllBy(Ms(10), [](int s) { return s % 4 == 1; }));
  pairs.device = device;
  pairs.still = [=](int r, int s) {
    const int struck_before = (s + 2) / 4;
    const bool stands = s % 4 == 1 ? struck_before < of_struck : s - struck_before < of_quiet;
    return r == 2 && stands ? still : 0;
  };
  return CountOf(pairs);
}

TEST(FabricSteps, OnHostsARankThatStandsStillAsLongIsWhatTheOthersWaitFor) {
  EXPECT_EQ(WithARankThatStandsStill(Ms(10), 3, 0), 0U);
  EXPECT_EQ(WithARankThatStandsStill(Ms(9), 3, 0), 4U);  // not as long
  EXPECT_EQ(WithARankThatStandsStill(Ms(10), 2, 0), 0U);
  EXPECT_EQ(WithARankThatStandsStill(Ms(10), 1, 0), 4U);        // in less than half of them
  EXPECT_EQ(WithARankThatStandsStill(Ms(10), 3, 0, true), 4U);  // devices transfer by themselves
}

TEST(FabricSteps, OnHostsARankThatStandsStillInOtherStepsTooSaysNothing) {
  // A quarter of the nine others is 2.25.
  EXPECT_EQ(WithARankThatStandsStill(Ms(10), 3, 2), 0U);
  EXPECT_EQ(WithARankThatStandsStill(Ms(10), 3, 3), 4U);
}

}  // namespace
}  // namespace headway::diagnose
