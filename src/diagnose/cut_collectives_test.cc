// SPDX-License-Identifier: Apache-2.0
// Exchanges that are cut into many more pieces in some steps than in the others: those tell what it costs.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

bool IsStruck(size_t step) { return step % 2 == 0; }

// Four ranks, one group of all or two of two; six steps. A step is 100 ms of kernels and what `longer(rank)` adds in
// every second step, then in each group `usual` all-reduces that take 40 ms together, or, in the steps in which
// `is_cut` says so of the group, `pieces` that take 60 ms together.
struct Plan {
  std::string desc = "mesh_dp";
  std::vector<MadeMesh::Members> groups = {{0, 1, 2, 3}};
  int usual = 4;
  int pieces = 100;
  Bytes bytes = -1;
  std::function<bool(size_t group, size_t step)> is_cut = [](size_t, size_t step) { return IsStruck(step); };
  std::function<Nanos(int rank)> longer = [](int) { return Nanos{0}; };
};

std::vector<pattern::RankPattern> Make(const Plan& plan) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> groups = mesh.Groups(plan.desc, plan.groups);
  for (size_t s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) mesh.Compute(r, Ms(100) + (IsStruck(s) ? plan.longer(r) : 0));
    for (size_t g = 0; g < groups.size(); ++g) {
      const bool cut = plan.is_cut(g, s);
      const int calls = cut ? plan.pieces : plan.usual;
      for (int k = 0; k < calls; ++k) {
        mesh.Meet(groups[g], CommOp::kAllReduce, plan.bytes, (cut ? Ms(60) : Ms(40)) / calls);
      }
    }
  }
  return mesh.Make();
}

std::vector<Candidate> SmallOnes(Look* look) {
  std::vector<Candidate> found = look->Run(RunCollectivesAnalysis).candidates;
  std::erase_if(found, [](const Candidate& c) { return c.finding.cause != "small-collectives"; });
  return found;
}

std::vector<Candidate> SmallOnes(const Plan& plan) {
  Look look(Make(plan));
  return SmallOnes(&look);
}

TEST(CutCollectives, WithoutSizesTheOtherStepsTellWhatPiecesCost) {
  // 0.6 ms are more than a start may take, so by themselves the 100 calls might be large. But the other steps exchange
  // the same in 40 ms: of 60 ms 20 go, 0.2 of each call.
  Look look(Make({}));
  const std::vector<Candidate> found = SmallOnes(&look);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].at_most_info);
  for (size_t s = 0; s < 6; ++s) EXPECT_EQ(found[0].excess[s], IsStruck(s) ? Ms(20) : 0) << s;
  EXPECT_EQ(found[0].edit.transfers.size(), 300U);
  for (const replay::SegmentEdit::Transfer& t : found[0].edit.transfers) EXPECT_EQ(t.transfer, Us(400));
  EXPECT_EQ(found[0].finding.sentence.rfind("In some steps gradients or parameters travel in 100 all-reduce", 0), 0U)
      << found[0].finding.sentence;
}

TEST(CutCollectives, FourTimesTheCallsOfOtherStepsAreManyMore) {
  // 80 are four times 20, and a little less than four times 21.
  const auto found = [](int usual) {
    Plan plan;
    plan.usual = usual;
    plan.pieces = 80;
    return SmallOnes(plan).size();
  };
  EXPECT_EQ(found(20), 1U);
  EXPECT_EQ(found(21), 0U);
}

TEST(CutCollectives, GroupsWhoseRoleNothingNamesAreToldByTheirOtherSteps) {
  // Two pairs that may be anything; where they are tensor parallel nothing is told.
  Plan plan;
  plan.desc = "";
  plan.groups = {{0, 1}, {2, 3}};
  const std::vector<Candidate> found = SmallOnes(plan);
  ASSERT_EQ(found.size(), 1U);
  for (size_t s = 0; s < 6; ++s) EXPECT_EQ(found[0].excess[s], IsStruck(s) ? Ms(20) : 0) << s;
  EXPECT_EQ(found[0].edit.transfers.size(), 2 * 300U);  // of both pairs
  plan.desc = "mesh_tp";
  EXPECT_TRUE(SmallOnes(plan).empty());
}

