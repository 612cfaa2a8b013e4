// SPDX-License-Identifier: Apache-2.0
// Which way out is slow, from how long operations take depending on who comes last, whatever the hosts' clocks are.
#pragma once

#include <span>
#include <vector>

#include "diagnose/ring_ways.h"

namespace headway::diagnose {

// A ring that passes a slow way.
struct LateLink {
  const Channel* channel = nullptr;
  RankId sender = -1, receiver = -1;
  Nanos lag = 0;  // so much later than the sender the receiver has its last piece
};

// Whether fitting them takes more than 2^28 looks at an end or at a place: nothing is fitted then. O(members of rings).
[[nodiscard]] bool AreTooManyToFit(std::span<const Ring> rings);

// The time that whoever came last spends in an operation is the transfer, and it is read from one clock. Behind a slow
// link the last piece reaches the receiver last and each member further down the ring a hop earlier (ring_order.h), so
// an operation seems to take longest when the receiver is the last to come and shortest when the sender is. Looked for
// is the way out, and the hop, with which operations of one kind, at one place of the step, take as long whoever comes
// last: the hop that leaves the least of what they differ by. Of two members each has what the other one sent,
// exchanges (all-to-all) included. Members that always come in the same order, or close behind one another as one
// operation follows the other, tell nothing. Rings may go round as given or the other way, all of them alike. Left out
// are ways that another one fits nearly as well, that few operations tell of, or that not most of their rings show.
// Rings in their order. O(calls x members^2 x lags tried + ways x rings); nothing where they are too many.
[[nodiscard]] std::vector<LateLink> FitArrivals(const Job& job, std::span<const Ring> rings);

}  // namespace headway::diagnose
