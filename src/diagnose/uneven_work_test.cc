// SPDX-License-Identifier: Apache-2.0
// When one kernel or operator is longer by what it is given.
#include "diagnose/uneven_work.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnose/made_candidates.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Without devices an operator is what a kernel is; code of the program's own may be slow on any rank.
TEST_F(SiblingMerge, OneOperatorOfManyRanksIsWhatTheyWereGiven) {
  const auto cause = [&](const std::string& function, const std::vector<size_t>& ranks) {
    candidates_.clear();
    for (const size_t r : ranks) {
      Add(r, "slow-host-code", Ms(20));
      candidates_.back().second.finding.scope.function = function;
    }
    MergeAlike(job_, &candidates_);
    NameUnevenWork(job_, &candidates_);
    EXPECT_EQ(candidates_.size(), 1U);
    return candidates_[0].second.finding.cause;
  };
  EXPECT_EQ(cause("BmmBackward0 > aten::bmm", {1, 3, 5}), "data-imbalance");
  EXPECT_EQ(cause("BmmBackward0 > aten::bmm", {1, 5}), "slow-host-code");
  EXPECT_EQ(cause("train.py(90): log_metrics", {1, 3, 5}), "slow-host-code");
}

// Four ranks that exchange with `op` in pairs; rank 1 takes longer in `function`.
report::Finding OfOneRank(trace::CommOp op, const std::string& cause, const std::string& function) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> pairs = mesh.Groups("mesh_ep", {{0, 1}, {2, 3}});
  for (int s = 0; s < 3; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (const int g : pairs) mesh.Meet(g, op, 1000, Ms(1));
  }
  const Job job = JoinJob(mesh.Make());
  RankCandidates candidates(1);
  candidates[0].first = 1;
  report::Finding& finding = candidates[0].second.finding;
  finding.cause = cause;
  finding.scope.ranks = {1};
  finding.scope.function = function;
  finding.sentence = "It is longer.";
  NameUnevenWork(job, &candidates);
  return finding;
}

TEST(UnevenWork, AnExpertGetsMoreTokens) {
  using trace::CommOp;
  const report::Finding finding = OfOneRank(CommOp::kAllToAll, "slow-device", "bmm_experts");
  EXPECT_EQ(finding.cause, "data-imbalance");
  EXPECT_EQ(finding.sentence,
            "It is longer. In a program that exchanges tokens one kernel alone: by what it was given rather than by "
            "itself.");
  EXPECT_EQ(OfOneRank(CommOp::kAllToAll, "slow-host-code", "experts > aten::bmm").cause, "data-imbalance");
  EXPECT_EQ(OfOneRank(CommOp::kAllToAll, "slow-host-code", "step > ExpertBackward").cause, "data-imbalance");
  EXPECT_EQ(OfOneRank(CommOp::kAllToAll, "slow-host-code", "train.py(9): log").cause, "slow-host-code");
  EXPECT_EQ(OfOneRank(CommOp::kAllToAll, "slow-device", "").cause, "slow-device");  // all kernels: the device
  EXPECT_EQ(OfOneRank(CommOp::kAllReduce, "slow-device", "bmm_experts").cause, "slow-device");
}

}  // namespace
}  // namespace headway::diagnose
