// SPDX-License-Identifier: Apache-2.0
// Calls of one rank held against the same calls of others.
#include "diagnose/call_times.h"

#include <gtest/gtest.h>

namespace headway::diagnose {
namespace {

TEST(CompareCalls, OfOneFunctionOnlyTheSumHasARatio) {
  const CallRatio sum = CompareCalls({{"(other)", 400}, {"mine", 7}}, {{"(other)", 100}, {"theirs", 9}});
  EXPECT_EQ(sum.functions, 1U);
  EXPECT_DOUBLE_EQ(sum.ratio, 4);
  EXPECT_TRUE(sum.alike);
  const CallRatio one = CompareCalls({{"fetch", 400}, {"mine", 7}}, {{"fetch", 100}, {"theirs", 9}});
  EXPECT_EQ(one.functions, 1U);
  EXPECT_EQ(one.ratio, 0);
  EXPECT_FALSE(one.alike);
}

TEST(CompareCalls, WithNothingInCommonThereIsNoRatio) {
  const CallRatio none = CompareCalls({{"(other)", 400}}, {{"fetch", 100}});
  EXPECT_EQ(none.functions, 0U);
  EXPECT_EQ(none.ratio, 0);
  EXPECT_FALSE(none.alike);
}

TEST(CompareCalls, TheSumHasToBeLongerToo) {
  // Three functions take twice the time, half of which is 1.5 times it: the sum takes 1.6 times, or 1.4.
  const auto alike = [](double sum) {
    return CompareCalls({{"a", 20}, {"b", 20}, {"c", 20}, {"(other)", sum}},
                        {{"a", 10}, {"b", 10}, {"c", 10}, {"(other)", 10}})
        .alike;
  };
  EXPECT_TRUE(alike(16));
  EXPECT_FALSE(alike(14));
}

}  // namespace
}  // namespace headway::diagnose
