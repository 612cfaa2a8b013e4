// SPDX-License-Identifier: Apache-2.0
// Ends that go down evenly all along a ring.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "diagnose/made_mesh.h"
#include "diagnose/ring_order.h"

namespace headway::diagnose {
namespace {

// A ring in which each of `steps` steps ends with an all-reduce that member i leaves 10 ms and ends(step)[i] after the
// last one came; all clocks are right, and known to be up to `residual`.
struct Plan {
  int per_host = 1 << 20;
  int steps = 6;
  Nanos residual = 0;
  std::function<std::vector<Nanos>(int step)> ends;
};

std::optional<RingStairs> Stairs(const Plan& plan) {
  const auto n = static_cast<int>(plan.ends(0).size());
  MadeMesh mesh({.ranks = n, .per_host = plan.per_host});
  MadeMesh::Members all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  const int ring = mesh.Group("mesh_dp", all);
  for (int s = 0; s < plan.steps; ++s) {
    std::vector<Nanos> transfer = plan.ends(s);
    for (Nanos& t : transfer) t += Ms(10);
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Meet(ring, trace::CommOp::kAllReduce, 1'000'000, transfer);
  }
  Job job = JoinJob(mesh.Make());
  for (trace::HostClock& clock : job.comms.clocks) clock = {.host = clock.host, .residual = plan.residual};
  std::vector<size_t> collectives(job.comms.collectives.size());
  std::iota(collectives.begin(), collectives.end(), size_t{0});
  return StairsOfEnds(job, collectives);
}

using Ends = std::vector<std::pair<RankId, RankId>>;
Ends LinksOf(const std::optional<RingStairs>& stairs) {
  Ends out;
  if (!stairs) return out;
  for (const report::Link& link : stairs->links) out.emplace_back(link.from, link.to);
  return out;
}

// Ring of four behind a slow link 1 -> 2, as in ring_order_test.cc: its receiver ends last, each further member one hop
// before the one ahead of it, the sender first.
Plan OfFour(Nanos third, Nanos fourth, Nanos first, Nanos second) {
  Plan plan;
  plan.ends = [=](int) { return std::vector<Nanos>{first, second, third, fourth}; };
  return plan;
}

TEST(RingStairs, TheFirstToEndSendsToTheLastOne) {
  const auto stairs = Stairs(OfFour(Us(60), Us(40), Us(20), 0));
  ASSERT_TRUE(stairs.has_value());
  EXPECT_EQ(stairs->hop, Us(20));
  EXPECT_EQ(LinksOf(stairs), (Ends{{1, 2}}));
}

TEST(RingStairs, StepsFromSixTenthsToSixteenTenthsOfTheMiddleAreEven) {
  EXPECT_TRUE(Stairs(OfFour(Us(52), Us(32), Us(20), 0)).has_value());   // 20, 12, 20
  EXPECT_FALSE(Stairs(OfFour(Us(51), Us(31), Us(20), 0)).has_value());  // 20, 11, 20
  EXPECT_TRUE(Stairs(OfFour(Us(72), Us(40), Us(20), 0)).has_value());   // 32, 20, 20
  EXPECT_FALSE(Stairs(OfFour(Us(73), Us(40), Us(20), 0)).has_value());  // 33, 20, 20
}

TEST(RingStairs, WhatHealthyMembersAreApartByIsNoHop) {
  EXPECT_TRUE(Stairs(OfFour(Us(24), Us(16), Us(8), 0)).has_value());
  EXPECT_FALSE(Stairs(OfFour(Us(21), Us(14), Us(7), 0)).has_value());
}

TEST(RingStairs, AHopIsTwiceWhatStepsScatterBy) {
  // Hops of 20 us; ranks 3 and 1 end now earlier and now later, so that each hop varies by as much.
  const auto varying = [](Nanos by) {
    Plan plan;
    plan.ends = [by](int s) {
      const Nanos off = s % 2 == 0 ? by : -by;
      return std::vector<Nanos>{Us(40), Us(20) + off, Us(80), Us(60) + off};
    };
    return Stairs(plan);
  };
  EXPECT_EQ(LinksOf(varying(Us(10))), (Ends{{1, 2}}));
  EXPECT_FALSE(varying(Us(11)).has_value());
}

TEST(RingStairs, FiveOperationsAreTooFew) {
  Plan plan = OfFour(Us(60), Us(40), Us(20), 0);
  plan.steps = 5;
  EXPECT_FALSE(Stairs(plan).has_value());
}

// Eight ranks behind a slow link 3 -> 4, hops of 20 us: rank 4 ends last, then 5, 6, 7, 0, 1, 2, and 3 first.
Plan OfEight(int per_host, Nanos residual) {
  Plan plan;
  plan.per_host = per_host;
  plan.residual = residual;
  plan.ends = [](int) { return std::vector<Nanos>{Us(60), Us(40), Us(20), 0, Us(140), Us(120), Us(100), Us(80)}; };
  return plan;
}

TEST(RingStairs, OnTwoHostsWhoseClocksAreApartItMayBeEitherLink) {
  // In each host the order is known: 4, 5, 6, 7 and 0, 1, 2, 3. From the last of the one to the first of the other.
  EXPECT_EQ(LinksOf(Stairs(OfEight(4, Us(5)))), (Ends{{3, 4}, {7, 0}}));
  EXPECT_EQ(Stairs(OfEight(4, Us(5)))->hop, Us(20));
  EXPECT_EQ(LinksOf(Stairs(OfEight(4, Us(5) - 1))),
            (Ends{{3, 4}}));  // a hop is more than four times what they may be apart
}

TEST(RingStairs, OnFourHostsWhoseClocksAreApartItMayBeAnyLink) {
  EXPECT_EQ(LinksOf(Stairs(OfEight(2, Us(5) - 1))), (Ends{{3, 4}}));
  // The two members of a host take 40 us: clocks that are apart by twice 20 move none past another.
  EXPECT_EQ(LinksOf(Stairs(OfEight(2, Us(20)))), (Ends{{3, 4}}));
  EXPECT_FALSE(Stairs(OfEight(2, Us(21))).has_value());
}

TEST(RingStairs, WhereAllEndTogetherThereAreNone) { EXPECT_FALSE(Stairs(OfFour(0, 0, 0, 0)).has_value()); }

}  // namespace
}  // namespace headway::diagnose
