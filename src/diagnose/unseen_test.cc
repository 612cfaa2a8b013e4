// SPDX-License-Identifier: Apache-2.0
// Transfers of groups some of whose members show nothing.
#include "diagnose/unseen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "diagnose/headline.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

// Rank 1 of four takes 90 ms of a step of 100 ms, the others 40: they spend 60 ms in an all-reduce of 10 ms.
std::vector<pattern::RankPattern> LateRank() {
  MadeMesh mesh({.ranks = 4, .device = false});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(40));
    mesh.Compute(1, Ms(50));
    mesh.Meet(world, CommOp::kAllReduce, 1'000'000, Ms(10));
  }
  return mesh.Make();
}

std::vector<report::Finding> Of(const Diagnosis& d, std::string_view cause) {
  std::vector<report::Finding> out;
  std::copy_if(d.findings.begin(), d.findings.end(), std::back_inserter(out),
               [&](const auto& f) { return f.cause == cause; });
  return out;
}

void ExpectNoMoreThanARemark(const Diagnosis& d, const std::string& who) {
  const std::vector<report::Finding> fabric = Of(d, "slow-fabric");
  ASSERT_EQ(fabric.size(), 1U);
  EXPECT_EQ(fabric[0].severity, report::Severity::kInfo);
  EXPECT_NE(fabric[0].sentence.find("Waiting for " + who + ", looks the same."), std::string::npos)
      << fabric[0].sentence;
  EXPECT_EQ(d.blind_to, "up to 60 ms of transfers a step may be waiting for " + who);
}

TEST(Unseen, OfARankWithoutATraceNoFabricIsBlamed) {
  std::vector<pattern::RankPattern> ranks = LateRank();
  ranks.erase(ranks.begin() + 1);
  const Diagnosis d = Diagnose(std::move(ranks));
  ExpectNoMoreThanARemark(d, "rank 1, which has no trace");
  EXPECT_EQ(HeadlineOf(d).sentence,
            "Nothing to blame was found, but up to 60 ms of transfers a step may be waiting for rank 1, which has no "
            "trace.");
  EXPECT_FALSE(HeadlineOf(d).detection_floor);
}

TEST(Unseen, NorOfOneWithoutCommunication) {
  std::vector<pattern::RankPattern> ranks = LateRank();
  ranks[1].comms.instances.clear();
  const Diagnosis d = Diagnose(std::move(ranks));
  ExpectNoMoreThanARemark(d, "rank 1, whose trace holds no communication");
}

// What rank 1 did an hour later nobody waited for: nothing is known of whom they did wait for.
TEST(Unseen, OfARankOfAnotherCaptureNoFabricIsToldAtAll) {
  std::vector<pattern::RankPattern> ranks = LateRank();
  constexpr Nanos kHour = 3600 * kSecond;
  pattern::RankPattern& late = ranks[1];
  for (trace::CommInstance& row : late.comms.instances) {
    for (Nanos* t : {&row.start, &row.end, &row.exposed_begin, &row.exposed_end}) *t += kHour;
  }
  for (pattern::Step& step : late.steps) {
    for (Nanos* t : {&step.start, &step.end, &step.marked_end}) *t += kHour;
  }
  for (Nanos& t : late.comms.step_starts) t += kHour;
  late.window_start += kHour;
  late.window_end += kHour;
  const Diagnosis d = Diagnose(std::move(ranks));
  EXPECT_TRUE(Of(d, "slow-fabric").empty());
  EXPECT_NE(d.blind_to.find("rank 1, whose communication met nobody else's there"), std::string::npos) << d.blind_to;
}

// Of rank 0 alone 60 of 100 ms are communication: waiting for rank 1 or moving data, which it cannot tell.
TEST(Unseen, OneRankOfSeveralDoesNotSayThatNobodyHoldsItUp) {
  std::vector<pattern::RankPattern> ranks = LateRank();
  ranks.resize(1);
  const Diagnosis d = Diagnose(std::move(ranks));
  const report::Headline headline = HeadlineOf(d);
  EXPECT_EQ(headline.sentence,
            "Nothing to blame was found, but 60 % of the step is communication, and one rank alone does not tell who "
            "is waited for in it.");
  EXPECT_FALSE(headline.detection_floor);
}

// All members show when they came: the late one is blamed, and no transfer is left open.
TEST(Unseen, WhereAllMembersAreThereNothingIsLeftOpen) {
  const Diagnosis d = Diagnose(LateRank());
  EXPECT_TRUE(Of(d, "slow-fabric").empty());
  EXPECT_EQ(d.blind_to, "");
}

// Ranks 0-2 and 3-5 meet in turn for 10 ms; of rank 5 there is no trace. `taken`: off each operation of the second.
std::set<RankId> WaitedFor(Nanos taken) {
  MadeMesh mesh({.ranks = 6, .device = false});
  const std::vector<int> groups = mesh.Groups("mesh_dp", {{0, 1, 2}, {3, 4, 5}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(40));
    for (const int g : groups) mesh.Meet(g, CommOp::kAllReduce, 1'000'000, Ms(10));
  }
  std::vector<pattern::RankPattern> ranks = mesh.Make();
  ranks.pop_back();
  const Job job = JoinJob(std::move(ranks));
  replay::SegmentEdit edit;
  for (size_t c = 0; c < job.graph.collectives.size(); ++c) {
    const bool is_second = job.comms.collectives[c].members.size() == 2;
    edit.transfers.push_back({static_cast<int32_t>(c), Ms(10) - (is_second ? taken : Ms(5))});
  }
  return MayBeWaitedFor(job, edit);
}

TEST(Unseen, MembersWithoutATraceCountWhereMoreThanHalfIsTheirs) {
  EXPECT_EQ(WaitedFor(Ms(6)), std::set<RankId>{5});
  EXPECT_TRUE(WaitedFor(Ms(5)).empty());
}

}  // namespace
}  // namespace headway::diagnose
