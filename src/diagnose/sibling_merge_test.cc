// SPDX-License-Identifier: Apache-2.0
// When candidates about ranks are one about their host or group.
#include "diagnose/sibling_merge.h"

#include <gtest/gtest.h>

#include "diagnose/diagnosis.h"
#include "diagnose/made_candidates.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Of two ranks on a host one alone is slow: not the host. In a group of two likewise.
TEST_F(SiblingMerge, AWeakOneDoesNotMakeAGroup) {
  Add(2, "slow-device", Ms(20));
  Add(3, "slow-device", Ms(4));
  EXPECT_EQ(Merged(), (Groups{{2}, {3}}));
}

TEST_F(SiblingMerge, OneCauseOnAllRanksOfAHost) {
  for (const size_t r : {4U, 5U, 6U, 7U}) Add(r, "slow-input", Ms(20) + static_cast<Nanos>(r));
  EXPECT_EQ(Merged(), (Groups{{4, 5, 6, 7}}));
  const Candidate& joined = candidates_[0].second;
  EXPECT_EQ(joined.finding.cause, "slow-input");
  EXPECT_EQ(joined.finding.id, "slow-input-4");
  EXPECT_EQ(joined.finding.scope.hosts, (std::vector<std::string>{"n1"}));
  EXPECT_EQ(joined.excess, std::vector<Nanos>(6, Ms(20) + 7));  // of the worst rank
  EXPECT_EQ(joined.edit.own.size(), 4U);                        // and all of them are made quicker
}

TEST_F(SiblingMerge, ThreeOfFourAreTheHostTwoAreNot) {
  for (const size_t r : {0U, 2U, 3U}) Add(r, "slow-input", Ms(20));
  EXPECT_EQ(Merged(), (Groups{{0, 2, 3}}));
  candidates_.clear();
  for (const size_t r : {0U, 2U}) Add(r, "slow-input", Ms(20));
  EXPECT_EQ(Merged(), (Groups{{0}, {2}}));
}

