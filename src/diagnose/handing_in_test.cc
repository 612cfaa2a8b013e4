// SPDX-License-Identifier: Apache-2.0
// What a host takes to hand in collectives.
#include "diagnose/handing_in.h"

#include <gtest/gtest.h>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;
using trace::CommOp;

// Two ranks; two steps of 100 calls each: 50 us to hand in an all-reduce of 100 KB, which blocks for 200 us.
MadeMesh Calls(bool device = false) {
  MadeMesh mesh({.ranks = 2, .device = device});
  const int dp = mesh.Group("mesh_dp", {0, 1});
  for (int s = 0; s < 2; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int k = 0; k < 100; ++k) {
      for (int r = 0; r < 2; ++r) mesh.Work(r, WorkClass::kCompute, "c10d::allreduce_", Us(50));
      mesh.Meet(dp, CommOp::kAllReduce, 100'000, Us(200));
    }
  }
  return mesh;
}

TEST(HandingIn, IsTheFrameworksCallOfTheOperation) {
  const Job job = JoinJob(Calls().Make());
  EXPECT_EQ(HandingInOf(job, 0, CommOp::kAllReduce), Us(50));
  EXPECT_EQ(HandingInOf(job, 0, CommOp::kAllGather), 0);
  EXPECT_EQ(HandingInOf(job, 0, CommOp::kUnknown), 0);
  EXPECT_EQ(HandingInOf(JoinJob(Calls(true).Make()), 0, CommOp::kAllReduce), 0);
}

TEST(HandingIn, WhatTheCallCallsIsOfIt) {
  // Of each call 30 us are of one inside it.
  std::vector<pattern::RankPattern> ranks = Calls().Make();
  pattern::FunctionTable table = *ranks[0].function_table;
  int32_t call = 0;
  while (table[static_cast<size_t>(call)].name != "c10d::allreduce_") ++call;
  table.push_back({"record_param_comms", call, WorkClass::kCompute, ""});
  for (pattern::RankPattern& rank : ranks) {
    rank.function_table = std::make_shared<const pattern::FunctionTable>(table);
    rank.functions.push_back({.calls = 200, .total = 200 * Us(30)});
  }
  EXPECT_EQ(HandingInOf(JoinJob(std::move(ranks)), 0, CommOp::kAllReduce), Us(80));
}

TEST(HandingIn, NamesThatBeginAlikeAreOtherCalls) {
  // What is handed in by a call of that name: 50 us each.
  const auto each = [](const std::string& call, CommOp op) {
    std::vector<pattern::RankPattern> ranks = Calls().Make();
    pattern::FunctionTable table = *ranks[0].function_table;
    for (pattern::FunctionName& f : table) f.name = f.name == "c10d::allreduce_" ? call : f.name;
    for (pattern::RankPattern& rank : ranks)
      rank.function_table = std::make_shared<const pattern::FunctionTable>(table);
    return HandingInOf(JoinJob(std::move(ranks)), 0, op);
  };
  EXPECT_EQ(each("c10d::_allgather_base_", CommOp::kAllGather), Us(50));
  EXPECT_EQ(each("c10d::reduce_scatter_", CommOp::kReduceScatter), Us(50));
  EXPECT_EQ(each("c10d::reduce_", CommOp::kReduce), Us(50));
  EXPECT_EQ(each("c10d::reduce_scatter_", CommOp::kReduce), 0);
  EXPECT_EQ(each("c10d::allreduce_", CommOp::kReduce), 0);
  EXPECT_EQ(each("aten::allreduce_", CommOp::kAllReduce), 0);
}

TEST(HandingIn, IsTakenBeforeItsOwnArrival) {
  const Job job = JoinJob(Calls().Make());
  std::vector<double> fewer(job.graph.collectives.size(), 0);
  fewer[0] = 0.3;  // of 100 us; before it are 100 ms and 50 us
  fewer[1] = 0.8;  // before it are 50 us
  replay::SegmentEdit edit;
  RemoveBeforeArrivals(job, 1, fewer, Us(100), &edit);
  ASSERT_EQ(edit.own.size(), 2U);
  EXPECT_EQ(job.graph.marks[edit.own[0].mark].target, 0);
  EXPECT_EQ(edit.own[0].own, Ms(100) + Us(20));
  EXPECT_EQ(edit.own[1].own, 0);
}

TEST(HandingIn, SmallCollectivesCostItToo) {
  // 250 fit into a bucket of 25 MB: 1 - 1/250 of 100 calls go, with 200 us to transfer and 50 to hand in each.
  Look look(Calls().Make());
  const std::vector<Candidate> found = look.Run(RunCollectivesAnalysis).candidates;
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].finding.cause, "small-collectives");
  EXPECT_NEAR(static_cast<double>(found[0].excess[0]), 0.996 * 100 * 250e3, 1e3);
  Nanos taken = 0;
  for (const auto& own : found[0].edit.own) taken += look.job.graph.marks[own.mark].Own() - own.own;
  EXPECT_NEAR(static_cast<double>(taken), 2 * 2 * 0.996 * 100 * 50e3, 1e4);
}

}  // namespace
}  // namespace headway::diagnose
