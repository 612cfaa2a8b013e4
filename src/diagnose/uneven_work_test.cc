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
  const auto cause = [&](const std::string& function, const std::vector<RankId>& ranks,
                         const std::vector<std::string>& hosts) {
    candidates_.clear();
    Add(static_cast<size_t>(ranks.front()), "slow-host-code", Ms(20));
    report::Finding& finding = candidates_[0].second.finding;
    finding.scope.ranks = ranks;
    finding.scope.hosts = hosts;
    finding.scope.function = function;
    NameUnevenWork(job_, &candidates_);
    return finding.cause;
  };
  EXPECT_EQ(cause("BmmBackward0 > aten::bmm", {1, 3, 5}, {"a", "b"}), "data-imbalance");
  EXPECT_EQ(cause("SumBackward1", {1, 3, 5}, {"a", "b"}), "data-imbalance");
  EXPECT_EQ(cause("BmmBackward0 > aten::bmm", {1, 5}, {"a", "b"}), "slow-host-code");
  EXPECT_EQ(cause("train.py(90): log_metrics", {1, 3, 5}, {"a", "b"}), "slow-host-code");
  EXPECT_EQ(cause("BmmBackward0 > aten::bmm", {1, 2, 3}, {"a"}), "slow-host-code");  // it may be the host
  EXPECT_EQ(cause("BmmBackward0 > aten::bmm", {1, 2, 3}, {}), "slow-host-code");
}

// Four ranks that exchange with `op` in pairs; rank 1 takes longer in `function`.
report::Finding OfOneRank(trace::CommOp op, const std::string& cause, const std::string& function,
                          bool only_here = false, bool device_beside = false) {
  MadeMesh mesh({.ranks = 4, .device = cause == "slow-device" || device_beside});
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
  finding.id = cause + "-1-part-2";
  candidates[0].second.only_here = only_here;
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
  EXPECT_EQ(finding.id, "data-imbalance-1-part-2");
  EXPECT_EQ(finding.sentence,
            "It is longer. In a program that exchanges tokens one kernel alone: by what it was given rather than by "
            "itself.");
  EXPECT_EQ(OfOneRank(CommOp::kAllToAll, "slow-host-code", "experts > aten::bmm").cause, "data-imbalance");
  EXPECT_EQ(OfOneRank(CommOp::kAllToAll, "slow-host-code", "step > ExpertBackward").cause, "data-imbalance");
  EXPECT_EQ(OfOneRank(CommOp::kAllToAll, "slow-host-code", "train.py(9): log").cause, "slow-host-code");
  const auto of_host = [](const std::string& function, bool only_here, bool device) {
    return OfOneRank(CommOp::kAllToAll, "slow-host-code", function, only_here, device).cause;
  };
  EXPECT_EQ(of_host("aten::bmm", true, false), "data-imbalance");  // an expert may get all tokens
  EXPECT_EQ(of_host("debug > aten::isfinite", true, false), "slow-host-code");
  EXPECT_EQ(of_host("aten::copy_", false, true), "slow-host-code");                 // how long a launch takes
  EXPECT_EQ(OfOneRank(CommOp::kAllToAll, "slow-device", "").cause, "slow-device");  // all kernels: the device
  EXPECT_EQ(OfOneRank(CommOp::kAllReduce, "slow-device", "bmm_experts").cause, "slow-device");
}

}  // namespace
}  // namespace headway::diagnose
