// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_flow.h"

#include <algorithm>
#include <functional>
#include <map>

#include "trace/clock_fit.h"
#include "trace/p2p_pattern.h"

namespace headway::trace {
namespace {

constexpr Nanos kSkip = 2 * kSecond;  // what it costs to leave a row of the smaller side alone
constexpr int kPasses = 4;

FlowPairs ByTime(const CommSequence& a, const CommSequence& b, Nanos offset) {
  FlowPairs pairs;
  const std::vector<int32_t> at = MergeByTime(a, b, offset);
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i] >= 0) pairs.emplace_back(at[i], static_cast<int32_t>(i));
  }
  return pairs;
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

using StepPairs = std::vector<std::pair<StepRows, StepRows>>;

// Each step of `few` with the same of `many`; nothing where one cannot be held against it.
std::optional<StepPairs> StepsTogether(const CommSequence& few, const CommSequence& many) {
  const std::map<int64_t, StepRows> of_many = BySteps(many);
  StepPairs out;
  for (const auto& [step, rows] : BySteps(few)) {
    const auto it = of_many.find(step);
    if (step < 0 || it == of_many.end() || it->second.size() < rows.size()) return std::nullopt;
    out.emplace_back(rows, it->second);
  }
  return out;
}

// Some of the rows of `many` belong to those of `few`.
struct Choice {
  const CommSequence &few, &many;
  const OffsetLine& offset;
  Anchor anchor;
  std::optional<StepPairs> steps = StepsTogether(few, many);

  // The ascending one of least cost, by one pattern for all steps of the usual size. `pairs` may be null.
  Nanos Make(Nanos quickest, FlowPairs* pairs) const;
};

Nanos Choice::Make(Nanos quickest, FlowPairs* pairs) const {
  constexpr size_t kLeastSteps = 3;
  if (!steps) return ChooseFreely(few, many, offset, anchor, quickest, pairs);
  std::map<std::pair<int32_t, int32_t>, StepPairs> by_size;
  for (const auto& [mine, theirs] : *steps) by_size[{mine.size(), theirs.size()}].emplace_back(mine, theirs);
  Nanos cost = 0;
  for (const auto& [size, alike] : by_size) {
    if (alike.size() < kLeastSteps) {
      for (const auto& [mine, theirs] : alike) {
        FlowPairs here;
        cost += ChooseFreely(Part(few, mine), Part(many, theirs), offset, anchor, quickest,
                             pairs != nullptr ? &here : nullptr);
        for (const auto& [i, j] : here) pairs->emplace_back(mine.begin + i, theirs.begin + j);
      }
      continue;
    }
    PatternSearch search(few, many, offset, anchor, quickest);
    for (const auto& [mine, theirs] : alike) search.Add(mine, theirs);
    Pattern pattern;
    cost += search.Best(&pattern);
    if (pairs == nullptr) continue;
    for (const auto& [mine, theirs] : alike) {
      for (size_t i = 0; i < pattern.size(); ++i) {
        const int32_t a = mine.begin + static_cast<int32_t>(i), b = theirs.begin + pattern[i];
        if (search.CostOf(few[a], many[b]) < kImpossible) pairs->emplace_back(a, b);
      }
    }
  }
  if (pairs != nullptr) std::sort(pairs->begin(), pairs->end());
  return cost;
}

