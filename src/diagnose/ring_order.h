// SPDX-License-Identifier: Apache-2.0
// What the order in which the members of a ring end says about its slowest link.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "diagnose/job.h"
#include "report/finding.h"

namespace headway::diagnose {

// In a ring every member sends to the next one. The slowest link sets the pace: its receiver gets the last chunk last,
// and each member further down has had it earlier by what one chunk loses on the link, so its sender, last in the row,
// ends first of all. This holds for any order of the ring; all-to-all and trees have no such order.
struct RingOrder {
  RankId last = -1, first = -1;  // most often; the receiver and the sender of the slowest link
  int64_t times_last = 0, times_first = 0;
  int64_t of = 0, of_first = 0;    // operations in which the clocks could tell the last, the first
  double z_last = 0, z_first = 0;  // how far from chance, in standard deviations
  Nanos lag = 0;                   // median of: the last member's end after the first end
  // Operations of `of` whose ends lie further apart than the first of them lies behind the latest arrival. An
  // all-reduce goes twice round its ring and a slow link delays both rounds: the first one for all members.
  int64_t times_beyond = 0;

  // As good as never by chance, and seen often enough.
  [[nodiscard]] bool TellsLast() const { return of >= kLeast && z_last >= kBeyondChance; }
  [[nodiscard]] bool TellsBoth() const {
    return TellsLast() && of_first >= kLeast && z_first >= kBeyondChance && first != last;
  }

  static constexpr int64_t kLeast = 6;
  static constexpr double kBeyondChance = 3.5;
  static constexpr Nanos kLeastLag = 8 * kMicrosecond;  // what ends on devices may be apart by where nothing is slow
};

// Whether an operation runs round a ring.
[[nodiscard]] bool IsRing(trace::CommOp op);

// Over `collectives` of one group and kind. Ends closer than the residuals of the members'
// clocks are passed over; ranks of one host share a clock. O(members).
[[nodiscard]] RingOrder OrderOfEnds(const Job& job, std::span<const size_t> collectives);

// Ends that go down by about as much from member to member all along the ring, as behind one slow link, however little
// that is. What hosts' clocks do not tell is left open: of two hosts it may be either link between them.
struct RingStairs {
  Nanos hop = 0;                    // from a member to the next
  std::vector<report::Link> links;  // candidates for the slow one
  bool all_round = false;           // the clocks tell the order of all members, from host to host as well
};

// Over `collectives` of one group and kind; nothing where there are under four members, the steps are uneven or below
// what ends scatter by chance, or there are more than two hosts and the stairs of one do not begin where those of
// another end. O(members log members) per collective.
[[nodiscard]] std::optional<RingStairs> StairsOfEnds(const Job& job, std::span<const size_t> collectives);

}  // namespace headway::diagnose
