// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_pattern.h"

#include <algorithm>

namespace headway::trace {

std::map<int64_t, StepRows> BySteps(const CommSequence& sequence) {
  std::map<int64_t, StepRows> out;
  const std::vector<int64_t> steps = StepsOf(sequence);
  for (int32_t i = 0; i < sequence.size(); ++i) {
    const auto [it, fresh] = out.try_emplace(steps[static_cast<size_t>(i)], StepRows{i, i});
    it->second.end = i + 1;
  }
  return out;
}

CommSequence Part(const CommSequence& sequence, const StepRows& rows) {
  return {sequence.rank, sequence.rank_index,
          sequence.rows.subspan(static_cast<size_t>(rows.begin), static_cast<size_t>(rows.size()))};
}

void PatternSearch::Add(const StepRows& few, const StepRows& many) {
  n_ = static_cast<size_t>(few.size());
  m_ = static_cast<size_t>(many.size());
  cost_.resize(n_ * m_, 0);
  const CommSequence x = Part(few_, few), y = Part(many_, many);
  const std::vector<bool> edge_of_few = Edges(x, anchor_), edge_of_many = Edges(y, anchor_);
  for (size_t i = 0; i < n_; ++i) {
    for (size_t j = i; j + n_ <= m_ + i; ++j) {
      const Nanos off = edge_of_few[i] != edge_of_many[j] ? kOffAnchor : 0;
      cost_[i * m_ + j] += off + CostOf(x[static_cast<int32_t>(i)], y[static_cast<int32_t>(j)]);
    }
  }
}

Nanos PatternSearch::Best(Pattern* pattern) const {
  constexpr Nanos kNever = INT64_MAX / 2;
  std::vector<Nanos> best((n_ + 1) * (m_ + 1), kNever);  // of the first i rows with some of the first j
  for (size_t j = 0; j <= m_; ++j) best[j] = 0;
  const auto at = [&](size_t i, size_t j) -> Nanos& { return best[i * (m_ + 1) + j]; };
  for (size_t i = 1; i <= n_; ++i) {
    for (size_t j = i; j <= m_; ++j) {
      const bool may = j + n_ <= m_ + i;
      const Nanos pair = may ? at(i - 1, j - 1) + cost_[(i - 1) * m_ + j - 1] : kNever;
      at(i, j) = std::min(at(i, j - 1), pair);
    }
  }
  pattern->assign(n_, 0);
  for (size_t i = n_, j = m_; i > 0; --j) {
    if (at(i, j) == at(i, j - 1)) continue;
    (*pattern)[--i] = static_cast<int32_t>(j - 1);
  }
  return at(n_, m_);
}

}  // namespace headway::trace
