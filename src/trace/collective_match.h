// SPDX-License-Identifier: Apache-2.0
// Pairs the operations of one process group across its members: by sequence number where written, else by order with a
// check of kinds and sizes. Windows may begin and end at different operations; a member with holes is placed by time.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/comm.h"
#include "trace/comm_sequence.h"

namespace headway::trace {

// Where one member's rows lie on the group's axis of ordinals.
struct MemberPlace {
  bool placed = false;
  int32_t shift = 0;              // row i has ordinal i + shift, if `ordinals` is empty
  std::vector<int32_t> ordinals;  // else one a row; -1 = no counterpart
  bool like_reference = false;    // kinds and sizes equal the reference's row by row: nothing left to check

  [[nodiscard]] int32_t Ordinal(int32_t i) const {
    return ordinals.empty() ? i + shift : ordinals[static_cast<size_t>(i)];
  }
};

struct GroupPlaces {
  int32_t reference = -1;  // index of the member that defines the axis
  std::vector<MemberPlace> members;
};

// Places every member that orders, kinds and step numbers place safely; the others (holes, damage) stay unplaced.
// `summaries` is parallel to `members`. A few samples a member; O(rows) only where sequence numbers have gaps.
[[nodiscard]] GroupPlaces PlaceInOrder(const std::vector<CommSequence>& members,
                                       const std::vector<SequenceSummary>& summaries, const ClockOffset& offset);

// Places by time what PlaceInOrder left. Without a clock offset the starts of common steps give one.
void PlaceRest(const std::vector<CommSequence>& members, const ClockOffset& offset, GroupPlaces* places);

// Exchanges neighbours that two threads of a member ran side by side in another order than the reference's. Once, after
// the clocks are known.
void OrderConcurrent(const std::vector<CommSequence>& members, const ClockOffset& offset, GroupPlaces* places);

struct GroupCollectives {
  std::vector<Collective> collectives;  // by ordinal; of at least two members; `group` is left to the caller
  int64_t unmatched = 0;                // rows without counterpart
  int64_t inconsistent = 0;
};
[[nodiscard]] GroupCollectives BuildCollectives(const std::vector<CommSequence>& members, const GroupPlaces& places);

// Send/receive kernels that name no peer: true if the members run them together (an all-to-all), false if neighbours
// exchange in pairs. `members` hold such rows only.
[[nodiscard]] bool RunTogether(const std::vector<CommSequence>& members, const ClockOffset& offset);

}  // namespace headway::trace
