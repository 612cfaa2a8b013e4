// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_keeps_up.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Four ranks with devices. Rank 0's device waits 60 ms for what its host does in "forward"; its peers' devices wait for
// rank 0, so that what their hosts do is summed up: `hidden`, over the window.
bool KeepsUp(const std::array<Nanos, 3>& hidden, const std::string& leaf = "forward") {
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  mesh.Step();
  for (int r = 0; r < 4; ++r) {
    mesh.Compute(r, Ms(100));
    if (r == 0) {
      mesh.Work(r, WorkClass::kHost, "aten::add", Ms(60), 100);
    } else {
      mesh.Work(r, WorkClass::kHost, "(other)", hidden[static_cast<size_t>(r - 1)], 100);
    }
  }
  mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  const Job job = JoinJob(mesh.Make());
  Explanation why;
  why.node = 0;
  why.leaf = leaf;  // groups calls: no function of either has its name
  why.node_excess = Ms(60);
  JobCallTimes calls_of(job);
  return CompareHostCalls(job, 0, {1, 2, 3}, why, &calls_of).keeps_up;
}

TEST(CompareHostCalls, AHostThatDoesNoMoreThanItsPeersKeepsUpWhateverShowsOfIt) {
  EXPECT_TRUE(KeepsUp({Ms(60), Ms(60), Ms(60)}));
  EXPECT_TRUE(KeepsUp({Ms(31), Ms(31), Ms(31)}));   // 29 of 60 ms more than they: less than half
  EXPECT_FALSE(KeepsUp({Ms(29), Ms(29), Ms(29)}));  // 31
  EXPECT_FALSE(KeepsUp({Ms(91), Ms(91), Ms(91)}));  // 31 less: what it does in these steps may be more
}

TEST(CompareHostCalls, OfWhatIsBetweenFunctionsNothingIsKnown) {
  EXPECT_FALSE(KeepsUp({Ms(60), Ms(60), Ms(60)}, "(nothing recorded)"));
}

TEST(CompareHostCalls, PeersThatDifferTellNothing) {
  EXPECT_TRUE(KeepsUp({Ms(46), Ms(60), Ms(74)}));   // by 14 ms in the middle, a quarter of 60 is 15
  EXPECT_FALSE(KeepsUp({Ms(44), Ms(60), Ms(76)}));  // by 16
}

}  // namespace
}  // namespace headway::diagnose
