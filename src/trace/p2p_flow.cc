// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_flow.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace headway::trace {
namespace {

constexpr Nanos kFarthest = kSecond;  // distances above count as this
constexpr Nanos kSkip = 2 * kSecond;  // what it costs to leave a row of the smaller side alone
constexpr Nanos kImpossible = 4 * kSecond;
constexpr Nanos kSlack = 20 * kMicrosecond;
constexpr Nanos kOffAnchor = 20 * kMillisecond;  // what it costs to pair a row of a step's edge with one inside
constexpr int kPasses = 4;
constexpr Nanos kOfEnds = 2;       // ns between ends that count as one
constexpr Nanos kOfApart = 4;      // what each ns costs that two such rows lie apart
constexpr Nanos kOfFarApart = 20;  // and each beyond that

FlowPairs ByTime(const CommSequence& a, const CommSequence& b, Nanos offset) {
  FlowPairs pairs;
  const std::vector<int32_t> at = MergeByTime(a, b, offset);
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i] >= 0) pairs.emplace_back(at[i], static_cast<int32_t>(i));
  }
  return pairs;
}

Nanos Distance(const CommInstance& a, const CommInstance& b, Nanos offset) {
  const Nanos b_start = b.start - offset, b_end = b.end - offset;
  const bool a_first = a.op == CommOp::kSend && a.start > b_end + kSlack;
  const bool b_first = b.op == CommOp::kSend && b_start > a.end + kSlack;
  if (a_first || b_first) return kImpossible;
  return std::min(std::abs(a.end - b_end), kFarthest);
}

// How long both rows last; negative = how far they lie apart.
Nanos Beside(const CommInstance& a, const CommInstance& b, Nanos offset) {
  return std::min(a.end, b.end - offset) - std::max(a.start, b.start - offset);
}

// Of two rows of a host backend. They last beside each other while the data are on their way, so no shorter than
// `quickest`; the later of the two hardly longer, if it was waited for.
Nanos HostDistance(const CommInstance& a, const CommInstance& b, Nanos offset, Nanos quickest) {
  const Nanos beside = Beside(a, b, offset);
  // Where both waited they also end together.
  const Nanos ends = std::min(std::abs(a.end - (b.end - offset)), kRecordedLate) / kOfEnds;
  if (beside >= quickest - quickest / 4) return std::min(beside + ends, kFarthest);
  const Nanos missing = std::min(quickest - beside, kImpossible);
  const Nanos far = std::max<Nanos>(0, missing - quickest - kRecordedLate);
  return std::min(kImpossible, kRecordedLate + ends + kOfApart * missing + kOfFarApart * far);
}

// Of any two rows.
Nanos CostOfPair(const RankComms& rank, const CommInstance& mine, const CommInstance& theirs, Nanos shift,
                 Nanos quickest) {
  if (!Agree(mine, theirs)) return kImpossible;
  return IsHostMessage(rank, mine) ? HostDistance(mine, theirs, shift, quickest) : Distance(mine, theirs, shift);
}

// How long three in four pairs of messages at least last beside each other.
Nanos QuickestOf(const CommSequence& few, const CommSequence& many, const OffsetLine& offset, const FlowPairs& pairs) {
  std::vector<Nanos> beside;
  for (const auto& [i, j] : pairs) {
    if (IsHostMessage(*few.rank, few[i])) beside.push_back(Beside(few[i], many[j], offset.At(few[i].start)));
  }
  if (beside.empty()) return 0;
  const auto at = beside.begin() + static_cast<std::ptrdiff_t>(beside.size() / 4);
  std::nth_element(beside.begin(), at, beside.end());
  return std::max<Nanos>(0, *at);
}

// By row: whether it is the first (or the last) of its step.
std::vector<bool> Edges(const CommSequence& sequence, Anchor anchor) {
  std::vector<bool> out(static_cast<size_t>(sequence.size()), false);
  if (anchor == Anchor::kNone) return out;
  const int32_t beside = anchor == Anchor::kFirst ? -1 : 1;
  for (int32_t i = 0; i < sequence.size(); ++i) {
    const int32_t other = i + beside;
    const bool has_other = other >= 0 && other < sequence.size();
    out[static_cast<size_t>(i)] = !has_other || sequence.StepNumber(other) != sequence.StepNumber(i);
  }
  return out;
}

