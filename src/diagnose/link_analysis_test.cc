// SPDX-License-Identifier: Apache-2.0
// Whole diagnoses of jobs with slow links, and of their healthy twins.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "diagnose/analyses.h"
#include "diagnose/diagnosis.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using report::Finding;
using report::Severity;
using report::WhenKind;
using trace::CommOp;

constexpr Bytes kBytes = 10'000'000;

std::vector<Finding> Loud(const Diagnosis& d) {
  std::vector<Finding> out;
  for (const Finding& f : d.findings) {
    if (f.severity != Severity::kInfo) out.push_back(f);
  }
  return out;
}

// A ring of four in which each step ends with an all-reduce that member i leaves ends[i] after the last one came.
Diagnosis DiagnoseRing(const std::vector<Nanos>& ends, CommOp op = CommOp::kAllReduce) {
  MadeMesh mesh({.ranks = 4});
  const int ring = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Meet(ring, op, kBytes, ends);
  }
  return Diagnose(mesh.Make());
}

TEST(LinkAnalysis, OrderOfEndsNamesTheLinkOfALoneRing) {
  // ring_order_test.cc has the arithmetic: link 1 -> 2. The transfers take 12 ms until the first one ends, the ends lie
  // 6 apart: at least twice that, but no more than half of the transfer, is claimed: 6 a step.
  const Diagnosis d = DiagnoseRing({Ms(14), Ms(12), Ms(18), Ms(16)});
  ASSERT_EQ(Loud(d).size(), 1U);
  const Finding f = Loud(d)[0];
  EXPECT_EQ(f.cause, "slow-link");
  ASSERT_EQ(f.scope.links.size(), 1U);
  EXPECT_EQ(f.scope.links[0].from, 1);
  EXPECT_EQ(f.scope.links[0].to, 2);
  EXPECT_EQ(f.scope.ranks, (std::vector<RankId>{1, 2}));
  EXPECT_EQ(f.when.kind, WhenKind::kPersistent);
  EXPECT_NEAR(static_cast<double>(f.recoverable_per_step), 6e6, 1e4);
}

// The same ring whose members end `hop` apart: 2, 3, 0, 1.
std::vector<Candidate> AnalyseStairs(Nanos hop, CommOp op, bool device = true) {
  MadeMesh mesh({.ranks = 4, .device = device});
  const int ring = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Meet(ring, op, kBytes, {Ms(10) + hop, Ms(10), Ms(10) + 3 * hop, Ms(10) + 2 * hop});
  }
  Look look(mesh.Make());
  return look.Run(RunLinkAnalysis).candidates;
}

TEST(LinkAnalysis, EndsThatGoDownEvenlyAreAHint) {
  // Three hops of 40 us are 1.2 % of 10 ms: too little for a finding (4 %). An all-reduce pays for both of its halves.
  for (const CommOp op : {CommOp::kAllReduce, CommOp::kAllGather}) {
    const std::vector<Candidate> found = AnalyseStairs(Us(40), op);
    ASSERT_EQ(found.size(), 1U);
    const Finding& f = found[0].finding;
    EXPECT_EQ(f.cause, "slow-link");
    EXPECT_EQ(f.id.find("slow-link-stairs-"), 0U) << f.id;
    EXPECT_TRUE(found[0].at_most_info);
    ASSERT_EQ(f.scope.links.size(), 1U);
    EXPECT_EQ(f.scope.links[0].from, 1);
    EXPECT_EQ(f.scope.links[0].to, 2);
    EXPECT_EQ(f.scope.ranks, (std::vector<RankId>{1, 2}));
    EXPECT_EQ(found[0].excess, std::vector<Nanos>(12, op == CommOp::kAllReduce ? Us(240) : Us(120)));
  }
  EXPECT_EQ(AnalyseStairs(Us(10), CommOp::kAllReduce).size(), 1U);        // 0.3 %
  EXPECT_TRUE(AnalyseStairs(Us(9), CommOp::kAllReduce).empty());          // 0.27 %
  EXPECT_TRUE(AnalyseStairs(Us(40), CommOp::kAllToAll).empty());          // no ring
  EXPECT_TRUE(AnalyseStairs(Us(40), CommOp::kAllReduce, false).empty());  // shared processors
}

TEST(LinkAnalysis, TheSameEndsOfAnAllToAllNameNoLink) {
  for (const Finding& f : DiagnoseRing({Ms(14), Ms(12), Ms(18), Ms(16)}, CommOp::kAllToAll).findings) {
    EXPECT_NE(f.cause, "slow-link") << f.sentence;
  }
}

