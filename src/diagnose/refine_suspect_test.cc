// SPDX-License-Identifier: Apache-2.0
#include "diagnose/refine_suspect.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "diagnose/made_mesh.h"
#include "diagnose/peers.h"
#include "diagnose/step_selection.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Four ranks, twelve steps; rank 2 takes `longer(step, k)` more in operator k of three, each 30 ms, and in every third
// step 8 ms more in something else.
struct Refined {
  bool done = false, pair = false;
  std::vector<Nanos> cost;
};

Refined Refine(const std::function<Nanos(int step, int k)>& longer) {
  MadeMesh mesh({.ranks = 4, .device = false});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      for (int k = 0; k < 3; ++k) {
        mesh.Work(r, WorkClass::kCompute, "aten::op" + std::to_string(k), Ms(30) + (r == 2 ? longer(s, k) : 0));
      }
    }
    if (s % 3 == 0) mesh.Work(2, WorkClass::kHost, "train.py(3): log", Ms(8));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  const AnalysisInput in = look.In();
  std::vector<Suspect> found = FindSuspects(in);
  if (found.size() != 1) return {};
  const std::vector<size_t> peers = SamplePeers(look.job, 2, {});
  const Explanation why =
      Explain(look.job, in.view, {2, found[0].StruckSteps()}, SameSteps(peers, found[0].StruckSteps()));
  Refined out;
  out.pair = why.pair;
  out.done = RefineByFunction(in, why, peers, &found[0]);
  out.cost = found[0].cost;
  return out;
}

TEST(RefineSuspect, AFunctionThatHoldsItTellsTheSteps) {
  // 40 ms in every third step; of the 48 of those steps it holds five sixths, so the rest belongs to it, too.
  const Refined refined = Refine([](int s, int k) { return k == 1 && s % 3 == 0 ? Ms(40) : Nanos{0}; });
  EXPECT_TRUE(refined.done);
  EXPECT_FALSE(refined.pair);
  ASSERT_EQ(refined.cost.size(), 12U);
  for (size_t s = 0; s < 12; ++s) EXPECT_EQ(refined.cost[s], s % 3 == 0 ? Ms(48) : 0) << s;
}

TEST(RefineSuspect, WhereNoPeerHasTheStepNothingIsLonger) {
  // Four stages of two ranks; rank 2 takes 40 ms more in every third step, and the file of its peer, rank 3, breaks off
  // after step 9.
  MadeMesh mesh({.ranks = 8, .device = false});
  mesh.Groups("mesh_pp", {{0, 2, 4, 6}, {1, 3, 5, 7}});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) mesh.Work(r, WorkClass::kCompute, "aten::op", Ms(r == 2 && s % 3 == 0 ? 70 : 30));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  std::vector<pattern::RankPattern> ranks = mesh.Make();
  SelectSteps(0, 8, &ranks[3]);
  Look look(std::move(ranks));
  const AnalysisInput in = look.In();
  std::vector<Suspect> found = FindSuspects(in);
  ASSERT_EQ(found.size(), 1U);
  const std::vector<size_t> steps = found[0].StruckSteps(), peers = {3};
  const Explanation why = Explain(look.job, in.view, {2, steps}, SameSteps(peers, steps));
  ASSERT_TRUE(RefineByFunction(in, why, peers, &found[0]));
  ASSERT_EQ(found[0].cost.size(), 12U);
  for (size_t s = 0; s < 12; ++s) EXPECT_EQ(found[0].cost[s], s % 3 == 0 && s < 9 ? Ms(40) : 0) << s;
}

TEST(Explain, AReferenceCountsByTheStepsItHas) {
  // Of twelve steps with 30 ms of an operator the second rank's file has six: 180 ms are those of six.
  MadeMesh mesh({.ranks = 8, .device = false});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) mesh.Work(r, WorkClass::kCompute, "aten::op", Ms(r == 0 ? 40 : 30));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  std::vector<pattern::RankPattern> ranks = mesh.Make();
  SelectSteps(0, 5, &ranks[1]);
  Look look(std::move(ranks));
  std::vector<size_t> steps;
  for (size_t s = 0; s < look.job.num_steps(); ++s) steps.push_back(s);
  ASSERT_EQ(steps.size(), 12U);
  const std::vector<size_t> peers = {1};
  const AnalysisInput in = look.In();
  EXPECT_EQ(Explain(look.job, in.view, {0, steps}, SameSteps(peers, steps)).total, 12 * Ms(10));
}

TEST(RefineSuspect, TwoThatShareItInEachStepTellThemTogether) {
  // 40 ms in each of two operators, an expert's there and back: of 88 they hold ten elevenths and price it.
  const Refined refined = Refine([](int s, int k) { return k < 2 && s % 3 == 0 ? Ms(40) : Nanos{0}; });
  EXPECT_TRUE(refined.pair);
  EXPECT_TRUE(refined.done);
  ASSERT_EQ(refined.cost.size(), 12U);
  for (size_t s = 0; s < 12; ++s) EXPECT_EQ(refined.cost[s], s % 3 == 0 ? Ms(80) : 0) << s;
}

TEST(RefineSuspect, NowTheOneAndNowTheOtherIsNoPair) {
  // In turn one of three: two of them hold most of it, but not in each step.
  const Refined refined = Refine([](int s, int k) { return s % 3 == 0 && k == s / 3 % 3 ? Ms(80) : Nanos{0}; });
  EXPECT_FALSE(refined.done);
}

}  // namespace
}  // namespace headway::diagnose
