// SPDX-License-Identifier: Apache-2.0
// Test support: what a folded pattern holds. Times in microseconds.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "pattern/pattern.h"

namespace headway::pattern {

inline Nanos Us(int64_t us) { return us * kMicrosecond; }

inline Nanos ClassTime(const RankPattern& p, WorkClass c, size_t step = 0) {
  return p.steps.at(step).by_class[static_cast<size_t>(c)];
}

inline Nanos OwnOf(const RankPattern& p, const std::string& name) {
  Nanos sum = 0;
  for (const FunctionStep& row : p.function_steps) {
    if ((*p.function_table)[static_cast<size_t>(row.function)].name == name) sum += row.own;
  }
  return sum;
}

inline void ExpectClassesFillSteps(const RankPattern& p) {
  for (const Step& step : p.steps) {
    Nanos sum = 0;
    for (const Nanos t : step.by_class) sum += t;
    EXPECT_EQ(sum, step.end - step.start);
  }
}

}  // namespace headway::pattern
