// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_functions.h"

#include <gtest/gtest.h>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

struct Host {
  Nanos input = Ms(2), rest = Ms(10);
  int calls = 1000;
};

// Four ranks with devices; rank 0's host fetches input and makes small calls as given, the others' as by default.
HostProportion Compare(const Host& host) {
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 3; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      const Host mine = r == 0 ? host : Host();
      mesh.Compute(r, Ms(100));
      mesh.Work(r, WorkClass::kInput, "fetch", mine.input);
      mesh.Work(r, WorkClass::kHost, "(other)", mine.rest, mine.calls);
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  const Job job = JoinJob(mesh.Make());
  return CompareHosts(job, 0, {1, 2, 3});
}

TEST(HostFunctions, WhatTheDeviceHidesStandsForTheManyCallsItIsMadeOf) {
  const HostProportion slow = Compare({.input = Ms(4), .rest = Ms(20)});
  EXPECT_DOUBLE_EQ(slow.ratio, 2);  // 24 ms against 12
  EXPECT_TRUE(slow.is_throughout);
}

TEST(HostFunctions, AsLongAsItMakesAsManyOfThem) {
  EXPECT_TRUE(Compare({.input = Ms(4), .rest = Ms(20), .calls = 1050}).is_throughout);
  EXPECT_FALSE(Compare({.input = Ms(4), .rest = Ms(20), .calls = 1060}).is_throughout);
}

TEST(HostFunctions, SlowInputAloneIsNoSlowHost) {
  // 24 ms of 12 more in all: alike means longer by half, and only 2 of the peers' 12 ms are.
  EXPECT_FALSE(Compare({.input = Ms(14)}).is_throughout);
}

}  // namespace
}  // namespace headway::diagnose
