// SPDX-License-Identifier: Apache-2.0
// Where in a step something goes on: the share of each sixteenth of it. Fine enough to tell which of a rank's pieces of
// own time it lies in, and a byte each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace headway::pattern {

inline constexpr size_t kStepSlices = 16;
inline constexpr int kWholeSlice = 255;

// By slice: its share, in 255ths.
using StepSlices = std::array<uint8_t, kStepSlices>;

// Where slice `i` of [start, end) begins, i <= kStepSlices.
[[nodiscard]] constexpr Nanos SliceBegin(Nanos start, Nanos end, size_t i) {
  return start + (end - start) / static_cast<Nanos>(kStepSlices) * static_cast<Nanos>(i) +
         (end - start) % static_cast<Nanos>(kStepSlices) * static_cast<Nanos>(i) / static_cast<Nanos>(kStepSlices);
}

// Adds up what lies in the slices of one step.
class SliceSums {
 public:
  SliceSums() = default;
  SliceSums(Nanos start, Nanos end) : start_(start), end_(end) {}

  // Of [from, to) so many 255ths; what lies outside the step does not count.
  void Add(Nanos from, Nanos to, int share = kWholeSlice);
  // A step that was sliced itself.
  void AddSlices(Nanos start, Nanos end, const StepSlices& slices);
  [[nodiscard]] StepSlices Shares() const;

 private:
  Nanos start_ = 0;
  Nanos end_ = 0;
  std::array<Nanos, kStepSlices> sums_{};  // in 255ths
};

}  // namespace headway::pattern
