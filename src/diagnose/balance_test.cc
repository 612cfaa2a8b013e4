// SPDX-License-Identifier: Apache-2.0
// What is left to ranks that have too much.
#include "diagnose/balance.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "diagnose/made_mesh.h"
#include "diagnose/own_edit.h"
#include "diagnose/price.h"

namespace headway::diagnose {
namespace {

// Four ranks of one program, 100 ms of kernels each and an all-reduce of 1 ms; ranks from `first` on have 20 ms more in
// each of six steps. What is to be won back per step.
Nanos Worth(const std::string& cause, size_t first) {
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) mesh.Compute(r, r >= static_cast<int>(first) ? Ms(120) : Ms(100));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  const Job job = JoinJob(mesh.Make());
  Candidate candidate;
  candidate.finding.cause = cause;
  candidate.excess.assign(job.num_steps(), Ms(20));
  for (size_t r = first; r < 4; ++r) {
    candidate.finding.scope.ranks.push_back(static_cast<RankId>(r));
    RemoveOwnTime(job, r, {0}, candidate.excess, &candidate.edit);
  }
  std::vector<Candidate> candidates{std::move(candidate)};
  LeaveEvenShares(job, &candidates);
  return PriceCandidates(job, std::move(candidates)).findings.at(0).recoverable_per_step;
}

TEST(LeaveEvenShares, TheOthersGetWhatIsTooMuch) {
  // 20 ms shared out among four are 5 ms for each: 15 to win. Two with 20 more each are 40, 10 for each: 10 to win.
  EXPECT_NEAR(static_cast<double>(Worth("data-imbalance", 3)), 15e6, 1e3);
  EXPECT_NEAR(static_cast<double>(Worth("data-imbalance", 2)), 10e6, 1e3);
}

TEST(LeaveEvenShares, WhatASlowRankTakesLongerNobodyGets) {
  EXPECT_NEAR(static_cast<double>(Worth("slow-device", 3)), 20e6, 1e3);
}

TEST(LeaveEvenShares, WhereAllHaveItNobodyIsLeftToGetIt) {
  EXPECT_NEAR(static_cast<double>(Worth("data-imbalance", 0)), 20e6, 1e3);
}

}  // namespace
}  // namespace headway::diagnose
