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

FlowPairs ByTime(const CommSequence& a, const CommSequence& b, Nanos offset) {
  FlowPairs pairs;
  const std::vector<int32_t> at = MergeByTime(a, b, offset);
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i] >= 0) pairs.emplace_back(at[i], static_cast<int32_t>(i));
  }
  return pairs;
}

Nanos Distance(const CommInstance& a, const CommInstance& b, Nanos offset) {
  if (!Agree(a, b)) return kImpossible;
  const bool a_first = a.op == CommOp::kSend && a.start > b.end - offset + kSlack;
  const bool b_first = b.op == CommOp::kSend && b.start - offset > a.end + kSlack;
  if (a_first || b_first) return kImpossible;
  return std::min(std::abs(a.end - (b.end - offset)), kFarthest);
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

FlowPairs PairWithSome(const CommSequence& few, const CommSequence& many, Nanos offset) {
  const auto n = static_cast<size_t>(few.size()), m = static_cast<size_t>(many.size());
  if (static_cast<int64_t>(n) * static_cast<int64_t>(m) > kMostCells) return ByTime(few, many, offset);
  enum Step : uint8_t { kSkipMany, kSkipFew, kPair };
  std::vector<Nanos> cost(m + 1, 0), before(m + 1, 0);
  std::vector<uint8_t> step((n + 1) * (m + 1), kSkipMany);
  for (size_t i = 1; i <= n; ++i) {
    std::swap(cost, before);
    cost[0] = before[0] + kSkip;
    step[i * (m + 1)] = kSkipFew;
    for (size_t j = 1; j <= m; ++j) {
      const Nanos pair =
          before[j - 1] + Distance(few[static_cast<int32_t>(i) - 1], many[static_cast<int32_t>(j) - 1], offset);
      Nanos best = pair;
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
      step[i * (m + 1) + j] = how;
    }
  }
  FlowPairs pairs;
  for (size_t i = n, j = m; i > 0;) {
    const uint8_t how = step[i * (m + 1) + j];
    if (how == kPair) pairs.emplace_back(static_cast<int32_t>(i) - 1, static_cast<int32_t>(j) - 1);
    if (how != kSkipMany) --i;
    if (how != kSkipFew) --j;
  }
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace headway::trace
