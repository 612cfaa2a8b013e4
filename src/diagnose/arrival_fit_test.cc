// SPDX-License-Identifier: Apache-2.0
// The slow way out that shows in how long operations take depending on who comes last.
#include "diagnose/arrival_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

// Each step is 20 ms of work, on `last(step)` and all that share its place on their host 2 ms more, and one operation
// of each group that member i leaves 10 ms and behind[i] after its last member came. One rank a place and host.
struct Plan {
  int ranks = 4;
  int per_host = 2;
  CommOp op = CommOp::kAllReduce;
  std::vector<MadeMesh::Members> groups;
  std::vector<Nanos> behind;
  std::function<bool(int rank, int step)> is_last;
  int steps = 16;
};

using Links = std::vector<std::pair<RankId, RankId>>;

std::vector<LateLink> Fit(const Plan& plan, std::vector<Channel>* channels) {
  MadeMesh mesh({.ranks = plan.ranks, .per_host = plan.per_host});
  const std::vector<int> groups = mesh.Groups("mesh_dp", plan.groups);
  for (int s = 0; s < plan.steps; ++s) {
    mesh.Step();
    for (int r = 0; r < plan.ranks; ++r) mesh.Compute(r, Ms(plan.is_last(r, s) ? 22 : 20));
    std::vector<Nanos> transfer = plan.behind;
    for (Nanos& t : transfer) t += Ms(10);
    for (const int group : groups) mesh.Meet(group, plan.op, 1'000'000, transfer);
  }
  const Job job = JoinJob(mesh.Make());
  *channels = CollectChannels(job);
  std::vector<Ring> rings;
  for (const Channel& channel : *channels) rings.push_back({&channel, {channel.ranks.begin(), channel.ranks.end()}});
  return FitArrivals(job, rings);
}

Links LinksOf(const Plan& plan) {
  std::vector<Channel> channels;
  Links out;
  for (const LateLink& link : Fit(plan, &channels)) out.emplace_back(link.sender, link.receiver);
  return out;
}

// Two hosts of two ranks, a pair across for each: what host 0 waits for comes 0.4 ms later. Now the one host comes last
// and now the other.
Plan Pairs() {
  Plan plan;
  plan.groups = {{0, 2}, {1, 3}};
  plan.behind = {Us(400), 0};
  plan.is_last = [](int rank, int step) { return rank / 2 == step % 2; };
  return plan;
}

TEST(ArrivalFit, OfTwoMembersTheOneThatWaitsLongerWhereItComesLastReceives) {
  // Host 0 last: 10.4 ms on its clock; host 1 last: 10 ms on its own. Their clocks do not come into it.
  for (const CommOp op : {CommOp::kAllReduce, CommOp::kAllToAll}) {
    Plan plan = Pairs();
    plan.op = op;
    std::vector<Channel> channels;
    const std::vector<LateLink> found = Fit(plan, &channels);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].sender, 2);
    EXPECT_EQ(found[0].receiver, 0);
    EXPECT_EQ(found[1].sender, 3);
    EXPECT_EQ(found[1].receiver, 1);
    EXPECT_NEAR(static_cast<double>(found[0].lag), 4e5, 4e4);  // as finely as lags are tried
  }
}

TEST(ArrivalFit, WhereOneHostAlwaysComesLastNothingIsKnown) {
  Plan plan = Pairs();
  plan.is_last = [](int rank, int) { return rank >= 2; };
  EXPECT_EQ(LinksOf(plan), Links{});
}

TEST(ArrivalFit, AllCallsAreAtOnePlaceOfTheStepOrTellNothing) {
  // Two calls a step: of the first, which takes 10 ms, host 0 is always the last to come, of the second, which takes
  // 10.4, host 1 is. That these differ says nothing of the network.
  MadeMesh mesh({.ranks = 2, .per_host = 1});
  const int pair = mesh.Group("mesh_dp", {0, 1});
  for (int s = 0; s < 16; ++s) {
    mesh.Step();
    for (const int late : {0, 1}) {
      mesh.Compute(late, Ms(22));
      mesh.Compute(1 - late, Ms(20));
      mesh.Meet(pair, CommOp::kAllReduce, 1'000'000, late == 0 ? Ms(10) : Us(10'400));
    }
  }
  const Job job = JoinJob(mesh.Make());
  const std::vector<Channel> channels = CollectChannels(job);
  ASSERT_EQ(channels.size(), 1U);
  EXPECT_TRUE(FitArrivals(job, std::vector<Ring>{{channels.data(), {0, 1}}}).empty());
}

TEST(ArrivalFit, WhereNothingIsSlowItDoesNotMatterWhoComesLast) {
  Plan plan = Pairs();
  plan.behind = {0, 0};
  EXPECT_EQ(LinksOf(plan), Links{});
}

TEST(ArrivalFit, OneCallTellsNothing) {
  // In all but one step both hosts come together, so that the pair takes 10.4 ms whoever is asked.
  Plan plan = Pairs();
  plan.is_last = [](int rank, int step) { return step == 5 && rank >= 2; };
  EXPECT_EQ(LinksOf(plan), Links{});
}

TEST(ArrivalFit, FewCallsTellNothing) {
  Plan plan = Pairs();
  plan.steps = 3;
  EXPECT_EQ(LinksOf(plan), Links{});
}

// A ring of four hosts behind a slow link 1 -> 2, hops of 0.2 ms: 2 ends last, then 3, 0 and 1.
Plan OfFour() {
  Plan plan;
  plan.per_host = 1;
  plan.groups = {{0, 1, 2, 3}};
  plan.behind = {Us(200), 0, Us(600), Us(400)};
  plan.is_last = [](int rank, int step) { return rank == step % 4; };
  return plan;
}

TEST(ArrivalFit, ALongerRingIsToldBothWaysRound) {
  EXPECT_EQ(LinksOf(OfFour()), (Links{{1, 2}}));
  Plan down = OfFour();  // behind 3 -> 2: 2 ends last, then 1, 0 and 3
  down.behind = {Us(200), Us(400), Us(600), 0};
  EXPECT_EQ(LinksOf(down), (Links{{3, 2}}));
}

TEST(ArrivalFit, WhereOnlyTwoOfFourEverComeLastAnyLinkMayBeTheSlowOne) {
  Plan plan = OfFour();
  plan.is_last = [](int rank, int step) { return rank == step % 2; };
  EXPECT_EQ(LinksOf(plan), Links{});
}

TEST(ArrivalFit, OperationsOfOthersThanTheRingsMembersAreLeftOut) {
  // Files may name a group that their rank is not in: as many members, but another one.
  MadeMesh mesh({.ranks = 3, .per_host = 1});
  const int group = mesh.Group("mesh_dp", {0, 2});
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(20));
    mesh.Meet(group, CommOp::kAllReduce, 1'000'000, Ms(10));
  }
  const Job job = JoinJob(mesh.Make());
  const std::vector<Channel> channels = CollectChannels(job);
  ASSERT_FALSE(channels.empty());
  const Ring ring{&channels[0], {0, 1}};
  EXPECT_TRUE(FitArrivals(job, {&ring, 1}).empty());
}

}  // namespace
}  // namespace headway::diagnose