// The ascending choice of least cost. `pairs` may be null.
Nanos ChooseFreely(const CommSequence& few, const CommSequence& many, const OffsetLine& offset, Anchor anchor,
                   Nanos quickest, FlowPairs* pairs) {
  const std::vector<bool> edge = Edges(few, anchor), edge_of_many = Edges(many, anchor);
  const auto n = static_cast<size_t>(few.size()), m = static_cast<size_t>(many.size());
  enum Step : uint8_t { kSkipMany, kSkipFew, kPair };
  std::vector<Nanos> cost(m + 1, 0), before(m + 1, 0);
  std::vector<uint8_t> step(pairs != nullptr ? (n + 1) * (m + 1) : 0, kSkipMany);
  for (size_t i = 1; i <= n; ++i) {
    std::swap(cost, before);
    cost[0] = before[0] + kSkip;
    if (pairs != nullptr) step[i * (m + 1)] = kSkipFew;
    const auto row = static_cast<int32_t>(i) - 1;
    const CommInstance& mine = few[row];
    const Nanos shift = offset.At(mine.start);
    for (size_t j = 1; j <= m; ++j) {
      const CommInstance& theirs = many[static_cast<int32_t>(j) - 1];
      Nanos distance = CostOfPair(*few.rank, mine, theirs, shift, quickest);
      if (edge[i - 1] != edge_of_many[j - 1]) distance = std::min(kImpossible, distance + kOffAnchor);
      Nanos best = before[j - 1] + distance;
      Step how = kPair;
      if (cost[j - 1] < best) {
        best = cost[j - 1];
        how = kSkipMany;
      }
      if (before[j] + kSkip < best) {
        best = before[j] + kSkip;
        how = kSkipFew;
      }
      cost[j] = best;
      if (pairs != nullptr) step[i * (m + 1) + j] = how;
    }
  }
  for (size_t i = n, j = m; pairs != nullptr && i > 0;) {
    const uint8_t how = step[i * (m + 1) + j];
    if (how == kPair) pairs->emplace_back(static_cast<int32_t>(i) - 1, static_cast<int32_t>(j) - 1);
    if (how != kSkipMany) --i;
    if (how != kSkipFew) --j;
  }
  if (pairs != nullptr) std::reverse(pairs->begin(), pairs->end());
  return n > 0 ? cost[m] : 0;
}

// Rows of one step: [begin, end) of a sequence.
struct StepRows {
  int32_t begin = 0, end = 0;

  [[nodiscard]] int32_t size() const { return end - begin; }
};

std::map<int64_t, StepRows> BySteps(const CommSequence& sequence) {
  std::map<int64_t, StepRows> out;
  for (int32_t i = 0; i < sequence.size(); ++i) {
    const auto [it, fresh] = out.try_emplace(sequence.StepNumber(i), StepRows{i, i});
    it->second.end = i + 1;
  }
  return out;
}

CommSequence Part(const CommSequence& sequence, const StepRows& rows) {
  return {sequence.rank, sequence.rank_index,
          sequence.rows.subspan(static_cast<size_t>(rows.begin), static_cast<size_t>(rows.size()))};
}

using Pattern = std::vector<int32_t>;  // by row of `few` in a step: the row of `many`

// A schedule repeats step by step, so one pattern serves all steps: the one with the smallest sum over `steps`, which
// have as many rows each. A single step's times may mislead.
class PatternSearch {
 public:
  PatternSearch(const CommSequence& few, const CommSequence& many, const OffsetLine& offset, Anchor anchor,
                Nanos quickest)
      : few_(few), many_(many), offset_(offset), anchor_(anchor), quickest_(quickest) {}

  void Add(const StepRows& few, const StepRows& many) {
    n_ = static_cast<size_t>(few.size());
    m_ = static_cast<size_t>(many.size());
    cost_.resize(n_ * m_, 0);
    const CommSequence x = Part(few_, few), y = Part(many_, many);
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = i; j + n_ <= m_ + i; ++j) {
        const bool off = (anchor_ == Anchor::kFirst && (i == 0) != (j == 0)) ||
                         (anchor_ == Anchor::kLast && (i + 1 == n_) != (j + 1 == m_));
        cost_[i * m_ + j] += (off ? kOffAnchor : 0) + CostOf(x[static_cast<int32_t>(i)], y[static_cast<int32_t>(j)]);
      }
    }
  }

  [[nodiscard]] Nanos CostOf(const CommInstance& mine, const CommInstance& theirs) const {
    return CostOfPair(*few_.rank, mine, theirs, offset_.At(mine.start), quickest_);
  }

  Nanos Best(Pattern* pattern) const {
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

 private:
  const CommSequence &few_, &many_;
  const OffsetLine& offset_;
  Anchor anchor_;
  Nanos quickest_;
  size_t n_ = 0, m_ = 0;
  std::vector<Nanos> cost_;  // by row of few and of many, summed over steps
};

// Whether each step of `few` can be held against the same step of `many`.
bool IsRegular(const CommSequence& few, const CommSequence& many) {
  const std::map<int64_t, StepRows> of_many = BySteps(many);
  const std::map<int64_t, StepRows> of_few = BySteps(few);
  return std::all_of(of_few.begin(), of_few.end(), [&](const auto& step) {
    const auto it = of_many.find(step.first);
    return step.first >= 0 && it != of_many.end() && it->second.size() >= step.second.size();
  });
}

