// SPDX-License-Identifier: Apache-2.0
// The numbers of steps, read off the names of their marks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headway::pattern {

// Beyond this a number is no count of steps, and readers of JSON (the page among them) would round it.
inline constexpr int64_t kLargestStepNumber = (int64_t{1} << 53) - 1;

struct StepNumbers {
  static constexpr int64_t kLeftOut = -1;
  std::vector<int64_t> of_mark;             // parallel to the names
  std::vector<bool> written;                // the same: whether the name has it
  int64_t guessed = 0;                      // steps numbered after their neighbours
  int64_t left_out = 0;                     // steps for which their neighbours' numbers leave no room
  std::string guessed_name, left_out_name;  // the first of each
};

// `names` in the order of time: "ProfilerStep#12" is 12; equal names in a row are one step. A name without a number
// from 0 to kLargestStepNumber takes the one that follows from the marks around it (from 0 on where there are none).
[[nodiscard]] StepNumbers NumberSteps(const std::vector<std::string_view>& names);

}  // namespace headway::pattern
