// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_cost.h"

#include <algorithm>
#include <cstdlib>

namespace headway::trace {
namespace {

constexpr Nanos kFarthest = kSecond;  // distances above count as this
constexpr Nanos kSlack = 20 * kMicrosecond;
constexpr Nanos kOfEnds = 2;       // ns between ends that count as one
constexpr Nanos kOfApart = 4;      // what each ns costs that two such rows lie apart
constexpr Nanos kOfFarApart = 20;  // and each beyond that

Nanos Distance(const CommInstance& a, const CommInstance& b, Nanos offset) {
  const Nanos b_start = b.start - offset, b_end = b.end - offset;
  const bool a_first = a.op == CommOp::kSend && a.start > b_end + kSlack;
  const bool b_first = b.op == CommOp::kSend && b_start > a.end + kSlack;
  if (a_first || b_first) return kImpossible;
  return std::min(std::abs(a.end - b_end), kFarthest);
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

}  // namespace

Nanos Beside(const CommInstance& a, const CommInstance& b, Nanos offset) {
  return std::min(a.end, b.end - offset) - std::max(a.start, b.start - offset);
}

Nanos CostOfPair(const RankComms& rank, const CommInstance& mine, const CommInstance& theirs, Nanos shift,
                 Nanos quickest) {
  if (!Agree(mine, theirs)) return kImpossible;
  return IsHostMessage(rank, mine) ? HostDistance(mine, theirs, shift, quickest) : Distance(mine, theirs, shift);
}

std::vector<int64_t> StepsOf(const CommSequence& sequence) {
  std::vector<int64_t> out;
  for (int32_t i = 0; i < sequence.size(); ++i) {
    const int64_t step = sequence.StepNumber(i);
    out.push_back(step < 0 && i > 0 ? out.back() : step);
  }
  return out;
}

std::vector<bool> Edges(const CommSequence& sequence, Anchor anchor) {
  std::vector<bool> out(static_cast<size_t>(sequence.size()), false);
  if (anchor == Anchor::kNone) return out;
  const std::vector<int64_t> steps = StepsOf(sequence);
  const int32_t beside = anchor == Anchor::kFirst ? -1 : 1;
  for (int32_t i = 0; i < sequence.size(); ++i) {
    const int32_t other = i + beside;
    const bool has_other = other >= 0 && other < sequence.size();
    out[static_cast<size_t>(i)] = !has_other || steps[static_cast<size_t>(other)] != steps[static_cast<size_t>(i)];
  }
  return out;
}

}  // namespace headway::trace
