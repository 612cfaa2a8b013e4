// SPDX-License-Identifier: Apache-2.0
// What functions took, of steps asked for together or one by one.
#include "diagnose/function_view.h"

#include <gtest/gtest.h>

#include <array>

#include "diagnose/made_job.h"

namespace headway::diagnose {
namespace {

// One rank takes 1 ms in its first step, 2 in the next and so on; in every odd one 10 ms more for input.
Job Growing(int steps) {
  MadeJob made;
  made.ranks = 1;
  made.steps = steps;
  made.own = [](int, int step) { return (step + 1) * kMillisecond; };
  made.extra = [](int, int step) { return step % 2 * 10 * kMillisecond; };
  return JoinJob(Make(made));
}

TEST(FunctionView, OnlyTheStepsAskedForAndEachOnce) {
  const Job job = Growing(6);
  FunctionView view(job);
  const std::array<size_t, 4> steps = {5, 1, 2, 5};
  const std::vector<FunctionView::Cell> sums = view.Sum(0, steps);
  ASSERT_EQ(sums.size(), 3U);
  EXPECT_EQ(sums[0].own, (6 + 2 + 3) * kMillisecond);
  EXPECT_EQ(sums[0].calls, 3);
  EXPECT_EQ(sums[1].own, 2 * 10 * kMillisecond);
  EXPECT_EQ(sums[1].calls, 2);
  for (const FunctionView::Cell& cell : view.Sum(0, {})) EXPECT_EQ(cell.calls, 0);
}

TEST(FunctionView, EachOfManyStepsByItself) {
  constexpr size_t kSteps = 1000;
  const Job job = Growing(static_cast<int>(kSteps));
  FunctionView view(job);
  Nanos sum = 0;
  for (size_t s = 0; s < kSteps; ++s) {
    const std::array<size_t, 1> step = {s};
    sum += view.Sum(0, step)[0].own;
  }
  EXPECT_EQ(sum, static_cast<Nanos>(kSteps * (kSteps + 1) / 2) * kMillisecond);
}

}  // namespace
}  // namespace headway::diagnose
