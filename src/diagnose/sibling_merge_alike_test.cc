// SPDX-License-Identifier: Apache-2.0
// When candidates are one matter wherever it strikes, and when several slow ranks are a slow host.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnose/made_candidates.h"
#include "diagnose/made_mesh.h"
#include "diagnose/sibling_merge.h"
#include "diagnose/uneven_work.h"

namespace headway::diagnose {
namespace {

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
  NameUnevenWork(job_, &candidates_);
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

}  // namespace
}  // namespace headway::diagnose