TEST(LinkAnalysis, HealthyRing) {
  const Diagnosis d = DiagnoseRing(std::vector<Nanos>(4, Ms(6)));
  EXPECT_TRUE(d.findings.empty()) << d.findings[0].sentence;
}

// Two hosts of four ranks, tp inside them and dp across: in each step 50 ms of work and an all-reduce of each group, of
// `transfer(members, step)`.
Diagnosis DiagnoseMesh(int steps, const std::function<Nanos(const MadeMesh::Members&, int)>& transfer) {
  MadeMesh mesh({.ranks = 8, .per_host = 4});
  const std::vector<MadeMesh::Members> groups = {{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
  std::vector<int> numbers;
  for (const auto& members : groups)
    numbers.push_back(mesh.Group(members.size() == 4 ? "mesh_tp" : "mesh_dp", members));
  for (int s = 0; s < steps; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (size_t g = 0; g < groups.size(); ++g)
      mesh.Meet(numbers[g], CommOp::kAllReduce, kBytes, transfer(groups[g], s));
  }
  return Diagnose(mesh.Make());
}

bool Holds(const MadeMesh::Members& members, int rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

TEST(LinkAnalysis, ARankWhoseGroupsAreSlow) {
  // Ranks 4 to 7 come out of tp 3 ms late, {1, 5} out of dp another 3; the next step's tp group of rank 1 waits for it.
  // Per step 50 + 13 + 13 instead of 50 + 10 + 10.
  const Diagnosis d = DiagnoseMesh(8, [](const auto& members, int) { return Holds(members, 5) ? Ms(13) : Ms(10); });
  ASSERT_EQ(Loud(d).size(), 1U);
  const Finding f = Loud(d)[0];
  EXPECT_EQ(f.cause, "slow-link");
  EXPECT_EQ(f.scope.ranks, (std::vector<RankId>{5}));
  EXPECT_EQ(f.scope.hosts, (std::vector<std::string>{"n1"}));
  EXPECT_EQ(f.headline, "the link out of rank 5 (host n1)");
  EXPECT_EQ(f.when.kind, WhenKind::kPersistent);
  EXPECT_NEAR(static_cast<double>(f.recoverable_per_step), 6e6, 1e4);
  EXPECT_EQ(f.severity, Severity::kWarning);
}

TEST(LinkAnalysis, ARankWhoseGroupsBecomeSlow) {
  // From step 4 of 10 on: 6 of 10 steps, 3.6 ms a step over the window.
  const Diagnosis d =
      DiagnoseMesh(10, [](const auto& members, int s) { return s >= 4 && Holds(members, 5) ? Ms(13) : Ms(10); });
  ASSERT_EQ(Loud(d).size(), 1U);
  EXPECT_EQ(Loud(d)[0].scope.ranks, (std::vector<RankId>{5}));
  EXPECT_EQ(Loud(d)[0].when.kind, WhenKind::kOnset);
  EXPECT_EQ(Loud(d)[0].when.steps, (std::vector<int64_t>{4}));
  EXPECT_NEAR(static_cast<double>(Loud(d)[0].recoverable_per_step), 3.6e6, 1e4);
}

TEST(LinkAnalysis, OrderOfEndsTellsWhichOfATie) {
  // Two rings of four that nothing else joins: the slow one's members explain it equally well. Its ends
  // (ring_order_test.cc) say that 1 sends to 2. From the second step on its members come as far apart as they left, so
  // that each spends 18 ms in it, three times what the other ring takes: all would be done after 6, so 12 would
  // go. In the first step they come together and the quickest spends 12, which is not over half way: 7 * 12 / 8.
  MadeMesh mesh({.ranks = 8, .per_host = 4});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1, 2, 3}, {4, 5, 6, 7}});
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Meet(tp[0], CommOp::kAllReduce, kBytes, {Ms(14), Ms(12), Ms(18), Ms(16)});
    mesh.Meet(tp[1], CommOp::kAllReduce, kBytes, Ms(6));
  }
  const Diagnosis d = Diagnose(mesh.Make());
  ASSERT_EQ(Loud(d).size(), 1U);
  const Finding f = Loud(d)[0];
  EXPECT_EQ(f.headline, "the link out of rank 1 (host n0)");
  EXPECT_EQ(f.scope.ranks, (std::vector<RankId>{1}));
  ASSERT_EQ(f.scope.links.size(), 1U);
  EXPECT_EQ(f.scope.links[0].to, 2);
  EXPECT_NEAR(static_cast<double>(f.recoverable_per_step), 10.5e6, 1e4);
}