TEST(CutCollectives, OfGroupsWithoutARoleThoseThatVary) {
  // Only the second pair is cut, and works for 2 ms more in those steps: the first one, which is like it, says nothing
  // against it and is left as it is, though it works for 10 ms more.
  Plan plan;
  plan.desc = "";
  plan.groups = {{0, 1}, {2, 3}};
  plan.is_cut = [](size_t group, size_t step) { return group == 1 && IsStruck(step); };
  plan.longer = [](int r) { return r < 2 ? Ms(10) : Ms(2); };
  Look look(Make(plan));
  const std::vector<Candidate> found = SmallOnes(&look);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{2, 3}));
  for (size_t s = 0; s < 6; ++s) EXPECT_EQ(found[0].excess[s], IsStruck(s) ? Ms(22) : 0) << s;
  EXPECT_EQ(found[0].edit.transfers.size(), 300U);
  for (const replay::SegmentEdit::Transfer& t : found[0].edit.transfers) {
    const trace::Collective& collective = look.job.comms.collectives[static_cast<size_t>(t.collective)];
    EXPECT_EQ(look.job.comms.groups[static_cast<size_t>(collective.group)].ranks, (std::vector<RankId>{2, 3}));
  }
}

TEST(CutCollectives, GroupsWithoutARoleThatAreCutInOtherStepsAreTwoFindings) {
  Plan plan;
  plan.desc = "";
  plan.groups = {{0, 1}, {2, 3}};
  plan.is_cut = [](size_t group, size_t step) { return IsStruck(step) == (group == 0); };
  std::vector<Candidate> found = SmallOnes(plan);
  ASSERT_EQ(found.size(), 2U);
  if (found[0].excess[0] == 0) std::swap(found[0], found[1]);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1}));
  EXPECT_EQ(found[1].finding.scope.ranks, (std::vector<RankId>{2, 3}));
  for (size_t s = 0; s < 6; ++s) {
    EXPECT_EQ(found[0].excess[s], IsStruck(s) ? Ms(20) : 0) << s;
    EXPECT_EQ(found[1].excess[s], IsStruck(s) ? 0 : Ms(20)) << s;
  }
}

TEST(CutCollectives, WithoutARoleManySmallOnesInAllStepsAreUsual) {
  // 100 calls of 100 KB in each step, 400 in three of six: gradients would be told to travel in larger buckets, but
  // what a layer waits for comes in as many pieces as there are layers.
  Plan plan;
  plan.usual = 100;
  plan.pieces = 400;
  plan.bytes = 100'000;
  EXPECT_EQ(SmallOnes(plan).size(), 1U);
  plan.desc = "";
  plan.groups = {{0, 1}, {2, 3}};
  EXPECT_TRUE(SmallOnes(plan).empty());
}

TEST(CutCollectives, WhatTheHostsTakeLongerForMoreCallsIsPartOfIt) {
  // In the steps that are cut ranks work for 4, 6, 8 and 14 ms more: all of it goes, 32 ms in each of the three steps.
  // A step is longer by the 20 ms of transfers and the middle of those, 7.
  constexpr int kLonger[] = {4, 6, 8, 14};
  Plan plan;
  plan.longer = [&](int r) { return Ms(kLonger[r]); };
  Look look(Make(plan));
  const std::vector<Candidate> found = SmallOnes(&look);
  ASSERT_EQ(found.size(), 1U);
  for (size_t s = 0; s < 6; ++s) EXPECT_EQ(found[0].excess[s], IsStruck(s) ? Ms(27) : 0) << s;
  Nanos removed = 0;
  for (const replay::SegmentEdit::Own& own : found[0].edit.own) {
    removed += look.job.graph.marks[own.mark].Own() - own.own;
  }
  EXPECT_NEAR(static_cast<double>(removed), 3 * 32e6, 100);
}

}  // namespace
}  // namespace headway::diagnose
