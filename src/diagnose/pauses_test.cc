// SPDX-License-Identifier: Apache-2.0
// Steps lost in one piece beside steps that are slow throughout.
#include "diagnose/pauses.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <iterator>
#include <utility>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

constexpr int kSteps = 12;

// Four ranks in one group, twelve steps of 100 ms of kernels; in each step rank 2 takes longer: by `spread` in many
// pieces and by `piece` in one.
struct Longer {
  Nanos spread = 0, piece = 0;
};
std::vector<pattern::RankPattern> Make(const std::function<Longer(int step)>& longer) {
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < kSteps; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Compute(2, longer(s).spread);
    mesh.Hole(2, longer(s).piece);
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

// What is left of rank 2, and what is taken from it.
struct Taken {
  std::vector<Suspect> left, pauses;
};
Taken TakeFrom(const std::function<Longer(int step)>& longer) {
  Look look(Make(longer));
  Taken out;
  out.left = FindSuspects(look.In());
  for (std::vector<Suspect>& of_function : TakePauses(look.In(), &out.left)) {
    std::move(of_function.begin(), of_function.end(), std::back_inserter(out.pauses));
  }
  return out;
}

TEST(Pauses, OneStepLostInOnePieceIsTakenFromASlowRank) {
  // 10 ms of kernels more in eleven steps, in step 5 a hole of 40: all of that step's excess is one piece. A rank that
  // is slow in nearly all steps is taken to be so there, too: 10 of the 40.
  const auto [left, pauses] = TakeFrom([](int s) { return s == 5 ? Longer{0, Ms(40)} : Longer{Ms(10), 0}; });
  ASSERT_EQ(pauses.size(), 1U);
  EXPECT_EQ(pauses[0].rank, 2U);
  EXPECT_EQ(pauses[0].StruckSteps(), (std::vector<size_t>{5}));
  EXPECT_EQ(pauses[0].struck, 1U);
  EXPECT_EQ(pauses[0].total, Ms(30));
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].struck, 12U);
  EXPECT_EQ(left[0].total, Ms(120));
  EXPECT_EQ(left[0].cost[5], Ms(10));
  EXPECT_EQ(left[0].shared, (std::vector<size_t>{5}));
  EXPECT_EQ(left[0].TellingSteps().size(), 11U);
  EXPECT_EQ(left[0].table, pauses[0].table);
  EXPECT_TRUE(left[0].is_part && pauses[0].is_part);
}

TEST(Pauses, AStepIsTakenWhereMostOfItIsOnePiece) {
  // 40 of 50 ms are more than 60 %, 40 of 70 are 57. Of the 50 the rank's usual 10 stay.
  const auto taken = [](Nanos spread) {
    return TakeFrom([spread](int s) { return s == 5 ? Longer{spread, Ms(40)} : Longer{Ms(10), 0}; }).pauses;
  };
  ASSERT_EQ(taken(Ms(10)).size(), 1U);
  EXPECT_EQ(taken(Ms(10))[0].total, Ms(40));
  EXPECT_TRUE(taken(Ms(30)).empty());
}

TEST(Pauses, ARankThatOnlyStandsStillHasOneCause) {
  const auto [left, pauses] = TakeFrom([](int s) { return s % 4 == 1 ? Longer{0, Ms(40)} : Longer{}; });
  EXPECT_TRUE(pauses.empty());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].struck, 3U);
  EXPECT_FALSE(left[0].is_part);
}

TEST(Pauses, AQuarterOfTheStruckStepsIsTheMost) {
  // Three of twelve are a quarter, four are more.
  const auto taken = [](int pauses) {
    return TakeFrom([pauses](int s) { return s < pauses ? Longer{0, Ms(40)} : Longer{Ms(10), 0}; }).pauses;
  };
  ASSERT_EQ(taken(3).size(), 1U);
  EXPECT_EQ(taken(3)[0].struck, 3U);
  EXPECT_TRUE(taken(4).empty());
}

TEST(Pauses, ALongerPieceOfTheUsualKindIsNoOther) {
  // It stands still for 10 ms in every step, and for 40 in one.
  const auto [left, pauses] = TakeFrom([](int s) { return Longer{0, s == 5 ? Ms(40) : Ms(10)}; });
  EXPECT_TRUE(pauses.empty());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].total, Ms(150));
}

TEST(Pauses, WhereTheOthersAreFewNothingStays) {
  // 10 ms more in four steps of twelve and a hole of 40 in a fifth: that it is slow there, too, is not known.
  const auto [left, pauses] = TakeFrom([](int s) {
    return s == 5 ? Longer{0, Ms(40)} : s < 4 ? Longer{Ms(10), 0} : Longer{};
  });
  ASSERT_EQ(pauses.size(), 1U);
  EXPECT_EQ(pauses[0].total, Ms(40));
  EXPECT_EQ(left[0].cost[5], 0);
  EXPECT_EQ(left[0].struck, 4U);
}

