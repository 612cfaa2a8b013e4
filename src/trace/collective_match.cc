// SPDX-License-Identifier: Apache-2.0
#include "trace/collective_match.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace headway::trace {
namespace {

constexpr int32_t kQuickSamples = 9;
constexpr size_t kStepVoters = 32;      // members of a large group asked for the step
constexpr double kClearlyBetter = 0.3;  // of cost: what it takes to prefer a shift over equal order

// The member whose row kinds are the most common; of equally common ones the longest, then the first.
int32_t ChooseReference(const std::vector<CommSequence>& members, const std::vector<SequenceSummary>& summaries) {
  std::unordered_map<uint64_t, int32_t> count;
  for (const SequenceSummary& s : summaries) ++count[s.signature];
  int32_t best = -1;
  for (size_t m = 0; m < members.size(); ++m) {
    if (members[m].size() == 0) continue;
    const auto better = [&] {
      const auto b = static_cast<size_t>(best);
      const int32_t mine = count[summaries[m].signature], others = count[summaries[b].signature];
      return mine != others ? mine > others : members[m].size() > members[b].size();
    };
    if (best < 0 || better()) best = static_cast<int32_t>(m);
  }
  return best;
}

// Operations of one coalesced call share a number: the second of them gets (number, 1) and so on.
void PlaceByNumber(const std::vector<CommSequence>& members, const std::vector<SequenceSummary>& summaries,
                   GroupPlaces* places) {
  std::vector<std::pair<int64_t, int32_t>> keys;
  std::vector<std::vector<std::pair<int64_t, int32_t>>> of_member(members.size());
  for (size_t m = 0; m < members.size(); ++m) {
    if (!summaries[m].numbered) continue;
    std::unordered_map<int64_t, int32_t> repeats;
    auto& mine = of_member[m];
    mine.reserve(members[m].rows.size());
    for (int32_t i = 0; i < members[m].size(); ++i) mine.emplace_back(members[m][i].seq, repeats[members[m][i].seq]++);
    keys.insert(keys.end(), mine.begin(), mine.end());
    if (keys.size() > size_t{1} << 20U) {
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    }
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (size_t m = 0; m < members.size(); ++m) {
    if (!summaries[m].numbered) continue;
    MemberPlace& place = places->members[m];
    place.placed = true;
    place.ordinals.reserve(of_member[m].size());
    for (const auto& key : of_member[m]) {
      place.ordinals.push_back(static_cast<int32_t>(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin()));
    }
  }
}

// Numbers that rise by one in every member: the common case, without tables.
bool PlaceByConsecutiveNumbers(const std::vector<SequenceSummary>& summaries, GroupPlaces* places) {
  int64_t lowest = std::numeric_limits<int64_t>::max(), highest = 0;
  for (const SequenceSummary& s : summaries) {
    if (!s.numbered) continue;
    if (!s.consecutive) return false;
    lowest = std::min(lowest, s.first_number);
    highest = std::max(highest, s.last_number);
  }
  if (highest - lowest > std::numeric_limits<int32_t>::max() / 2) return false;
  for (size_t m = 0; m < summaries.size(); ++m) {
    if (!summaries[m].numbered) continue;
    places->members[m].placed = true;
    places->members[m].shift = static_cast<int32_t>(summaries[m].first_number - lowest);
  }
  return true;
}

Nanos WindowOf(const CommSequence& s) { return s[s.size() - 1].end - s[0].start; }

// Whether nearly all rows of equal order lie beside each other in time.
bool LieBesideEachOther(const CommSequence& reference, const CommSequence& member, Nanos offset) {
  constexpr Nanos kSlack = kMillisecond;
  int32_t beside = 0;
  for (int32_t i = 0; i < member.size(); ++i) {
    const Nanos start = member[i].start - offset, end = member[i].end - offset;
    beside += start <= reference[i].end + kSlack && reference[i].start <= end + kSlack ? 1 : 0;
  }
  return beside * 20 >= member.size() * 19;
}

void PlaceMember(const CommSequence& reference, const CommSequence& member, bool same_signature,
                 std::optional<Nanos> offset, MemberPlace* place) {
  if (same_signature) {
    const ShiftFit equal = JudgeShift(reference, member, 0, offset, kQuickSamples);
    place->placed = place->like_reference = true;
    if (equal.cost < kGoodFit) return;
    const ShiftFit best = BestShift(reference, member, offset);
    if (offset && best.jitter > WindowOf(reference)) {  // another time altogether: not the same operations
      *place = {};
      return;
    }
    const ShiftFit kept = JudgeShift(reference, member, 0, offset);
    if (best.shift == 0 || best.cost > kept.cost - kClearlyBetter) return;
    // A ring with a slow link ends at other times on each member, the same way each time: by the clock its operations
    // are nearer to their neighbours. In those they are not in the same steps.
    if (offset && kept.step_mismatch < best.step_mismatch && LieBesideEachOther(reference, member, *offset)) return;
    place->shift = best.shift;
    place->like_reference = false;
    return;
  }
  const ShiftFit best = BestShift(reference, member, offset);
  place->placed = best.mismatch <= 0.05 && best.step_mismatch <= 0.2 && best.cost < 0.7;
  place->shift = best.shift;
}

// From positions of the reference's rows to the group's axis.
void OntoAxis(const MemberPlace& reference, int32_t reference_size, int32_t size, MemberPlace* place) {
  if (reference.ordinals.empty()) {
    place->shift += reference.shift;
    return;
  }
  for (int32_t i = 0; i < size; ++i) {
    const int32_t at = i + place->shift;
    place->ordinals.push_back(at >= 0 && at < reference_size ? reference.Ordinal(at) : -1);
  }
  place->like_reference = false;
}

// Work of one group on several host threads, without numbers that order it.
bool MayRunSideBySide(const CommSequence& s) {
  const auto& groups = s.rank->groups;
  const LocalGroup& first = groups[static_cast<size_t>(s[0].local_group)];
  if (first.is_device || s[0].seq >= 0) return false;
  for (int32_t i = 1; i < std::min(s.size(), 64); ++i) {
    if (s[i].local_group != s[0].local_group) return true;
  }
  return false;
}

// Offset that makes the first rows of common steps end together: the median over steps.
std::optional<Nanos> OffsetFromSteps(const CommSequence& reference, const CommSequence& member) {
  std::vector<Nanos> differences;
  int32_t k = 0;
  for (int32_t i = 0; i < member.size(); ++i) {
    const int64_t step = member.StepNumber(i);
    if (step < 0 || (i > 0 && member.StepNumber(i - 1) == step)) continue;
    while (k < reference.size() && reference.StepNumber(k) < step) ++k;
    if (k < reference.size() && reference.StepNumber(k) == step)
      differences.push_back(member[i].end - reference[k].end);
  }
  if (differences.empty()) return std::nullopt;
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>((differences.size() - 1) / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  return *middle;
}

// A vote that keeps what more than half of the voters say, in one pass (Boyer and Moore).
struct RowVote {
  const CommInstance* row = nullptr;
  int32_t lead = 0;
};

struct StepVote {
  int64_t step = -1;
  int32_t lead = 0;
  void Add(int64_t vote) {
    if (lead == 0) step = vote;
    lead += step == vote ? 1 : -1;
  }
};

class CollectiveBuilder {
 public:
  CollectiveBuilder(const std::vector<CommSequence>& members, const GroupPlaces& places)
      : members_(members), places_(places) {}

  GroupCollectives Build() {
    FindAxis();
    if (size_ == 0) return std::move(out_);
    const bool all_alike = Vote();
    std::vector<Collective> slots(size_);
    std::vector<StepVote> steps(size_);
    const size_t stride = members_.size() / kStepVoters + 1;
    for (size_t m = 0; m < members_.size(); ++m) {
      ForRows(m, [&](size_t slot, int32_t i) {
        const CommInstance& row = members_[m][i];
        if (!all_alike && votes_[slot].row != nullptr && !Agree(*votes_[slot].row, row)) {
          ++out_.inconsistent;
          return;
        }
        Collective& c = slots[slot];
        if (c.members.empty()) c.members.reserve(members_.size());
        c.members.push_back({members_[m].rank_index, members_[m].rows[static_cast<size_t>(i)]});
        if (all_alike && m % stride != 0) return;  // nothing new in the row: do not touch it
        if (c.op == CommOp::kUnknown) c.op = row.op;
        c.bytes = std::max(c.bytes, row.bytes);
        if (m % stride == 0) steps[slot].Add(members_[m].StepNumber(i));
      });
    }
    Collect(&slots, steps);
    return std::move(out_);
  }

 private:
  template <typename Visit>
  void ForRows(size_t m, Visit visit) {
    const MemberPlace& place = places_.members[m];
    if (!place.placed) return;
    for (int32_t i = 0; i < members_[m].size(); ++i) {
      if (place.ordinals.empty() || place.ordinals[static_cast<size_t>(i)] >= 0) {
        visit(static_cast<size_t>(place.Ordinal(i) - lowest_), i);
      }
    }
  }

  void FindAxis() {
    int32_t highest = std::numeric_limits<int32_t>::min();
    lowest_ = std::numeric_limits<int32_t>::max();
    for (size_t m = 0; m < members_.size(); ++m) {
      const MemberPlace& place = places_.members[m];
      if (!place.placed) {
        out_.unmatched += members_[m].size();
        continue;
      }
      for (int32_t i = 0; i < members_[m].size(); ++i) {
        const bool everything = place.ordinals.empty();
        if (!everything && place.ordinals[static_cast<size_t>(i)] < 0) {
          ++out_.unmatched;
          continue;
        }
        lowest_ = std::min(lowest_, place.Ordinal(i));
        highest = std::max(highest, place.Ordinal(i));
        if (everything) i = std::max(i, members_[m].size() - 2);  // a shift: the first and the last tell
      }
    }
    size_ = highest < lowest_ ? 0 : static_cast<size_t>(highest - lowest_) + 1;
  }

  // What each operation is, by majority, where the members are not all alike.
  bool Vote() {
    const int32_t shift = places_.members[static_cast<size_t>(std::max(places_.reference, 0))].shift;
    bool all_alike = true;
    for (const MemberPlace& p : places_.members) {
      all_alike = all_alike && (!p.placed || (p.like_reference && p.shift == shift));
    }
    if (all_alike) return true;
    votes_.resize(size_);
    for (size_t m = 0; m < members_.size(); ++m) {
      ForRows(m, [&](size_t slot, int32_t i) {
        RowVote& vote = votes_[slot];
        if (vote.lead == 0) vote.row = &members_[m][i];
        vote.lead += Agree(*vote.row, members_[m][i]) ? 1 : -1;
      });
    }
    return false;
  }

  // Closes the gaps in place.
  void Collect(std::vector<Collective>* slots, const std::vector<StepVote>& steps) {
    int64_t ordinal = 0;
    size_t kept = 0;
    for (size_t slot = 0; slot < size_; ++slot) {
      Collective& c = (*slots)[slot];
      if (c.members.empty()) continue;
      c.ordinal = ordinal++;
      c.step = steps[slot].step;
      if (c.members.size() < 2) {
        ++out_.unmatched;
        continue;
      }
      if (kept != slot) (*slots)[kept] = std::move(c);
      ++kept;
    }
    slots->resize(kept);
    out_.collectives = std::move(*slots);
  }

  const std::vector<CommSequence>& members_;
  const GroupPlaces& places_;
  GroupCollectives out_;
  std::vector<RowVote> votes_;
  int32_t lowest_ = 0;
  size_t size_ = 0;
};

}  // namespace

GroupPlaces PlaceInOrder(const std::vector<CommSequence>& members, const std::vector<SequenceSummary>& summaries,
                         const ClockOffset& offset) {
  GroupPlaces places;
  places.members.resize(members.size());
  places.reference = ChooseReference(members, summaries);
  if (places.reference < 0) return places;
  const auto numbered = [&](size_t m) { return summaries[m].numbered && members[m].size() > 0; };
  if (!PlaceByConsecutiveNumbers(summaries, &places)) PlaceByNumber(members, summaries, &places);
  for (size_t m = 0; m < members.size() && !numbered(static_cast<size_t>(places.reference)); ++m) {
    if (numbered(m)) places.reference = static_cast<int32_t>(m);
  }
  const auto r = static_cast<size_t>(places.reference);
  places.members[r].placed = places.members[r].like_reference = true;
  for (size_t m = 0; m < members.size(); ++m) {
    if (m == r || members[m].size() == 0) continue;
    MemberPlace& place = places.members[m];
    const bool same = summaries[m].signature == summaries[r].signature && members[m].size() == members[r].size();
    if (place.placed) {
      place.like_reference = same && place.ordinals.empty();
      continue;
    }
    PlaceMember(members[r], members[m], same, offset(members[r].rank_index, members[m].rank_index), &place);
    if (place.placed) OntoAxis(places.members[r], members[r].size(), members[m].size(), &place);
  }
  return places;
}

void PlaceRest(const std::vector<CommSequence>& members, const ClockOffset& offset, GroupPlaces* places) {
  if (places->reference < 0) return;
  const auto r = static_cast<size_t>(places->reference);
  for (size_t m = 0; m < members.size(); ++m) {
    MemberPlace& place = places->members[m];
    if (place.placed || members[m].size() == 0) continue;
    std::optional<Nanos> known = offset(members[r].rank_index, members[m].rank_index);
    if (!known) known = OffsetFromSteps(members[r], members[m]);
    if (!known) known = BestShift(members[r], members[m], std::nullopt).centre;
    place.ordinals = MergeByTime(members[r], members[m], *known);
    for (int32_t& at : place.ordinals) at = at < 0 ? -1 : places->members[r].Ordinal(at);
    place.placed = true;
  }
}

void OrderConcurrent(const std::vector<CommSequence>& members, const ClockOffset& offset, GroupPlaces* places) {
  if (places->reference < 0) return;
  const auto r = static_cast<size_t>(places->reference);
  if (!places->members[r].ordinals.empty()) return;
  const int32_t base = places->members[r].shift;
  for (size_t m = 0; m < members.size(); ++m) {
    MemberPlace& place = places->members[m];
    const bool in_order = place.placed && place.ordinals.empty() && members[m].size() > 0;
    if (m == r || !in_order || !MayRunSideBySide(members[m])) continue;
    const auto known = offset(members[r].rank_index, members[m].rank_index);
    place.ordinals = ExchangeConcurrent(members[r], members[m], place.shift - base, known);
    for (int32_t& at : place.ordinals) at += base;
    place.like_reference = place.like_reference && place.ordinals.empty();
  }
}

GroupCollectives BuildCollectives(const std::vector<CommSequence>& members, const GroupPlaces& places) {
  return CollectiveBuilder(members, places).Build();
}

bool RunTogether(const std::vector<CommSequence>& members, const ClockOffset& offset) {
  std::vector<SequenceSummary> summaries;
  for (const CommSequence& m : members) summaries.push_back(Summarize(m));
  const int32_t chosen = ChooseReference(members, summaries);
  if (chosen < 0) return false;
  const CommSequence& reference = members[static_cast<size_t>(chosen)];
  size_t together = 0;
  for (const CommSequence& m : members) {
    if (m.size() == 0 || 10 * std::abs(m.size() - reference.size()) > reference.size() + 10) continue;
    const auto known = offset(reference.rank_index, m.rank_index);
    const ShiftFit fit = BestShift(reference, m, known);
    together += fit.cost < 1 ? 1 : 0;
  }
  return together * 5 >= members.size() * 4;
}

}  // namespace headway::trace
