// SPDX-License-Identifier: Apache-2.0
// Where in a step something goes on.
#include "pattern/step_slices.h"

#include <gtest/gtest.h>

#include <numeric>

namespace headway::pattern {
namespace {

TEST(StepSlices, EachSliceHasItsShare) {
  // A step from 1000 to 2600: slices of 100. 1150 to 1310 is half of slice 1, slice 2 and a tenth of slice 3.
  SliceSums sums(1000, 2600);
  sums.Add(1150, 1310);
  const StepSlices shares = sums.Shares();
  EXPECT_EQ(shares[0], 0);
  EXPECT_EQ(shares[1], 128);  // 127.5, rounded
  EXPECT_EQ(shares[2], 255);
  EXPECT_EQ(shares[3], 26);  // 25.5
  EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0), 128 + 255 + 26);
}

TEST(StepSlices, WhatIsOutsideDoesNotCount) {
  SliceSums sums(0, 160);
  sums.Add(-50, 5);
  sums.Add(155, 1000);
  const StepSlices shares = sums.Shares();
  EXPECT_EQ(shares.front(), 128);
  EXPECT_EQ(shares.back(), 128);
  EXPECT_EQ(SliceSums(5, 5).Shares(), StepSlices{});
}

TEST(StepSlices, StepsShorterThanTheirSlices) {
  SliceSums sums(0, 3);
  sums.Add(0, 3);
  const StepSlices shares = sums.Shares();
  int full = 0;
  for (const uint8_t share : shares) full += share == 255 ? 1 : 0;
  EXPECT_EQ(full, 3);
}

TEST(StepSlices, JoinedStepsAreSlicedAnew) {
  // 0 to 160 stood still in its second half, 160 to 320 in its first quarter: of 0 to 320 slices 4 to 7 and 8, 9.
  SliceSums first(0, 160), second(160, 320), both(0, 320);
  first.Add(80, 160);
  second.Add(160, 200);
  both.AddSlices(0, 160, first.Shares());
  both.AddSlices(160, 320, second.Shares());
  const StepSlices shares = both.Shares();
  for (size_t i = 0; i < kStepSlices; ++i) EXPECT_EQ(shares[i], i >= 4 && i < 10 ? 255 : 0) << i;
}

}  // namespace
}  // namespace headway::pattern