TEST_F(SiblingMerge, TwoHostsStruckAreNotOneHost) {
  for (size_t r = 0; r < 8; ++r) Add(r, "slow-input", Ms(20));
  EXPECT_EQ(Merged(), (Groups{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
}

TEST_F(SiblingMerge, OneRankElsewhereDoesNotClearTheHost) {
  // One of the four others: a quarter of them. Two are more.
  for (const size_t r : {1U, 4U, 5U, 6U, 7U}) Add(r, "slow-input", Ms(20));
  EXPECT_EQ(Merged(), (Groups{{1}, {4, 5, 6, 7}}));
  candidates_.clear();
  for (const size_t r : {1U, 3U, 4U, 5U, 6U, 7U}) Add(r, "slow-input", Ms(20));
  EXPECT_EQ(Merged().size(), 6U);
}

TEST_F(SiblingMerge, BothRanksOfATpGroup) {
  for (const size_t r : {3U, 2U}) Add(r, "data-imbalance", Ms(20));
  EXPECT_EQ(Merged(), (Groups{{2, 3}}));
  EXPECT_EQ(candidates_[0].second.finding.cause, "data-imbalance");
}

TEST_F(SiblingMerge, WhatOneOfATpGroupAloneRunsIsItsOwnMatter) {
  // Which of two longer functions is named first is chance; one that its peer hardly runs is not, but for the same one.
  for (const bool same : {true, false}) {
    candidates_.clear();
    for (const size_t r : {2U, 3U}) Add(r, "slow-host-code", Ms(20));
    candidates_[1].second.only_here = true;
    if (same) candidates_[1].second.finding.scope.function = candidates_[0].second.finding.scope.function;
    EXPECT_EQ(Merged(), same ? (Groups{{2, 3}}) : (Groups{{2}, {3}}));
  }
}

TEST_F(SiblingMerge, TwoRanksOfDifferentTpGroupsStayApart) {
  for (const size_t r : {1U, 2U}) Add(r, "data-imbalance", Ms(20));
  EXPECT_EQ(Merged(), (Groups{{1}, {2}}));
}

TEST_F(SiblingMerge, DifferentCausesOfATpGroupStayApart) {
  Add(2, "data-imbalance", Ms(20));
  Add(3, "slow-input", Ms(20));
  EXPECT_EQ(Merged(), (Groups{{2}, {3}}));
}

TEST_F(SiblingMerge, DifferentCausesOfAHostAreASlowHost) {
  // What the host does for its ranks, now this and now that: two of a kind are no two thirds of four.
  Add(4, "slow-input", Ms(20));
  Add(5, "slow-host-code", Ms(30));
  Add(6, "slow-input", Ms(20));
  Add(7, "slow-host", Ms(20));
  EXPECT_EQ(Merged(), (Groups{{4, 5, 6, 7}}));
  EXPECT_EQ(candidates_[0].second.finding.cause, "slow-host");
  candidates_.clear();
  Add(4, "slow-input", Ms(20));
  Add(5, "slow-input", Ms(20));
  Add(6, "slow-device", Ms(20));
  Add(7, "slow-device", Ms(20));
  EXPECT_EQ(Merged(),
            (Groups{{4, 5}, {6, 7}}));  // two matters of a tp group each: slow devices are not the host's doing
}

TEST_F(SiblingMerge, AnotherMatterElsewhereIsNoSignOfACommonOne) {
  // Ranks 4 and 5 share slow storage; that 0 and 1 have slow hosts is their own story. Slow storage there is not.
  for (const size_t r : {4U, 5U}) Add(r, "slow-input", Ms(20));
  for (const size_t r : {0U, 1U}) Add(r, "slow-host", Ms(40));
  EXPECT_EQ(Merged(), (Groups{{4, 5}, {0, 1}}));
  candidates_.clear();
  for (const size_t r : {4U, 5U, 0U, 2U}) Add(r, "slow-input", Ms(20));
  EXPECT_EQ(Merged().size(), 4U);
}

TEST_F(SiblingMerge, OneFunctionAndAllOfThemAtOtherTimesAreTwoMatters) {
  // Ranks 4 and 5 share a tp group: an expert's kernel on the one, a device that is slow from step 3 on the other.
  const auto merged = [&](const std::string& function, report::WhenKind when) {
    candidates_.clear();
    for (const size_t r : {4U, 5U}) Add(r, "slow-device", Ms(20));
    report::Finding& finding = candidates_[1].second.finding;
    finding.scope.function = function;
    finding.when.kind = when;
    return Merged().size();
  };
  EXPECT_EQ(merged("", report::WhenKind::kOnset), 2U);
  EXPECT_EQ(merged("", report::WhenKind::kPersistent), 1U);
  EXPECT_EQ(merged("f5", report::WhenKind::kOnset), 1U);
}

// Sixteen ranks on one host, tp and cp in pairs of neighbours: {0, 1}, {2, 3} … and {0, 2}, {1, 3} ….
std::vector<pattern::RankPattern> TwoKindsOfPairs(int per_host) {
  MadeMesh mesh({.ranks = 16, .per_host = per_host});
  std::vector<int> groups;
  for (int r = 0; r < 16; r += 2) groups.push_back(mesh.Group("mesh_tp", {r, r + 1}));
  for (int r = 0; r < 16; r += 4) {
    for (const int k : {r, r + 1}) groups.push_back(mesh.Group("mesh_cp", {k, k + 2}));
  }
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (const int g : groups) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

TEST_F(SiblingMerge, PairsOfPairsKeepAllTheirRanks) {
  // One batch, shared by tp and by cp.
  job_ = JoinJob(TwoKindsOfPairs(16));
  for (const size_t r : {0U, 1U, 2U, 3U}) Add(r, "data-imbalance", Ms(20));
  EXPECT_EQ(Merged(), (Groups{{0, 1, 2, 3}}));
  EXPECT_EQ(candidates_[0].second.edit.own.size(), 4U);
}

TEST_F(SiblingMerge, AHostIsNoMemberOfAGroup) {
  // Hosts of two ranks, so that cp leaves them: n1, ranks 2 and 3, and beside it rank 0. They are not one group.
  job_ = JoinJob(TwoKindsOfPairs(2));
  for (const size_t r : {0U, 2U, 3U}) Add(r, "slow-input", Ms(20));
  EXPECT_EQ(Merged(), (Groups{{0}, {2, 3}}));
}

TEST_F(SiblingMerge, WhereAllOthersAreOfTheHostToo) {
  // A job on one host: that all of it is slow is nothing one rank stands out by.
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  job_ = JoinJob(mesh.Make());
  for (size_t r = 0; r < 4; ++r) Add(r, "slow-input", Ms(20));
  EXPECT_EQ(Merged().size(), 4U);
}

std::vector<report::Finding> Loud(const Diagnosis& d) {
  std::vector<report::Finding> out;
  for (const report::Finding& f : d.findings) {
    if (f.severity != report::Severity::kInfo) out.push_back(f);
  }
  return out;
}

TEST(SiblingMergeOfAJob, AHostWithSlowStorageIsOneFinding) {
  // Ranks 4 to 7 read for 31 ms, the others for 1. Taking it off all four at once brings 30 ms a step.
  const Diagnosis d = Diagnose(TwoHosts([](int r) { return r >= 4 ? Ms(31) : Ms(1); }));
  ASSERT_EQ(Loud(d).size(), 1U);
  EXPECT_EQ(Loud(d)[0].cause, "slow-input");
  EXPECT_EQ(Loud(d)[0].scope.ranks, (std::vector<RankId>{4, 5, 6, 7}));
  EXPECT_EQ(Loud(d)[0].scope.hosts, (std::vector<std::string>{"n1"}));
  EXPECT_NEAR(static_cast<double>(Loud(d)[0].recoverable_per_step), 30e6, 1e5);
}

TEST(SiblingMergeOfAJob, BothRanksOfATpGroupAreOneFinding) {
  const Diagnosis d = Diagnose(TwoHosts([](int r) { return r == 2 || r == 3 ? Ms(31) : Ms(1); }));
  ASSERT_EQ(Loud(d).size(), 1U);
  EXPECT_EQ(Loud(d)[0].scope.ranks, (std::vector<RankId>{2, 3}));
  EXPECT_NEAR(static_cast<double>(Loud(d)[0].recoverable_per_step), 30e6, 1e5);
}

}  // namespace
}  // namespace headway::diagnose
