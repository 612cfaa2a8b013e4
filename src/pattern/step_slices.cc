// SPDX-License-Identifier: Apache-2.0
#include "pattern/step_slices.h"

#include <algorithm>

namespace headway::pattern {

void SliceSums::Add(Nanos from, Nanos to, int share) {
  from = std::max(from, start_);
  to = std::min(to, end_);
  if (from >= to || share == 0) return;
  // Rounding may put an edge one slice on.
  const auto at = static_cast<size_t>(static_cast<double>(from - start_) / static_cast<double>(end_ - start_) *
                                      static_cast<double>(kStepSlices));
  for (size_t i = at > 0 ? at - 1 : 0; i < kStepSlices; ++i) {
    const Nanos begin = std::max(from, SliceBegin(start_, end_, i));
    if (begin >= to) return;
    sums_[i] += std::max<Nanos>(0, std::min(to, SliceBegin(start_, end_, i + 1)) - begin) * share;
  }
}

void SliceSums::AddSlices(Nanos start, Nanos end, const StepSlices& slices) {
  for (size_t i = 0; i < kStepSlices; ++i) {
    Add(SliceBegin(start, end, i), SliceBegin(start, end, i + 1), slices[i]);
  }
}

StepSlices SliceSums::Shares() const {
  StepSlices out{};
  for (size_t i = 0; i < kStepSlices; ++i) {
    const Nanos length = SliceBegin(start_, end_, i + 1) - SliceBegin(start_, end_, i);
    if (length <= 0) continue;
    out[i] = static_cast<uint8_t>(std::min<Nanos>(kWholeSlice, (sums_[i] + length / 2) / length));
  }
  return out;
}

}  // namespace headway::pattern
