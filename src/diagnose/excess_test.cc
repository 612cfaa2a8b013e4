// SPDX-License-Identifier: Apache-2.0
#include "diagnose/excess.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

enum class Struck { kEverySecond, kSecondHalf };

// Ranks whose steps of 100 ms vary by 0, 1, 2 and 3 ms in turn; rank 1 takes 40 ms more in the struck ones.
Nanos NoiseOf(int ranks, int steps, Struck struck = Struck::kEverySecond) {
  MadeMesh mesh({.ranks = ranks});
  MadeMesh::Members all;
  for (int r = 0; r < ranks; ++r) all.push_back(r);
  const int world = mesh.Group("mesh_dp", all);
  for (int s = 0; s < steps; ++s) {
    mesh.Step();
    const bool is_struck = struck == Struck::kEverySecond ? s % 2 == 0 : s * 2 >= steps;
    for (int r = 0; r < ranks; ++r) mesh.Compute(r, Ms(100 + (s + r) % 4) + (r == 1 && is_struck ? Ms(40) : 0));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return ComputeExcess(JoinJob(mesh.Make())).step_noise[0];
}

TEST(Excess, OfFewRanksTheQuietestTellsHowMuchTheyVary) {
  // Rank 0 deviates by 0.5 to 1.5 ms from its middle: 1.4826 of about 1, and twice that at most. By both it were ten
  // times as much: rank 1 deviates by 20 ms.
  for (const int ranks : {2, 3}) EXPECT_LE(NoiseOf(ranks, 16), Us(3000)) << ranks;
  // Of under twelve steps the least of two deviations may be small by chance.
  EXPECT_GE(NoiseOf(2, 10), Ms(5));
  EXPECT_LE(NoiseOf(2, 12), Us(3000));
  // Of eight ranks most are quiet as it is.
  EXPECT_LE(NoiseOf(8, 10), Us(3000));
}

TEST(Excess, WhatChangesOnceIsNoNoise) {
  // From one step to the next rank 1 falls back by nothing or by 4 ms, half of the time each, and once by 40 ms: the
  // middle change is none. So it is the least there may be, 1.4 times 1.4826 times 1 ms, and not twice as it would be
  // if each second step were struck.
  EXPECT_LE(NoiseOf(2, 16, Struck::kSecondHalf), Us(2100));
  EXPECT_GE(NoiseOf(2, 16, Struck::kSecondHalf), Us(2000));
  EXPECT_GT(NoiseOf(2, 16, Struck::kEverySecond), Us(2900));
}

}  // namespace
}  // namespace headway::diagnose