// What the longest stretches of rank 0 (30 ms in a hole) are beyond those of its peers, 20 ms each in a hole or in
// another function.
Nanos Beyond(bool device, bool same_function, WorkClass other = WorkClass::kCompute) {
  MadeMesh mesh({.ranks = 3, .device = device});
  const int world = mesh.Group("mesh_dp", {0, 1, 2});
  for (int s = 0; s < 2; ++s) {
    mesh.Step();
    for (int r = 0; r < 3; ++r) mesh.Work(r, other, "f", Ms(100));
    for (int r = 0; r < 3; ++r) {
      mesh.Hole(r, r == 0 ? Ms(30) : Ms(20));
      // Functions in the order they are first called: 0 nothing recorded, 1 the other one.
      mesh.StepOf(r).longest_stretch_function = r == 0 || same_function ? 0 : 1;
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  const Job job = JoinJob(mesh.Make());
  constexpr std::array<size_t, 2> kPeers = {1, 2}, kBoth = {0, 1};
  return StretchBeyondPeers(job, 0, kPeers, kBoth);
}

// A host's pause of `mine` on rank 0, of 20 ms on its peers, in two steps; theirs in the same function or another one.
Nanos HostBeyond(Nanos mine, bool same_function = true) {
  MadeMesh mesh({.ranks = 3});
  const int world = mesh.Group("mesh_dp", {0, 1, 2});
  for (int s = 0; s < 2; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int r = 0; r < 3; ++r) {
      mesh.StepOf(r).host_stretch = r == 0 ? mine : Ms(20);
      mesh.StepOf(r).host_stretch_function = r == 0 || same_function ? 0 : 1;
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  const Job job = JoinJob(mesh.Make());
  constexpr std::array<size_t, 2> kPeers = {1, 2}, kBoth = {0, 1};
  EXPECT_EQ(HostStretchBeyondPeers(job, 0, {}, kBoth), 0);  // nobody tells what is usual
  return HostStretchBeyondPeers(job, 0, kPeers, kBoth);
}

TEST(StretchBeyondPeers, APauseOfTheHostCountsFromHalfAsLongAgainOn) {
  EXPECT_EQ(HostBeyond(Ms(30)), Ms(20));
  EXPECT_EQ(HostBeyond(Ms(30) - 1), 0);
}

TEST(StretchBeyondPeers, APauseOfTheHostIsItsOwnWherePeersPauseInAnotherFunction) {
  EXPECT_EQ(HostBeyond(Ms(21)), 0);
  EXPECT_EQ(HostBeyond(Ms(21), false), Ms(42));
}

TEST(StretchBeyondPeers, StretchesInAnotherFunctionHaveOtherReasons) {
  // Two steps of 10 ms beyond the peers, or of 30 where theirs do not count. Without devices a process that stands
  // still does so in whatever function it is in; but a batch that all wait for is no such thing.
  EXPECT_EQ(Beyond(true, true), Ms(20));
  EXPECT_EQ(Beyond(true, false), Ms(60));
  EXPECT_EQ(Beyond(false, false), Ms(20));
  EXPECT_EQ(Beyond(false, false, WorkClass::kInput), Ms(60));
}

TEST(Pauses, OnesAsLongAsThoseOfPeersDoNotShow) {
  // Rank 2 takes 50 ms longer in steps 3, 6 and 9. Its peers' hosts pause for `usual` in the first `steps` of these.
  const auto masked = [](Nanos usual, int steps) {
    Look look(Make([](int s) { return Longer{s % 3 == 0 && s > 0 ? Ms(50) : 0}; }));
    for (size_t r = 0; r < 4; ++r) {
      for (int k = 1; k <= steps; ++k) look.job.ranks[r].steps[static_cast<size_t>(3 * k)].host_stretch = usual;
    }
    std::vector<Nanos> cost(kSteps, 0);
    for (const size_t s : {3, 6, 9}) cost[s] = Ms(50);
    const size_t peers[] = {0, 1, 3}, struck[] = {3, 6, 9};
    return ArePausesMasked(look.job, 2, peers, struck, cost);
  };
  EXPECT_TRUE(masked(Ms(50), 3));
  EXPECT_TRUE(masked(Ms(50), 2));
  EXPECT_FALSE(masked(Ms(50), 1));  // of three
  EXPECT_FALSE(masked(Ms(49), 3));
}

}  // namespace
}  // namespace headway::diagnose
