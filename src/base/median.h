// SPDX-License-Identifier: Apache-2.0
// The middle of some values: one that is there, so of an even number the lower or the upper of the middle two. O(n).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headway {

// Reorders `values`, which must not be empty.
template <typename T>
[[nodiscard]] T LowerMedian(std::vector<T>* values) {
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>((values->size() - 1) / 2);
  std::nth_element(values->begin(), middle, values->end());
  return *middle;
}

// 0 of none.
template <typename T>
[[nodiscard]] T UpperMedian(std::vector<T> values) {
  if (values.empty()) return T{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace headway