TEST(LinkAnalysis, AllTransfersSlowInSomeStepsAreTheFabric) {
  // In steps 5 and 6 of 10 both transfers of a step take 5 ms more: 2 * 10 / 10 = 2 ms a step.
  const Diagnosis d = DiagnoseMesh(10, [](const auto&, int s) { return s == 5 || s == 6 ? Ms(15) : Ms(10); });
  ASSERT_EQ(Loud(d).size(), 1U);
  const Finding f = Loud(d)[0];
  EXPECT_EQ(f.cause, "slow-fabric");
  EXPECT_EQ(f.scope.ranks.size(), 8U);
  EXPECT_EQ(f.when.kind, WhenKind::kIntermittent);
  EXPECT_EQ(f.when.steps, (std::vector<int64_t>{5, 6}));
  EXPECT_NEAR(static_cast<double>(f.recoverable_per_step), 2e6, 1e4);
}

// Two hosts of two; all that spans them takes 10 ms and from step 3 on 20, host n0 ending `apart` later. Short
// operations of all tell how the clocks lie. `named`: the files name their hosts.
Diagnosis DiagnoseTwoHosts(Nanos apart, bool named = true) {
  MadeMesh mesh({.ranks = 4, .per_host = 2});
  const std::vector<int> dp = mesh.Groups("mesh_dp", {{0, 2}, {1, 3}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (const int g : {dp[0], dp[1], dp[0], dp[1]}) {
      const Nanos transfer = s < 3 ? Ms(10) : Ms(20);
      mesh.Meet(g, CommOp::kAllReduce, kBytes, {transfer + (s < 3 ? 0 : apart), transfer});
    }
    for (int k = 0; k < 8; ++k) mesh.Meet(world, CommOp::kAllReduce, 4, Us(30));
  }
  std::vector<pattern::RankPattern> ranks = mesh.Make();
  for (pattern::RankPattern& rank : ranks) {
    if (named) continue;
    rank.comms.host_known = false;
    rank.meta.host = rank.comms.host = "";
  }
  return Diagnose(std::move(ranks));
}

TEST(LinkAnalysis, OfTwoHostsTheOrderOfEndsTellsALinkFromTheFabric) {
  // All groups that span two hosts are slow either way. The one that receives over a slow link ends last.
  const std::vector<Finding> link = Loud(DiagnoseTwoHosts(Us(500)));
  ASSERT_EQ(link.size(), 1U);
  EXPECT_EQ(link[0].cause, "slow-link");
  EXPECT_EQ(link[0].scope.ranks, (std::vector<RankId>{2, 3}));
  const std::vector<Finding> fabric = Loud(DiagnoseTwoHosts(0));
  ASSERT_EQ(fabric.size(), 1U);
  EXPECT_EQ(fabric[0].cause, "slow-fabric");
  for (const Finding& f : {link[0], fabric[0]}) EXPECT_EQ(f.when.kind, WhenKind::kOnset);
}

TEST(LinkAnalysis, WhereNoFileNamesItsHostTheSendersAreARow) {
  const std::vector<Finding> link = Loud(DiagnoseTwoHosts(Us(500), false));
  ASSERT_EQ(link.size(), 1U);
  EXPECT_EQ(link[0].cause, "slow-link");
  EXPECT_EQ(link[0].scope.ranks, (std::vector<RankId>{2, 3}));
  EXPECT_EQ(link[0].headline, "a link of ranks 2, 3");
  const std::vector<Finding> fabric = Loud(DiagnoseTwoHosts(0, false));
  ASSERT_EQ(fabric.size(), 1U);
  EXPECT_EQ(fabric[0].cause, "slow-fabric");
}

TEST(LinkAnalysis, RingsThatAreSlowBesidesAreToldOnce) {
  // Four hosts of two. The exchanges of the first two take 11 instead of 10 ms and end on the first: the second one's
  // way out. It also staggers both rings, which all pass it; that is no second finding.
  MadeMesh mesh({.ranks = 8, .per_host = 2});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  const std::vector<int> exchanges = mesh.Groups("mesh_ep", {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  const std::vector<int> rings = mesh.Groups("mesh_dp", {{0, 2, 4, 6}, {1, 3, 5, 7}});
  for (int s = 0; s < 16; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int k = 0; k < 8; ++k) mesh.Meet(world, CommOp::kAllReduce, 4, Us(30));
    for (size_t e = 0; e < exchanges.size(); ++e) {
      const Nanos end = e < 2 ? Ms(11) : Ms(10);
      mesh.Meet(exchanges[e], CommOp::kAllToAll, kBytes, {end + (e < 2 ? Us(500) : 0), end});
    }
    for (const int ring : rings) mesh.Meet(ring, CommOp::kAllReduce, kBytes, {Ms(23), Ms(22), Ms(25), Ms(24)});
  }
  Look look(mesh.Make());
  const std::vector<Candidate> found = look.Run(RunLinkAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.headline, "the link out of ranks 2, 3 (host n1)");
}

TEST(LinkAnalysis, HealthyMesh) {
  // Slower across hosts than inside them, in every group and step alike.
  const Diagnosis d = DiagnoseMesh(8, [](const auto& members, int) { return members.size() == 2 ? Ms(12) : Ms(8); });
  EXPECT_TRUE(d.findings.empty()) << d.findings[0].sentence;
}

TEST(LinkAnalysis, AHostWhoseTrafficToOthersIsSlow) {
  // As in slow_channels_test.cc without tp: what n1 (ranks 2, 3) sends takes 13 ms instead of 10. Stage 0 is ranks 0 to
  // 3. A step of ranks 2 and 3: 50 of work, 13 for the send to 6 and 7, 10 back, 13 for dp: 86 instead of 80.
  const auto diagnose = [](Nanos out_of_n1) {
    MadeMesh mesh({.ranks = 8, .per_host = 2});
    const std::vector<int> dp = mesh.Groups("mesh_dp", {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
    const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
    for (int s = 0; s < 8; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(50));
      for (int r = 0; r < 4; ++r) mesh.Send(pp[static_cast<size_t>(r)], r, kBytes, r >= 2 ? out_of_n1 : Ms(10));
      for (int r = 0; r < 4; ++r) mesh.Send(pp[static_cast<size_t>(r)], r + 4, kBytes, Ms(10));
      for (const int g : dp) mesh.Meet(g, CommOp::kAllReduce, kBytes, g < dp[2] ? out_of_n1 : Ms(10));
    }
    return Diagnose(mesh.Make());
  };
  const Diagnosis d = diagnose(Ms(13));
  ASSERT_EQ(Loud(d).size(), 1U);
  const Finding f = Loud(d)[0];
  EXPECT_EQ(f.cause, "slow-link");
  EXPECT_EQ(f.scope.hosts, (std::vector<std::string>{"n1"}));
  EXPECT_EQ(f.scope.ranks, (std::vector<RankId>{2, 3}));
  EXPECT_NEAR(static_cast<double>(f.recoverable_per_step), 6e6, 1e4);
  EXPECT_TRUE(Loud(diagnose(Ms(10))).empty());
}

// A host backend whose transfers of `bytes` hold `share` per cent of a step of 100 ms.
Diagnosis DiagnoseHostBackend(int share, Bytes bytes) {
  MadeMesh mesh({.ranks = 4, .device = false});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100 - share));
    mesh.Meet(world, CommOp::kAllReduce, bytes, Ms(share));
  }
  return Diagnose(mesh.Make());
}

