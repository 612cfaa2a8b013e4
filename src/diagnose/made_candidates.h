// SPDX-License-Identifier: Apache-2.0
// Test support: candidates about single ranks of a job of eight, and what merging makes of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/made_mesh.h"
#include "diagnose/sibling_merge.h"

namespace headway::diagnose {

// Eight ranks on two hosts of four, tp in pairs, all in one group; `input(rank)` per step in the loader.
template <typename Input>
std::vector<pattern::RankPattern> TwoHosts(Input input) {
  MadeMesh mesh({.ranks = 8, .per_host = 4, .device = false});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      mesh.Work(r, pattern::WorkClass::kInput, "train.py(7): read_shard", input(r));
      mesh.Work(r, pattern::WorkClass::kCompute, "aten::mm", Ms(100));
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
  // The class of each rank.
  void SetClasses(const std::vector<int32_t>& of_rank) {
    job_.peer_class = of_rank;
    job_.classes.assign(static_cast<size_t>(*std::max_element(of_rank.begin(), of_rank.end())) + 1, {});
    for (size_t r = 0; r < of_rank.size(); ++r) {
      job_.classes[static_cast<size_t>(of_rank[r])].push_back(static_cast<int32_t>(r));
    }
  }
  // A slow host that one class of the job found: several ranks of it.
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

}  // namespace headway::diagnose
