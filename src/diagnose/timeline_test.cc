// SPDX-License-Identifier: Apache-2.0
#include "diagnose/timeline.h"

#include <gtest/gtest.h>

#include <variant>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Of the link 9 -> 1 only the receiver has a trace.
TEST(Timeline, AnEndOfALinkThatHasNoTraceIsLeftOut) {
  MadeMesh mesh({.ranks = 2});
  const int world = mesh.Group("default_pg", {0, 1});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(10));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(2));
  }
  const Diagnosis d = Diagnose(mesh.Make());
  report::Finding finding;
  finding.scope.ranks = {1, 9};
  finding.victims = {8};
  finding.cost_by_step = {0, Ms(1), 0, 0};
  const report::Section section = TimelineOf(d, finding, "around");
  const auto* picture = std::get_if<report::Timeline>(&section.body);
  ASSERT_NE(picture, nullptr);
  // Two lanes a rank: the culprit and its peer.
  ASSERT_EQ(picture->lanes.size(), 4U);
  EXPECT_EQ(picture->lanes[0].rank, 1);
  EXPECT_EQ(picture->lanes[0].mark, report::Mark::kCulprit);
  EXPECT_EQ(picture->lanes[2].rank, 0);
}

}  // namespace
}  // namespace headway::diagnose