// The ascending choice of least cost, by one pattern for all steps of the usual size. `pairs` may be null.
Nanos Choose(const CommSequence& few, const CommSequence& many, const OffsetLine& offset, Anchor anchor, Nanos quickest,
             FlowPairs* pairs) {
  constexpr size_t kLeastSteps = 3;
  if (!IsRegular(few, many)) return ChooseFreely(few, many, offset, anchor, quickest, pairs);
  const std::map<int64_t, StepRows> of_many = BySteps(many);
  std::map<std::pair<int32_t, int32_t>, std::vector<std::pair<StepRows, StepRows>>> by_size;
  for (const auto& [step, rows] : BySteps(few)) {
    by_size[{rows.size(), of_many.at(step).size()}].emplace_back(rows, of_many.at(step));
  }
  Nanos cost = 0;
  for (const auto& [size, steps] : by_size) {
    if (steps.size() < kLeastSteps) {
      for (const auto& [mine, theirs] : steps) {
        FlowPairs here;
        cost += ChooseFreely(Part(few, mine), Part(many, theirs), offset, anchor, quickest,
                             pairs != nullptr ? &here : nullptr);
        for (const auto& [i, j] : here) pairs->emplace_back(mine.begin + i, theirs.begin + j);
      }
      continue;
    }
    PatternSearch search(few, many, offset, anchor, quickest);
    for (const auto& [mine, theirs] : steps) search.Add(mine, theirs);
    Pattern pattern;
    cost += search.Best(&pattern);
    if (pairs == nullptr) continue;
    for (const auto& [mine, theirs] : steps) {
      for (size_t i = 0; i < pattern.size(); ++i) {
        const int32_t a = mine.begin + static_cast<int32_t>(i), b = theirs.begin + pattern[i];
        if (search.CostOf(few[a], many[b]) < kImpossible) pairs->emplace_back(a, b);
      }
    }
  }
  if (pairs != nullptr) std::sort(pairs->begin(), pairs->end());
  return cost;
}

}  // namespace

FlowPairs PairFlow(const CommSequence& sends, const CommSequence& receives, std::optional<Nanos> offset) {
  if (sends.size() == 0 || receives.size() == 0) return {};
  ShiftFit fit = BestShift(sends, receives, offset);
  const bool equal = sends.size() == receives.size();
  if (equal && fit.shift != 0 && fit.cost > JudgeShift(sends, receives, 0, offset).cost - 0.3) {
    fit = JudgeShift(sends, receives, 0, offset);
  }
  if (fit.mismatch > 0.05 || fit.step_mismatch > 0.3) return ByTime(sends, receives, offset.value_or(fit.centre));
  FlowPairs pairs;
  for (int32_t i = std::max(0, -fit.shift); i < receives.size() && i + fit.shift < sends.size(); ++i) {
    if (Agree(sends[i + fit.shift], receives[i])) pairs.emplace_back(i + fit.shift, i);
  }
  return pairs;
}

Anchors AnchorsOf(const CommSequence& sends, const CommSequence& receives) {
  const std::map<int64_t, StepRows> of_sends = BySteps(sends), of_receives = BySteps(receives);
  int64_t begin_with_send = 0, steps = 0;
  for (const auto& [step, rows] : of_sends) {
    const auto it = of_receives.find(step);
    if (step < 0 || it == of_receives.end()) continue;  // rows outside steps are left from the one before
    begin_with_send += sends[rows.begin].start < receives[it->second.begin].start ? 1 : 0;
    ++steps;
  }
  if (steps == 0) return {};
  if (begin_with_send * 10 >= steps * 9) return {Anchor::kFirst, Anchor::kLast};
  if (begin_with_send * 10 <= steps) return {Anchor::kLast, Anchor::kFirst};
  return {};  // a schedule that does not empty itself between steps
}

Nanos CostOfPairing(const CommSequence& few, const CommSequence& many, const OffsetLine& offset, Anchor anchor) {
  return Choose(few, many, offset, anchor, 0, nullptr);
}

FlowPairs PairWithSome(const CommSequence& few, const CommSequence& many, const OffsetLine& offset, Anchor anchor) {
  if (!IsRegular(few, many) && static_cast<int64_t>(few.size()) * many.size() > kMostCells) {
    return ByTime(few, many, offset.At(few[0].start));
  }
  FlowPairs pairs;
  Choose(few, many, offset, anchor, 0, &pairs);
  // Rows that touch by chance are beside each other for less than a transfer takes.
  for (Nanos quickest = 0, pass = 0; pass < kPasses; ++pass) {
    const Nanos next = QuickestOf(few, many, offset, pairs);
    if (next <= quickest) break;
    quickest = next;
    pairs.clear();
    Choose(few, many, offset, anchor, quickest, &pairs);
  }
  return pairs;
}

}  // namespace headway::trace