// How long the rows of each message last beside each other at the least, under `offset` or, where that is not known, if
// the clocks are set as suits them best. The data come no sooner than the send begins, and gloo sends none before the
// other side receives: negative = these are no messages, but for what clocks drift apart and rows are recorded late. Of
// one in twenty no more is asked.
Nanos RoomAt(const CommSequence& sends, const CommSequence& receives, int32_t shift, std::optional<Nanos> offset) {
  std::vector<Nanos> at_most, at_least;  // receiver's clock - sender's
  for (int32_t i = std::max(0, -shift); i < receives.size() && i + shift < sends.size(); ++i) {
    at_most.push_back(receives[i].end - sends[i + shift].start);
    at_least.push_back(receives[i].start - sends[i + shift].end);
  }
  if (at_most.empty()) return 0;
  const size_t few = at_most.size() / 20;
  std::ranges::nth_element(at_most, at_most.begin() + static_cast<std::ptrdiff_t>(few));
  std::ranges::nth_element(at_least, at_least.begin() + static_cast<std::ptrdiff_t>(few), std::greater<>());
  if (offset) return std::min(at_most[few] - *offset, *offset - at_least[few]);
  return at_most[few] - at_least[few];
}

// The shift that `fit` has or, of a host's messages, if their rows cannot be beside each other then, the nearest one at
// which half of them or more can: ends agree with nothing that only say when somebody waited. A clock at odds with all
// of these is left aside; that of `fit` where there is none.
int32_t ShiftOfMessages(const CommSequence& sends, const CommSequence& receives, const ShiftFit& fit,
                        std::optional<Nanos> offset) {
  constexpr int32_t kNear = 3;
  if (!IsHostMessage(*sends.rank, sends[0])) return fit.shift;
  const Nanos window = receives[receives.size() - 1].end - receives[0].start;
  const Nanos least = -2 * kRecordedLate - static_cast<Nanos>(kFastestDrift * static_cast<double>(window));
  const auto covers_half = [&](int32_t shift) {
    const int32_t overlap = std::min(receives.size(), sends.size() - shift) - std::max(0, -shift);
    return 2 * overlap >= std::min(receives.size(), sends.size());
  };
  std::vector<std::optional<Nanos>> clocks{std::nullopt};
  if (offset) clocks.insert(clocks.begin(), offset);
  const int32_t inwards = fit.shift > 0 ? -1 : 1;  // windows seldom begin far apart
  for (const auto& clock : clocks) {
    if (RoomAt(sends, receives, fit.shift, clock) >= least) return fit.shift;
    for (int32_t near = 1; near <= kNear; ++near) {
      for (const int32_t shift : {fit.shift + inwards * near, fit.shift - inwards * near}) {
        if (covers_half(shift) && RoomAt(sends, receives, shift, clock) >= least) return shift;
      }
    }
  }
  return fit.shift;
}

}  // namespace

FlowPairs PairFlow(const CommSequence& sends, const CommSequence& receives, std::optional<Nanos> offset) {
  if (sends.size() == 0 || receives.size() == 0) return {};
  ShiftFit fit = BestShift(sends, receives, offset);
  const bool equal = sends.size() == receives.size();
  if (equal && fit.shift != 0 && fit.cost > JudgeShift(sends, receives, 0, offset).cost - 0.3) {
    fit = JudgeShift(sends, receives, 0, offset);
  }
  if (const int32_t shift = ShiftOfMessages(sends, receives, fit, offset); shift != fit.shift) {
    fit = JudgeShift(sends, receives, shift, offset);
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
  return Choice{few, many, offset, anchor}.Make(0, nullptr);
}

FlowPairs PairWithSome(const CommSequence& few, const CommSequence& many, const OffsetLine& offset, Anchor anchor) {
  const Choice choice{few, many, offset, anchor};
  if (!choice.steps && static_cast<int64_t>(few.size()) * many.size() > kMostCells) {
    return ByTime(few, many, offset.At(few[0].start));
  }
  FlowPairs pairs;
  choice.Make(0, &pairs);
  // Rows that touch by chance are beside each other for less than a transfer takes.
  for (Nanos quickest = 0, pass = 0; pass < kPasses; ++pass) {
    const Nanos next = QuickestOf(few, many, offset, pairs);
    if (next <= quickest) break;
    quickest = next;
    pairs.clear();
    choice.Make(quickest, &pairs);
  }
  return pairs;
}

}  // namespace headway::trace
