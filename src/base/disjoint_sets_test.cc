// SPDX-License-Identifier: Apache-2.0
#include "base/disjoint_sets.h"

#include <gtest/gtest.h>

namespace headway {
namespace {

TEST(DisjointSets, TheLowestStandsForTheSet) {
  DisjointSets sets(6);
  EXPECT_EQ(sets.Find(5), 5U);
  sets.Unite(5, 3);
  sets.Unite(4, 5);
  sets.Unite(1, 4);
  EXPECT_EQ(sets.Find(5), 1U);
  EXPECT_EQ(sets.Find(3), 1U);
  EXPECT_EQ(sets.Find(0), 0U);
  EXPECT_EQ(sets.Find(2), 2U);
  sets.Unite(1, 3);  // tied already
  EXPECT_EQ(sets.Find(4), 1U);
}

}  // namespace
}  // namespace headway
