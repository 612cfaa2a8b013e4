// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_flow.h"

#include <algorithm>
#include <cstdlib>

namespace headway::trace {
namespace {

constexpr Nanos kFarthest = kSecond;  // distances above count as this
constexpr Nanos kSkip = 2 * kSecond;  // what it costs to leave a row of the smaller side alone
constexpr Nanos kImpossible = 4 * kSecond;
constexpr Nanos kSlack = 20 * kMicrosecond;
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

// The ascending choice of least cost. `pairs` may be null.
Nanos Choose(const CommSequence& few, const CommSequence& many, const OffsetLine& offset, Nanos quickest,
             FlowPairs* pairs) {
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
    const bool on_host = IsHostMessage(*few.rank, mine);
    for (size_t j = 1; j <= m; ++j) {
      const CommInstance& theirs = many[static_cast<int32_t>(j) - 1];
      const Nanos distance = !Agree(mine, theirs) ? kImpossible
                             : on_host            ? HostDistance(mine, theirs, shift, quickest)
                                                  : Distance(mine, theirs, shift);
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

Nanos CostOfPairing(const CommSequence& few, const CommSequence& many, const OffsetLine& offset) {
  return Choose(few, many, offset, 0, nullptr);
}

FlowPairs PairWithSome(const CommSequence& few, const CommSequence& many, const OffsetLine& offset) {
  if (static_cast<int64_t>(few.size()) * many.size() > kMostCells) return ByTime(few, many, offset.At(few[0].start));
  FlowPairs pairs;
  Choose(few, many, offset, 0, &pairs);
  // Rows that touch by chance are beside each other for less than a transfer takes.
  for (Nanos quickest = 0, pass = 0; pass < kPasses; ++pass) {
    const Nanos next = QuickestOf(few, many, offset, pairs);
    if (next <= quickest) break;
    quickest = next;
    pairs.clear();
    Choose(few, many, offset, quickest, &pairs);
  }
  return pairs;
}

}  // namespace headway::trace
