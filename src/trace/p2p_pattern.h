// SPDX-License-Identifier: Apache-2.0
// A schedule repeats step by step: which send meets which receive, told by all steps together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "trace/comm_sequence.h"
#include "trace/p2p_cost.h"

namespace headway::trace {

// Rows of one step: [begin, end) of a sequence.
struct StepRows {
  int32_t begin = 0, end = 0;

  [[nodiscard]] int32_t size() const { return end - begin; }
};

// By step number (StepsOf).
[[nodiscard]] std::map<int64_t, StepRows> BySteps(const CommSequence& sequence);
[[nodiscard]] CommSequence Part(const CommSequence& sequence, const StepRows& rows);

// By row of `few` in a step: the row of `many`. Ascending.
using Pattern = std::vector<int32_t>;

// One pattern serves all steps: the one with the smallest sum over those added, which have as many rows each. A single
// step's times may mislead. All that is passed has to outlive it.
class PatternSearch {
 public:
  PatternSearch(const CommSequence& few, const CommSequence& many, const OffsetLine& offset, Anchor anchor,
                Nanos quickest)
      : few_(few), many_(many), offset_(offset), anchor_(anchor), quickest_(quickest) {}

  // No fewer rows of `many` than of `few`. O(few * (many - few + 1)).
  void Add(const StepRows& few, const StepRows& many);
  // Its sum. O(few * many), at least one step added.
  Nanos Best(Pattern* pattern) const;

  [[nodiscard]] Nanos CostOf(const CommInstance& mine, const CommInstance& theirs) const {
    return CostOfPair(*few_.rank, mine, theirs, offset_.At(mine.start), quickest_);
  }

 private:
  const CommSequence &few_, &many_;
  const OffsetLine& offset_;
  Anchor anchor_;
  Nanos quickest_;
  size_t n_ = 0, m_ = 0;
  std::vector<Nanos> cost_;  // by row of few and of many, summed over steps
};

}  // namespace headway::trace
