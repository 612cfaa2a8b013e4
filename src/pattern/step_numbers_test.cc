// SPDX-License-Identifier: Apache-2.0
#include "pattern/step_numbers.h"

#include <gtest/gtest.h>

namespace headway::pattern {
namespace {

using Numbers = std::vector<int64_t>;

TEST(StepNumbers, AreReadOffTheNames) {
  const StepNumbers read = NumberSteps({"ProfilerStep#7", "ProfilerStep#7", "ProfilerStep#8"});
  EXPECT_EQ(read.of_mark, (Numbers{7, 7, 8}));
  EXPECT_EQ(read.guessed + read.left_out, 0);
}

// 2^63 does not fit 64 bits, 2^53 is rounded by every reader of JSON, and steps are not negative: none of these is a
// number, so they count on from what is known.
TEST(StepNumbers, ThatAreNoneFollowTheirNeighbours) {
  const StepNumbers read = NumberSteps({"ProfilerStep#7", "ProfilerStep#9223372036854775808", "ProfilerStep#-3",
                                        "ProfilerStep#9007199254740992", "ProfilerStep#11"});
  EXPECT_EQ(read.of_mark, (Numbers{7, 8, 9, 10, 11}));
  EXPECT_EQ(read.guessed, 3);
  EXPECT_EQ(read.guessed_name, "ProfilerStep#9223372036854775808");
}

TEST(StepNumbers, BeforeTheFirstKnownOneCountBack) {
  EXPECT_EQ(NumberSteps({"ProfilerStep#", "ProfilerStep#x", "ProfilerStep#11"}).of_mark, (Numbers{9, 10, 11}));
  EXPECT_EQ(NumberSteps({"ProfilerStep#", "ProfilerStep#0"}).of_mark, (Numbers{StepNumbers::kLeftOut, 0}));
}

// Without any number they are told apart by their names: the same name on two threads is one step.
TEST(StepNumbers, WithoutAnyCountFromZero) {
  const StepNumbers read = NumberSteps(
      {"ProfilerStep#99999999999999999998", "ProfilerStep#99999999999999999998", "ProfilerStep#99999999999999999999"});
  EXPECT_EQ(read.of_mark, (Numbers{0, 0, 1}));
  EXPECT_EQ(read.guessed, 2);
}

// Between 7 and 8 is no number left.
TEST(StepNumbers, WithoutRoomAreLeftOut) {
  const StepNumbers read = NumberSteps({"ProfilerStep#7", "ProfilerStep#99999999999999999999", "ProfilerStep#8"});
  EXPECT_EQ(read.of_mark, (Numbers{7, StepNumbers::kLeftOut, 8}));
  EXPECT_EQ(read.left_out, 1);
  EXPECT_EQ(read.left_out_name, "ProfilerStep#99999999999999999999");
}

TEST(StepNumbers, TheLargestHasNoneAfterIt) {
  const StepNumbers read = NumberSteps({"ProfilerStep#9007199254740991", "ProfilerStep#9007199254740992"});
  EXPECT_EQ(read.of_mark, (Numbers{kLargestStepNumber, StepNumbers::kLeftOut}));
}

}  // namespace
}  // namespace headway::pattern
