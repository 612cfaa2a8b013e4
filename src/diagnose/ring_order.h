// SPDX-License-Identifier: Apache-2.0
// What the order in which the members of a ring end says about its slowest link.
#pragma once

#include <span>

#include "diagnose/job.h"

namespace headway::diagnose {

// In a ring every member sends to the next one. The slowest link sets the pace: its receiver gets the last chunk last,
// and each member further down has had it earlier by what one chunk loses on the link, so its sender, last in the row,
// ends first of all. This holds for any order of the ring; all-to-all and trees have no such order.
struct RingOrder {
  RankId last = -1, first = -1;  // most often; the receiver and the sender of the slowest link
  int64_t times_last = 0, times_first = 0;
  int64_t of = 0;     // operations in which the clocks could tell
  double z_last = 0;  // how far from chance, in standard deviations
  double z_first = 0;
  Nanos lag = 0;  // median of: the last member's end after the first end
};

// Whether an operation runs round a ring.
[[nodiscard]] bool IsRing(trace::CommOp op);

// Over `collectives` of one group and kind. Ends closer than the residuals of the members'
// clocks are passed over; ranks of one host share a clock. O(members).
[[nodiscard]] RingOrder OrderOfEnds(const Job& job, std::span<const size_t> collectives);

}  // namespace headway::diagnose
