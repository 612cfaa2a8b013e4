// SPDX-License-Identifier: Apache-2.0
#include "trace/comm_sequence.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/median.h"
#include "trace/end_agreement.h"

namespace headway::trace {
namespace {

constexpr double kSurelyEqual = 0.05;  // cost of equal order that needs no comparison with other shifts
constexpr int32_t kExhaustive = 48;    // sequences up to this length: every shift is tried

// Typical distance between neighbouring operations: what an error of one ordinal would shift ends by.
Nanos TypicalGap(const CommSequence& s) {
  if (s.size() < 2) return kMillisecond;
  std::vector<Nanos> gaps;
  const int32_t stride = std::max(1, s.size() / 32);
  for (int32_t i = 0; i + 1 < s.size(); i += stride) gaps.push_back(std::abs(s[i + 1].end - s[i].end));
  return std::max<Nanos>(LowerMedian(&gaps), kMicrosecond);
}

// First row at or after `from` whose step number is `step`; -1 = none. Rows are in order of start, steps ascend.
int32_t FirstOfStep(const CommSequence& s, int64_t step) {
  for (int32_t low = 0, high = s.size();;) {
    if (low == high) return low < s.size() && s.StepNumber(low) == step ? low : -1;
    const int32_t middle = low + (high - low) / 2;
    if (s.StepNumber(middle) < step) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
}

void AddStepCandidates(const CommSequence& reference, const CommSequence& member, std::vector<int32_t>* out) {
  constexpr int32_t kPlaces = 5;
  for (int32_t place = 0; place < kPlaces; ++place) {
    const auto i = static_cast<int32_t>(int64_t{place} * (member.size() - 1) / (kPlaces - 1));
    const int64_t step = member.StepNumber(i);
    if (step < 0) continue;
    const int32_t mine = FirstOfStep(member, step);
    const int32_t theirs = FirstOfStep(reference, step);
    if (mine >= 0 && theirs >= 0) out->push_back(theirs - mine);
  }
}

void AddTimeCandidates(const CommSequence& reference, const CommSequence& member, Nanos offset,
                       std::vector<int32_t>* out) {
  for (const int32_t i : {member.size() / 4, member.size() / 2, member.size() * 3 / 4}) {
    const Nanos end = member[i].end - offset;
    int32_t low = 0;
    for (int32_t high = reference.size(); low < high;) {
      const int32_t middle = low + (high - low) / 2;
      if (reference[middle].end < end) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    for (int32_t k = low - 1; k <= low + 1; ++k) out->push_back(k - i);
  }
}

std::vector<int32_t> Candidates(const CommSequence& reference, const CommSequence& member,
                                std::optional<Nanos> offset) {
  std::vector<int32_t> out;
  if (std::max(reference.size(), member.size()) <= kExhaustive) {
    for (int32_t s = 1 - member.size(); s < reference.size(); ++s) out.push_back(s);
  } else {
    for (int32_t near = -3; near <= 3; ++near) {
      out.push_back(near);
      out.push_back(reference.size() - member.size() + near);
    }
    AddStepCandidates(reference, member, &out);
    if (offset) AddTimeCandidates(reference, member, *offset, &out);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Rows i and i + 1 run side by side on two threads of the host.
bool Concurrent(const CommSequence& s, int32_t i) {
  if (i < 0 || i + 1 >= s.size()) return false;
  const CommInstance& a = s[i];
  const CommInstance& b = s[i + 1];
  return a.local_group != b.local_group && b.start < a.end;
}

// Whether rows i and i + 1 of the member agree with the reference only in exchanged order.
bool AgreeExchanged(const CommSequence& reference, const CommSequence& member, int32_t i, int32_t shift) {
  const int32_t k = i + shift;
  if (!Concurrent(member, i) || k < 0 || k + 1 >= reference.size()) return false;
  return Agree(member[i], reference[k + 1]) && Agree(member[i + 1], reference[k]) &&
         !(Agree(member[i], reference[k]) && Agree(member[i + 1], reference[k + 1]));
}

// Whether the ends of two rows alike fit far better in exchanged order.
bool EndsExchanged(const CommSequence& reference, const CommSequence& member, int32_t i, int32_t shift, Nanos offset) {
  constexpr Nanos kTogether = kMillisecond;  // starts further apart are no matter of scheduling
  constexpr Nanos kFar = 200 * kMicrosecond;
  const int32_t k = i + shift;
  if (!Concurrent(member, i) || k < 0 || k + 1 >= reference.size()) return false;
  if (member[i + 1].start - member[i].start > kTogether) return false;
  if (!Agree(member[i], member[i + 1]) || member[i].op == CommOp::kUnknown) return false;
  const auto apart = [&](int32_t mine, int32_t theirs) {
    return std::abs(member[mine].end - offset - reference[theirs].end);
  };
  const Nanos kept = apart(i, k) + apart(i + 1, k + 1);
  const Nanos exchanged = apart(i, k + 1) + apart(i + 1, k);
  return 2 * exchanged < kept && kept - exchanged > kFar;
}

}  // namespace

bool IsOneWay(CommOp op) { return op == CommOp::kSend || op == CommOp::kRecv; }

bool IsHostMessage(const RankComms& rank, const CommInstance& row) {
  return IsOneWay(row.op) && !rank.groups[static_cast<size_t>(row.local_group)].is_device;
}

bool SizeIsShared(CommOp op) {
  return op == CommOp::kAllReduce || op == CommOp::kAllGather || op == CommOp::kReduceScatter ||
         op == CommOp::kBroadcast || op == CommOp::kReduce;
}

bool Agree(const CommInstance& a, const CommInstance& b) {
  if (a.op == CommOp::kUnknown || b.op == CommOp::kUnknown) return true;
  const bool same_size = a.bytes < 0 || b.bytes < 0 || a.bytes == b.bytes;
  if (IsOneWay(a.op) && IsOneWay(b.op) && a.op != b.op) return same_size;
  return a.op == b.op && (!SizeIsShared(a.op) || same_size);
}

void SequenceSummary::Add(const CommInstance& row) {
  const uint64_t bytes = SizeIsShared(row.op) ? static_cast<uint64_t>(row.bytes) : ~uint64_t{0};
  signature ^= static_cast<uint64_t>(row.op) + (bytes << 5U);
  signature *= 0xff51afd7ed558ccdU;
  signature ^= signature >> 32U;
  numbered = numbered && row.seq >= 0;
  consecutive = consecutive && row.seq >= 0 && (first_number < 0 || row.seq == last_number + 1);
  if (first_number < 0) first_number = row.seq;
  last_number = row.seq;
  exchanges = exchanges || NamesNoPeer(row.op);
}

SequenceSummary Summarize(const CommSequence& sequence) {
  SequenceSummary summary;
  for (int32_t i = 0; i < sequence.size(); ++i) summary.Add(sequence[i]);
  return summary;
}

namespace {

// What a shift is judged by besides the two sequences.
struct ShiftTrial {
  std::optional<Nanos> offset;
  int32_t samples = 64;
  Nanos gap = 0;       // TypicalGap of the reference
  double limit = 1e9;  // a fit that costs more than this is of no use: it may be left unfinished
};
constexpr int32_t kSamples = 64;

// Whether the median of the distances to `centre` is surely above what leaves the fit's cost within `room`; cheaper
// than the median. The margin is far above what rounding does to a cost.
bool MedianLiesBeyond(const std::vector<Nanos>& differences, Nanos centre, double room, const ShiftTrial& trial) {
  const double share = room / (trial.offset ? 1.5 : differences.size() > 2 ? 1 : 0.2);
  if (share >= 1) return false;
  const Nanos within = static_cast<Nanos>((share + 1e-6) * 0.5 * static_cast<double>(trial.gap)) + 2;
  const auto near =
      std::count_if(differences.begin(), differences.end(), [&](Nanos d) { return std::abs(d - centre) <= within; });
  return near <= static_cast<std::ptrdiff_t>((differences.size() - 1) / 2);
}

ShiftFit TryShift(const CommSequence& reference, const CommSequence& member, int32_t shift, const ShiftTrial& trial) {
  ShiftFit fit{.shift = shift};
  const int32_t first = std::max(0, -shift);
  const int32_t last = std::min(member.size(), reference.size() - shift);
  fit.overlap = std::max(0, last - first);
  if (fit.overlap == 0) return fit;
  const int32_t count = std::min(fit.overlap, trial.samples);
  const double covered = static_cast<double>(fit.overlap) / std::min(reference.size(), member.size());
  int32_t mismatches = 0, in_step = 0, step_mismatches = 0;
  std::vector<Nanos> differences;
  differences.reserve(static_cast<size_t>(count));
  for (int32_t j = 0; j < count; ++j) {
    const auto i = first + static_cast<int32_t>(int64_t{j} * fit.overlap / count);
    const CommInstance& mine = member[i];
    const CommInstance& theirs = reference[i + shift];
    const bool agree = Agree(mine, theirs) || AgreeExchanged(reference, member, i, shift) ||
                       AgreeExchanged(reference, member, i - 1, shift);
    if (!agree) {
      ++mismatches;
      fit.cost = static_cast<double>(mismatches) / count + 0.5 * (1 - covered);
      if (fit.cost > trial.limit) return fit;  // what is to come only adds
    }
    const int64_t a = member.StepNumber(i);
    const int64_t b = reference.StepNumber(i + shift);
    if (a >= 0 && b >= 0) {
      ++in_step;
      step_mismatches += a == b ? 0 : 1;
    }
    differences.push_back(mine.end - theirs.end);
  }
  fit.mismatch = static_cast<double>(mismatches) / count;
  fit.step_mismatch = in_step == 0 ? 0 : static_cast<double>(step_mismatches) / in_step;
  const double of_steps = trial.offset ? 0.5 * fit.step_mismatch : fit.step_mismatch;
  fit.cost = fit.mismatch + 0.5 * (1 - covered);
  if (fit.cost + of_steps > trial.limit) {
    fit.cost += of_steps;
    return fit;
  }
  if (!trial.offset) fit.centre = LowerMedian(&differences);
  const Nanos centre = trial.offset.value_or(fit.centre);
  if (MedianLiesBeyond(differences, centre, trial.limit - fit.cost - of_steps, trial)) {
    fit.cost = std::numeric_limits<double>::infinity();
    return fit;
  }
  if (trial.offset) fit.centre = LowerMedian(&differences);  // decides nothing then, so it waits until here
  for (Nanos& d : differences) d = std::abs(d - centre);
  fit.jitter = LowerMedian(&differences);
  // An error of one ordinal moves most ends by about a gap; half of one is taken as full doubt.
  const double time_cost = std::min(1.0, 2 * static_cast<double>(fit.jitter) / static_cast<double>(trial.gap));
  if (trial.offset) {
    fit.cost += 1.5 * time_cost + of_steps;  // step numbers may be guesses, this clock is not
  } else {
    // Of several repetitions that fit equally well, the one that asks for the least skew.
    const double skew = std::abs(static_cast<double>(fit.centre));
    fit.cost += time_cost * (count > 2 ? 1 : 0.2) + of_steps + 0.2 * skew / (skew + 0.2 * kSecond);
  }
  return fit;
}

ShiftFit BestShiftWithin(const CommSequence& reference, const CommSequence& member, std::optional<Nanos> offset,
                         Nanos gap) {
  ShiftFit best;
  ShiftTrial trial{.offset = offset, .samples = kSamples, .gap = gap};
  if (reference.size() == member.size()) {
    best = TryShift(reference, member, 0, trial);
    if (best.cost < kSurelyEqual) return best;
  }
  for (const int32_t shift : Candidates(reference, member, offset)) {
    trial.limit = best.cost;
    const ShiftFit fit = TryShift(reference, member, shift, trial);
    const bool nearer = std::abs(fit.shift) < std::abs(best.shift);
    if (fit.cost < best.cost || (fit.cost == best.cost && nearer)) best = fit;
  }
  return best;
}

}  // namespace

ShiftFit JudgeShift(const CommSequence& reference, const CommSequence& member, int32_t shift,
                    std::optional<Nanos> offset, int32_t samples) {
  return TryShift(reference, member, shift, {.offset = offset, .samples = samples, .gap = TypicalGap(reference)});
}

ShiftFit BestShift(const CommSequence& reference, const CommSequence& member, std::optional<Nanos> offset) {
  if (reference.size() == 0 || member.size() == 0) return {};
  return BestShiftWithin(reference, member, offset, TypicalGap(reference));
}

Togetherness JudgeTogether(const CommSequence& reference, const CommSequence& member, std::optional<Nanos> offset) {
  constexpr Nanos kSlack = 20 * kMicrosecond;  // clocks of devices of one host, rounding
  constexpr Nanos kDriftsFrom = kMillisecond;
  constexpr int32_t kSamples = 128, kEnds = 48;
  constexpr Nanos kTogether = 2 * kMillisecond, kPercentOfTransfer = 15;
  Togetherness out;
  const int32_t longest = std::max(reference.size(), member.size());
  if (longest == 0 || 4 * std::abs(reference.size() - member.size()) > 8 + longest) return out;
  if (reference.size() == 0 || member.size() == 0) return out;
  const Nanos gap = TypicalGap(reference);
  const ShiftFit fit = BestShiftWithin(reference, member, offset, gap);
  if (fit.overlap == 0 || fit.mismatch > 0.1) return out;
  const int32_t first = std::max(0, -fit.shift);
  const int32_t count = std::min(fit.overlap, kSamples);
  const auto row = [&](int32_t j) { return first + static_cast<int32_t>(int64_t{j} * fit.overlap / count); };
  // Without a known offset: any under which all overlap will do, or the line on which most ends lie.
  Nanos least = std::numeric_limits<Nanos>::min(), most = std::numeric_limits<Nanos>::max();
  std::vector<EndPair> ends;
  std::vector<Nanos> shorter;
  for (int32_t j = 0; j < count; ++j) {
    const CommInstance& mine = member[row(j)];
    const CommInstance& theirs = reference[row(j) + fit.shift];
    shorter.push_back(std::min(mine.end - mine.start, theirs.end - theirs.start));
    least = std::max(least, mine.start - theirs.end);
    most = std::min(most, mine.end - theirs.start);
    if (j % (1 + count / kEnds) == 0) ends.push_back({theirs.end, mine.end});
  }
  const EndAgreement agreement = AgreementOfEnds(ends);
  out.scatter = agreement.scatter;
  out.shorter = LowerMedian(&shorter);
  const auto overlapping_at = [&](const auto& difference) {
    int32_t overlapping = 0;
    for (int32_t j = 0; j < count; ++j) {
      const CommInstance& mine = member[row(j)];
      const CommInstance& theirs = reference[row(j) + fit.shift];
      const Nanos d = difference(theirs.end);
      const bool apart = mine.start - d > theirs.end + kSlack || theirs.start > mine.end - d + kSlack;
      overlapping += apart ? 0 : 1;
    }
    return overlapping;
  };
  const Nanos constant = offset.value_or(least <= most ? least + (most - least) / 2 : fit.centre);
  int32_t overlapping = overlapping_at([&](Nanos) { return constant; });
  // A known offset is one number for the whole window; the line may follow a drift from it.
  const bool drifts = agreement.slope != 0 && offset && std::abs(agreement.base - *offset) < kDriftsFrom;
  if (!offset || drifts)
    overlapping = std::max(overlapping, overlapping_at([&](Nanos own) { return agreement.At(own); }));
  out.overlapping = static_cast<double>(overlapping) / count;
  out.jitter = fit.jitter;
  int32_t tight = 0;
  for (int32_t j = 0; j < count; ++j) {
    const CommInstance& mine = member[row(j)];
    const CommInstance& theirs = reference[row(j) + fit.shift];
    const Nanos base = offset && !drifts ? *offset : agreement.slope != 0 ? agreement.At(theirs.end) : fit.centre;
    const Nanos quicker = std::min(mine.end - mine.start, theirs.end - theirs.start);
    tight += std::abs(mine.end - theirs.end - base) <= kTogether + quicker * kPercentOfTransfer / 100 ? 1 : 0;
  }
  out.tight = static_cast<double>(tight) / count;
  const double covered = 2.0 * fit.overlap / (reference.size() + member.size());
  // A member that always ends later sits behind a slow link; one whose ends come and go is of another group.
  const auto of_gap = [&](Nanos n) { return std::min(1.0, static_cast<double>(n) / static_cast<double>(gap)); };
  const double loose = 0.18 * of_gap(std::min(fit.jitter, out.scatter)) + 0.02 * of_gap(fit.jitter);
  out.score = (1 - fit.mismatch) * (1 - fit.step_mismatch) * out.overlapping * covered * (1 - loose);
  return out;
}

std::vector<int32_t> ExchangeConcurrent(const CommSequence& reference, const CommSequence& member, int32_t shift,
                                        std::optional<Nanos> offset) {
  std::vector<int32_t> positions;
  for (int32_t i = 0; i + 1 < member.size(); ++i) {
    const bool exchange =
        AgreeExchanged(reference, member, i, shift) || (offset && EndsExchanged(reference, member, i, shift, *offset));
    if (!exchange) continue;
    if (positions.empty()) {
      for (int32_t k = 0; k < member.size(); ++k) positions.push_back(k + shift);
    }
    std::swap(positions[static_cast<size_t>(i)], positions[static_cast<size_t>(i) + 1]);
    ++i;
  }
  return positions;
}

std::vector<int32_t> MergeByTime(const CommSequence& reference, const CommSequence& member, Nanos offset) {
  constexpr int32_t kLook = 12;  // how far ahead of the first possible counterpart a better one is looked for
  std::vector<int32_t> ordinals(member.rows.size(), -1);
  int32_t next = 0;
  for (int32_t i = 0; i < member.size(); ++i) {
    const CommInstance& mine = member[i];
    while (next < reference.size() && reference[next].end < mine.start - offset) ++next;
    int32_t best = -1;
    Nanos best_distance = 0;
    for (int32_t k = next; k < std::min(reference.size(), next + kLook); ++k) {
      const CommInstance& theirs = reference[k];
      if (theirs.start > mine.end - offset) break;
      if (theirs.end < mine.start - offset || !Agree(mine, theirs)) continue;
      const Nanos distance = std::abs(mine.end - offset - theirs.end);
      if (best >= 0 && distance >= best_distance) continue;
      best = k;
      best_distance = distance;
    }
    if (best < 0) continue;
    ordinals[static_cast<size_t>(i)] = best;
    next = best + 1;
  }
  return ordinals;
}

}  // namespace headway::trace