TEST(LinkAnalysis, TransfersThatHoldHalfOfTheStepAreTheFabric) {
  // 60 of 100 ms for 5 MB, 0.083 GB/s; a fabric four times as fast would save 45. 10 MB in that time are more than a
  // gigabit a second, which may be all there is.
  const Diagnosis d = DiagnoseHostBackend(60, 5'000'000);
  ASSERT_EQ(Loud(d).size(), 1U);
  EXPECT_EQ(Loud(d)[0].cause, "slow-fabric");
  EXPECT_EQ(Loud(d)[0].confidence, report::Confidence::kSuspected);
  EXPECT_NEAR(static_cast<double>(Loud(d)[0].recoverable_per_step), 45e6, 1e4);
  EXPECT_TRUE(Loud(DiagnoseHostBackend(60, 10'000'000)).empty());
  EXPECT_TRUE(Loud(DiagnoseHostBackend(30, 2'000'000)).empty());
}

TEST(LinkAnalysis, WithoutSizesTransfersThatHoldHalfOfTheStepAreARemark) {
  // The same 60 of 100 ms: of a fast network that has much to move, or of a slow one.
  const Diagnosis d = DiagnoseHostBackend(60, -1);
  EXPECT_TRUE(Loud(d).empty());
  ASSERT_EQ(std::count_if(d.findings.begin(), d.findings.end(), [](const auto& f) { return f.cause == "slow-fabric"; }),
            1);
}

}  // namespace
}  // namespace headway::diagnose
