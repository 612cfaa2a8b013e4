// SPDX-License-Identifier: Apache-2.0
// When candidates about ranks are one about their host or group.
#include "diagnose/sibling_merge.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/diagnosis.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Eight ranks on two hosts of four, tp in pairs, all in one group; `input(rank)` per step in the loader.
template <typename Input>
std::vector<pattern::RankPattern> TwoHosts(Input input) {
  MadeMesh mesh({.ranks = 8, .per_host = 4, .device = false});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      mesh.Work(r, WorkClass::kInput, "train.py(7): read_shard", input(r));
      mesh.Work(r, WorkClass::kCompute, "aten::mm", Ms(100));
    }
    for (const int g : tp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

class SiblingMerge : public testing::Test {
 protected:
  // A candidate that costs the rank `cost` in every step.
  void Add(size_t rank, const std::string& cause, Nanos cost) {
    Candidate candidate;
    candidate.finding.cause = cause;
    candidate.finding.id = cause + "-" + std::to_string(rank);
    candidate.finding.scope.ranks = {static_cast<RankId>(rank)};
    candidate.finding.scope.function = "f" + std::to_string(rank);
    candidate.edit.own.push_back({static_cast<uint32_t>(rank), 0});
    candidate.excess.assign(job_.num_steps(), cost);
    candidates_.emplace_back(rank, std::move(candidate));
  }
  // A slow host that one class of the job found: several ranks of it.
  // The class of each rank.
  void SetClasses(const std::vector<int32_t>& of_rank) {
    job_.peer_class = of_rank;
    job_.classes.assign(static_cast<size_t>(*std::max_element(of_rank.begin(), of_rank.end())) + 1, {});
    for (size_t r = 0; r < of_rank.size(); ++r) {
      job_.classes[static_cast<size_t>(of_rank[r])].push_back(static_cast<int32_t>(r));
    }
  }
  void AddHost(const std::vector<RankId>& ranks, const std::vector<std::string>& hosts, Nanos cost) {
    Add(static_cast<size_t>(ranks.front()), "slow-host", cost);
    report::Scope& scope = candidates_.back().second.finding.scope;
    scope.ranks = ranks;
    scope.hosts = hosts;
  }
  std::vector<std::vector<RankId>> Merged() {
    MergeSiblings(job_, &candidates_);
    return Ranks();
  }
  std::vector<std::vector<RankId>> MergedHosts() {
    MergeHosts(job_, &candidates_);
    return Ranks();
  }
  std::vector<std::vector<RankId>> Ranks() {
    std::vector<std::vector<RankId>> out;
    for (const auto& [rank, candidate] : candidates_) out.push_back(candidate.finding.scope.ranks);
    return out;
  }

  Job job_ = JoinJob(TwoHosts([](int) { return Ms(1); }));
  RankCandidates candidates_;
};

using Groups = std::vector<std::vector<RankId>>;

// One kernel longer on ranks of both hosts, in different groups, is one matter; another kernel is another.
TEST_F(SiblingMerge, OneKernelWhereverItIsLonger) {
  for (const size_t r : {1U, 5U}) {
    Add(r, "slow-device", Ms(20));
    candidates_.back().second.finding.scope.function = "bmm_experts";
  }
  Add(3, "slow-device", Ms(20));
  MergeAlike(job_, &candidates_);
  ASSERT_EQ(candidates_.size(), 2U);
  EXPECT_EQ(candidates_[0].second.finding.scope.ranks, (std::vector<RankId>{1, 5}));
  EXPECT_EQ(candidates_[0].second.finding.cause, "slow-device");
  EXPECT_EQ(candidates_[0].second.edit.own.size(), 2U);
  EXPECT_EQ(candidates_[1].second.finding.scope.ranks, (std::vector<RankId>{3}));
}

// The same experts get more tokens in steps 1 and 3; where each rank is struck in steps of its own, its device is slow.
TEST_F(SiblingMerge, OneKernelInTheVerySameStepsIsWhatItWasGiven) {
  const auto cause = [&](const std::vector<int64_t>& of_other) {
    candidates_.clear();
    for (const size_t r : {1U, 5U}) {
      Add(r, "slow-device", Ms(20));
      report::Finding& finding = candidates_.back().second.finding;
      finding.scope.function = "bmm_experts";
      finding.when = {report::WhenKind::kIntermittent, r == 1 ? std::vector<int64_t>{1, 3} : of_other};
    }
    MergeAlike(job_, &candidates_);
    EXPECT_EQ(candidates_.size(), 1U);
    return candidates_[0].second.finding.cause;
  };
  EXPECT_EQ(cause({1, 3}), "data-imbalance");
  EXPECT_EQ(cause({1, 4}), "slow-device");
}

TEST_F(SiblingMerge, TwoPartsOfOneRankAreNoTwoRanks) {
  for (int k = 0; k < 2; ++k) {
    Add(1, "slow-host-code", Ms(20));
    candidates_.back().second.finding.scope.function = "backward";
  }
  MergeAlike(job_, &candidates_);
  EXPECT_EQ(Ranks(), (Groups{{1}, {1}}));
}

// Where two functions share an excess the larger one is named first; where it holds enough of it, it stands alone. The
// kernels of a hot expert are as long as each other: which of them is the larger one is chance. One that shares only
// the smaller one is another matter.
TEST_F(SiblingMerge, APairOfFunctionsIsItsLargerOne) {
  Add(1, "slow-device", Ms(20));
  const auto pair = [&](size_t k, const std::string& first, const std::string& other) {
    candidates_[k].second.finding.scope.function = first + ", " + other;
    candidates_[k].second.other = other;
  };
  pair(0, "bmm_experts", "softmax");
  Add(5, "slow-device", Ms(20));
  candidates_[1].second.finding.scope.function = "bmm_experts";
  Add(3, "slow-device", Ms(20));
  pair(2, "step > softmax", "bmm_experts");
  Add(7, "slow-device", Ms(20));
  pair(3, "copy", "softmax");
  MergeAlike(job_, &candidates_);
  ASSERT_EQ(candidates_.size(), 2U);
  EXPECT_EQ(candidates_[0].second.finding.scope.ranks, (std::vector<RankId>{1, 3, 5}));
  EXPECT_EQ(candidates_[0].second.finding.cause, "data-imbalance");  // one kernel alone on three devices
  EXPECT_EQ(candidates_[1].second.finding.scope.ranks, (std::vector<RankId>{7}));
}

// Modules of the same name at other places of the program, kernels whose names hold commas.
TEST_F(SiblingMerge, NamesThatOnlyEndOrBeginAlikeAreOthers) {
  const std::vector<std::string> names = {"encoder > forward", "decoder > forward", "k<4, float>", "k<4, half>"};
  for (size_t k = 0; k < names.size(); ++k) {
    Add(2 * k, "slow-device", Ms(20));
    candidates_[k].second.finding.scope.function = names[k];
  }
  MergeAlike(job_, &candidates_);
  EXPECT_EQ(candidates_.size(), 4U);
}

// A fifth of the other's cost: the strong one has a reason of its own. Loaders of two ranks are two matters anyway.
TEST_F(SiblingMerge, UnlikeOnesStayApart) {
  Add(1, "hidden-sync", Ms(20));
  Add(5, "hidden-sync", Ms(4));
  Add(2, "slow-input", Ms(20));
  Add(6, "slow-input", Ms(20));
  MergeAlike(job_, &candidates_);
  EXPECT_EQ(candidates_.size(), 4U);
  candidates_[1].second.excess.assign(job_.num_steps(), Ms(6));
  MergeAlike(job_, &candidates_);
  EXPECT_EQ(candidates_.size(), 3U);
}

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

TEST_F(SiblingMerge, ASlowHostThatTwoClassesFound) {
  SetClasses({0, 1, 0, 1, 0, 1, 0, 1});
  AddHost({4, 6}, {"n1"}, Ms(20));
  AddHost({5, 7}, {"n1"}, Ms(30));
  Add(1, "slow-device", Ms(20));
  EXPECT_EQ(MergedHosts(), (Groups{{4, 5, 6, 7}, {1}}));
  const Candidate& joined = candidates_[0].second;
  EXPECT_EQ(joined.finding.cause, "slow-host");
  EXPECT_EQ(joined.finding.id, "slow-host-4");
  EXPECT_EQ(joined.finding.scope.hosts, (std::vector<std::string>{"n1"}));
  EXPECT_EQ(joined.excess, std::vector<Nanos>(6, Ms(30)));
  EXPECT_EQ(joined.edit.own.size(), 2U);
}

TEST_F(SiblingMerge, ThreeQuartersOfANamedHostAreIt) {
  SetClasses({0, 0, 1, 2, 0, 0, 1, 2});
  AddHost({4, 5}, {"n1"}, Ms(20));
  AddHost({6}, {"n1"}, Ms(20));
  EXPECT_EQ(MergedHosts(), (Groups{{4, 5, 6}}));
  candidates_.clear();
  AddHost({4, 5}, {"n1"}, Ms(20));
  EXPECT_EQ(MergedHosts(), (Groups{{4, 5}}));
}

TEST_F(SiblingMerge, SingleRanksOfAClassAreNoHost) {
  // All four of a class, one by one: had they been struck as one, their class would have joined them.
  for (const size_t r : {4U, 5U, 6U, 7U}) AddHost({static_cast<RankId>(r)}, {"n1"}, Ms(20));
  EXPECT_EQ(MergedHosts().size(), 4U);
}

TEST_F(SiblingMerge, OtherHostsAndOtherCausesAreNotThatHost) {
  AddHost({0, 1, 2, 3}, {"n0"}, Ms(20));
  AddHost({4, 5}, {"n1"}, Ms(20));
  AddHost({6, 7}, {"n1"}, Ms(20));
  candidates_.back().second.finding.cause = "slow-device";
  EXPECT_EQ(MergedHosts(), (Groups{{0, 1, 2, 3}, {4, 5}, {6, 7}}));
}

TEST_F(SiblingMerge, WhereNoFileNamesItsHostRanksInARowAreOne) {
  for (pattern::RankPattern& rank : job_.ranks) rank.comms.host_known = false;
  AddHost({6, 7}, {}, Ms(20));
  AddHost({4, 5}, {}, Ms(20));
  EXPECT_EQ(MergedHosts(), (Groups{{4, 5, 6, 7}}));
  candidates_.clear();
  AddHost({1, 2}, {}, Ms(20));
  AddHost({4, 5}, {}, Ms(20));
  EXPECT_EQ(MergedHosts(), (Groups{{1, 2}, {4, 5}}));
  // Half of a class, one by one: too many for a group of theirs to stand out.
  candidates_.clear();
  for (const RankId r : {4, 5, 6, 7}) AddHost({r}, {}, Ms(20));
  EXPECT_EQ(MergedHosts(), (Groups{{4, 5, 6, 7}}));
  candidates_.clear();
  for (const RankId r : {4, 5}) AddHost({r}, {}, Ms(20));
  EXPECT_EQ(MergedHosts(), (Groups{{4}, {5}}));  // two are soon in a row
}

TEST_F(SiblingMerge, LoadersOfRanksInARowShareAStorage) {
  const auto merged = [&](const std::vector<size_t>& ranks, bool known) {
    for (pattern::RankPattern& rank : job_.ranks) rank.comms.host_known = known;
    candidates_.clear();
    for (const size_t r : ranks) Add(r, "slow-input", Ms(20));
    return MergedHosts();
  };
  EXPECT_EQ(merged({0, 1, 2, 3}, false), (Groups{{0, 1, 2, 3}}));
  EXPECT_EQ(candidates_[0].second.finding.cause, "slow-input");
  EXPECT_EQ(merged({0, 1}, false), (Groups{{0}, {1}}));                  // two are soon in a row
  EXPECT_EQ(merged({0, 1, 2, 4}, false), (Groups{{0}, {1}, {2}, {4}}));  // no row
  EXPECT_EQ(merged({0, 1, 2, 3}, true), (Groups{{0}, {1}, {2}, {3}}));   // named hosts were told class by class
}

TEST_F(SiblingMerge, ARowOfRanksWhoseHostsAreNamedIsNoHost) {
  // Only some findings name a host; the files of ranks 4 to 7 do.
  AddHost({4, 5}, {}, Ms(20));
  AddHost({6, 7}, {}, Ms(20));
  EXPECT_EQ(MergedHosts(), (Groups{{4, 5}, {6, 7}}));
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
