// SPDX-License-Identifier: Apache-2.0
#include "pattern/launch_front.h"

#include <gtest/gtest.h>

namespace headway::pattern {
namespace {

// Launches at 0, 100, 200 (ids far enough apart to lie in buckets of their own), each kernel 250 later for 50.
LaunchFront ThreeKernels() {
  LaunchFront front;
  for (uint32_t i = 0; i < 3; ++i) {
    front.OnLaunch(1000 + 16 * i, 100 * i);
    front.OnKernel(1000 + 16 * i, 100 * i + 250, 100 * i + 300);
  }
  front.Settle();
  return front;
}

TEST(LaunchFront, DoneWithWhatWasLaunchedBefore) {
  const LaunchFront front = ThreeKernels();
  EXPECT_EQ(front.DoneWithLaunchesBefore(0), INT64_MIN);
  EXPECT_EQ(front.DoneWithLaunchesBefore(1), 300);
  EXPECT_EQ(front.DoneWithLaunchesBefore(150), 400);
  EXPECT_EQ(front.DoneWithLaunchesBefore(10'000), 500);
}

TEST(LaunchFront, FirstKernelLaunchedFrom) {
  const LaunchFront front = ThreeKernels();
  EXPECT_EQ(front.FirstLaunchedFrom(0), 250);
  EXPECT_EQ(front.FirstLaunchedFrom(50), 350);
  EXPECT_EQ(front.FirstLaunchedFrom(201), INT64_MAX);
}

TEST(LaunchFront, CallsWithoutKernelsSayNothing) {
  LaunchFront front;
  front.OnLaunch(16, 10);
  front.OnKernel(64, 20, 30);  // its launch is not in the file
  front.Settle();
  EXPECT_EQ(front.DoneWithLaunchesBefore(100), INT64_MIN);
  EXPECT_EQ(front.FirstLaunchedFrom(0), INT64_MAX);
}

}  // namespace
}  // namespace headway::pattern
