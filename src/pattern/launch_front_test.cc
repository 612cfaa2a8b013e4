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

TEST(LaunchFront, AStepMayBeginWithACollective) {
  // Launched at 0 and 100; the collective of the second begins at 120 and waits for others, its compute kernel ends at
  // 900. A collective alone, launched at 200, begins work at 230, and leaves none that is done.
  LaunchFront front;
  front.OnLaunch(1000, 0);
  front.OnKernel(1000, 50, 60);
  front.OnLaunch(1016, 100);
  front.OnCommKernel(1016, 120);
  front.OnKernel(1016, 800, 900);
  front.OnLaunch(1032, 200);
  front.OnCommKernel(1032, 230);
  front.Settle();
  EXPECT_EQ(front.FirstLaunchedFrom(50), 120);
  EXPECT_EQ(front.FirstLaunchedFrom(150), 230);
  EXPECT_EQ(front.DoneWithLaunchesBefore(10'000), 900);
}

TEST(LaunchFront, CallsWithoutKernelsSayNothing) {
  LaunchFront front;
  front.OnLaunch(16, 10);
  front.OnKernel(64, 20, 30);  // its launch is not in the file
  front.Settle();
  EXPECT_EQ(front.DoneWithLaunchesBefore(100), INT64_MIN);
  EXPECT_EQ(front.FirstLaunchedFrom(0), INT64_MAX);
}

TEST(LaunchFront, DeviceWorkByWhenItWasLaunched) {
  // Launched at 10: 100..300. Launched at 20: 50..200. Without a launch: 0..40 and 0..90.
  LaunchFront front;
  front.OnLaunch(16, 10);
  front.OnDeviceWork(16, 100, 300);
  front.OnLaunch(32, 20);
  front.OnDeviceWork(32, 50, 200);
  front.OnDeviceWork(48, 0, 40);
  front.OnDeviceWork(64, 0, 90);
  front.Settle();
  EXPECT_EQ(front.LaunchedIn(10, 21).first_start, 50);
  EXPECT_EQ(front.LaunchedIn(10, 21).last_end, 300);
  EXPECT_EQ(front.LaunchedIn(11, 21).last_end, 200);
  EXPECT_TRUE(front.LaunchedIn(21, 100).none());
  EXPECT_EQ(front.EarlierWorkDone(15, 400), 300);
  EXPECT_EQ(front.EarlierWorkDone(15, 100), 90);  // what ends later runs beside
  EXPECT_EQ(front.EarlierWorkDone(0, 50), 40);
  EXPECT_EQ(front.EarlierWorkDone(0, 30), INT64_MIN);
}

}  // namespace
}  // namespace headway::pattern
