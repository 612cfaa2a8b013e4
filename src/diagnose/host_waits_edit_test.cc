// SPDX-License-Identifier: Apache-2.0
// Which pieces of a rank's own time give what its device waits for its host.
#include "diagnose/host_waits_edit.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Two ranks, two steps of 160 ms: 40 ms of own time, an all-reduce of 10, 70 of own time, an all-reduce of 40. Slices
// are 10 ms.
Job TwoPieces(const pattern::StepSlices& behind_host) {
  MadeMesh mesh({.ranks = 2});
  const int world = mesh.Group("default_pg", {0, 1});
  for (int s = 0; s < 2; ++s) {  // a second step, as the last one is cut at its last arrival
    mesh.Step();
    mesh.ComputeAll(Ms(40));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(10));
    mesh.ComputeAll(Ms(70));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(40));
    for (int r = 0; r < 2; ++r) mesh.StepOf(r).behind_host = behind_host;
  }
  return JoinJob(mesh.Make());
}

// What the two pieces of the first step give of `amount`.
std::pair<Nanos, Nanos> Given(const pattern::StepSlices& behind_host, Nanos amount) {
  const Job job = TwoPieces(behind_host);
  replay::SegmentEdit edit;
  const std::vector<Nanos> untold = RemoveWaitsForHost(job, 0, {amount, 0}, &edit);
  const bool is_told = behind_host != pattern::StepSlices{};
  EXPECT_EQ(untold, (std::vector<Nanos>{is_told ? 0 : amount, 0}));
  std::pair<Nanos, Nanos> out{0, 0};
  for (const auto& given : edit.own) {
    const graph::Mark& mark = job.graph.marks[given.mark];
    (mark.Own() == Ms(40) ? out.first : out.second) += mark.Own() - given.own;
  }
  return out;
}

TEST(RemoveWaitsForHost, EachSliceGivesInProportionToItsWaits) {
  // Slice 1 is in the first piece; slice 7 in the second, which lasts from 50 to 120 ms.
  pattern::StepSlices slices{};
  slices[1] = 100;
  slices[7] = 50;
  EXPECT_EQ(Given(slices, Ms(3)), std::make_pair(Ms(2), Ms(1)));
}

TEST(RemoveWaitsForHost, NoSliceGivesMoreThanItHas) {
  // 20 and 10 of 30 ms: slice 1 has 10.
  pattern::StepSlices slices{};
  slices[1] = 100;
  slices[7] = 50;
  EXPECT_EQ(Given(slices, Ms(30)), std::make_pair(Ms(10), Ms(10)));
  // Slice 4 is in the all-reduce.
  slices[1] = 0;
  slices[4] = 50;
  EXPECT_EQ(Given(slices, Ms(10)), std::make_pair(Nanos{0}, Ms(5)));
}

TEST(RemoveWaitsForHost, WhereNothingIsToldNothingGives) {
  EXPECT_EQ(Given({}, Ms(11)), std::make_pair(Nanos{0}, Nanos{0}));
}

TEST(RemoveWaitsForHost, OfAnotherHostsClock) {
  // The same on a rank whose host's clock is 1 s ahead: slices are of the rank's own step.
  MadeMesh mesh({.ranks = 2, .per_host = 1});
  const int world = mesh.Group("default_pg", {0, 1});
  for (int s = 0; s < 2; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(40));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(10));
    mesh.ComputeAll(Ms(70));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(40));
    mesh.StepOf(1).behind_host[1] = 255;
  }
  std::vector<pattern::RankPattern> ranks = mesh.Make();
  for (pattern::Step& step : ranks[1].steps) {
    step.start += kSecond;
    step.end += kSecond;
    step.marked_end += kSecond;
  }
  ranks[1].window_start += kSecond;
  ranks[1].window_end += kSecond;
  for (Nanos& start : ranks[1].comms.step_starts) start += kSecond;
  for (trace::CommInstance& row : ranks[1].comms.instances) {
    row.start += kSecond;
    row.end += kSecond;
    row.exposed_begin += kSecond;
    row.exposed_end += kSecond;
  }
  const Job job = JoinJob(std::move(ranks));
  replay::SegmentEdit edit;
  EXPECT_EQ(RemoveWaitsForHost(job, 1, {Ms(5), 0}, &edit), (std::vector<Nanos>{0, 0}));
  ASSERT_EQ(edit.own.size(), 1U);
  EXPECT_EQ(job.graph.marks[edit.own[0].mark].Own(), Ms(40));
  EXPECT_EQ(edit.own[0].own, Ms(35));
}

}  // namespace
}  // namespace headway::diagnose
