// SPDX-License-Identifier: Apache-2.0
#include "base/median.h"

#include <gtest/gtest.h>

namespace headway {
namespace {

TEST(Median, OfAnEvenNumberTheLowerOrTheUpperOfTheMiddleTwo) {
  std::vector<int> even{4, 1, 3, 2};
  EXPECT_EQ(UpperMedian(even), 3);
  EXPECT_EQ(LowerMedian(&even), 2);
  std::vector<int> odd{3, 1, 2};
  EXPECT_EQ(UpperMedian(odd), 2);
  EXPECT_EQ(LowerMedian(&odd), 2);
}

TEST(Median, OfNothing) { EXPECT_EQ(UpperMedian(std::vector<double>{}), 0); }

}  // namespace
}  // namespace headway
