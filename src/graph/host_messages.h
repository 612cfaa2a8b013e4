// SPDX-License-Identifier: Apache-2.0
// Sends and receives of a host backend: a row lasts until the rank waited for it, which may be long after the data have
// come, and several rows that are waited for together end together. When the data came has to be told from other rows.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/units.h"
#include "pattern/pattern.h"
#include "trace/comm.h"

namespace headway::graph {

struct SegmentCollective;

// Per collective: 1 = such a send with its receive. Empty where there are none.
[[nodiscard]] std::vector<char> FindHostMessages(std::span<const pattern::RankPattern> ranks,
                                                 const trace::JobComms& comms);

// Where nobody was blocked in a message to its first end, that end says little: its transfer becomes what its like
// (same sender, receiver and size) take at their quickest, if that is less. That is `shortest`, too: how long their
// rows last says nothing. Changes these two alone. O(n log n).
void ShortenHostMessages(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms,
                         const std::vector<char>& is_message, std::span<SegmentCollective> collectives);

// One row of a rank, aligned.
struct MessageRow {
  Nanos end = 0;
  Nanos exposed = 0;  // ends at exposed_end
  Nanos exposed_end = 0;
  Nanos done = 0;   // when its data had come
  Nanos slack = 0;  // how well that is known
};

// What a row blocked its rank: `time` up to `until`, in `by`.
struct Blocked {
  Nanos until = 0;
  Nanos time = 0;
  size_t by = 0;  // index of the row
};

// Per row. Time beside open rows counts as exposed in one of them, whichever; here it goes to the one whose data came
// last before it ended. Time that began after the data had come is the rank's own. O(n log n).
[[nodiscard]] std::vector<Blocked> BlockedInMessages(std::span<const MessageRow> rows);

}  // namespace headway::graph
