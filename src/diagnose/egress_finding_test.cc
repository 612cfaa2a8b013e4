// SPDX-License-Identifier: Apache-2.0
// What taking a slow way out away does to the transfers that pass it.
#include "diagnose/egress_finding.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Two pairs. Of the second one the one member has its data 10 ms after both have come, the other, which comes 30 ms
// later than it, after 30; the first pair takes `usual`.
std::vector<replay::SegmentEdit::Transfer> Edits(Nanos usual) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) mesh.Compute(r, r == 3 ? Ms(80) : Ms(50));
    mesh.Meet(tp[0], trace::CommOp::kAllReduce, 1'000'000, usual);
    mesh.Meet(tp[1], trace::CommOp::kAllReduce, 1'000'000, {Ms(10), Ms(30)});
  }
  const Job job = JoinJob(mesh.Make());
  const std::vector<Channel> channels = CollectChannels(job);
  const std::vector<Egress> egress =
      Localise(job, channels, FindSlowChannels(job, channels, Against::kSiblings), Against::kSiblings);
  EXPECT_EQ(egress.size(), 1U);
  if (egress.size() != 1) return {};
  return MakeSlowEgress(job, channels, egress[0], Against::kSiblings).edit.transfers;
}

TEST(SlowEgress, NoMemberWaitsLongerThanItsLikes) {
  // The first end stays where it is, the second one comes when those of the first pair do: 6 of its 20 ms are left, or
  // none. Where these take 5 both ends are earlier.
  for (const auto& edit : Edits(Ms(16))) {
    EXPECT_EQ(edit.transfer, Ms(10));
    EXPECT_DOUBLE_EQ(edit.lags, 0.3);
  }
  for (const auto& edit : Edits(Ms(5))) {
    EXPECT_EQ(edit.transfer, Ms(5));
    EXPECT_DOUBLE_EQ(edit.lags, 0);
  }
  EXPECT_EQ(Edits(Ms(16)).size(), 6U);
}

}  // namespace
}  // namespace headway::diagnose
