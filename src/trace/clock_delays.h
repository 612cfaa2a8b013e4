// SPDX-License-Identifier: Apache-2.0
// Clocks of two hosts from messages in both directions, as NTP does it (RFC 5905, section 8). Rows of a host backend
// end when their wait was made, so their ends agree with nothing; but nothing is received before it was sent.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/units.h"
#include "trace/clock_fit.h"
#include "trace/comm_sequence.h"

namespace headway::trace {

// The k-th message from one host to another.
struct Message {
  int32_t from = 0, to = 0;  // clocks
  Nanos sent = 0;            // start of the send, on clock `from`
  Nanos received = 0;        // end of the receive, on clock `to`
  Nanos ready = kNoBound;    // start of the receive, on clock `to`
  Nanos left = kNoBound;     // end of the send, on clock `from`; where both are given, it may have waited for `ready`
};

// Forward delay f = received - sent = offset + d, backward delay b = d' - offset, with d and d' no less than nothing:
// the offset is (f - b) / 2, give or take (f + b) / 2. The tightest f and b of a stretch of the window make one round.
// gloo sends nothing before the other side has told that it receives (small messages, too), so a send ends no sooner
// than its receive began: one more delay, the other way. It bounds a clock where messages are slow one way. Where none
// go that way at all it is left out: what a receive is early by is no delay that makes the middle of two bounds likely.
// That is gloo's protocol; others (MPI) send small messages unasked. A row does not say whose it is, so these delays
// count between two hosts whose sends are seen to wait.
class DelayRounds {
 public:
  void Add(const Message& message);
  // To be called once, when all are added: of each pair of hosts whose messages go both ways takes the delays of
  // `ready` and `left` where sends did wait and these delays go with the others. Elsewhere the backend sends before it
  // is asked to, or may do so. O(n).
  void Settle();
  // True where delays went both ways; only those make rounds.
  [[nodiscard]] bool BothWays(int32_t a, int32_t b) const;
  // One round a stretch of each pair of hosts, 64 to 1 as bounds them best; those much looser than most are left out.
  // O(n).
  void AppendTo(ClockRounds* rounds) const;

  struct Delay {
    Nanos at = 0;  // on the lower clock
    Nanos delay = 0;
  };
  struct Pair {
    std::vector<Delay> up, down;                // from the lower clock to the higher, and back
    std::vector<Delay> waited_up, waited_down;  // of sends for their receives
    std::vector<Delay> late_up, late_down;      // of a receive's start behind its send's
  };

 private:
  static void AppendPair(int32_t low, int32_t high, const Pair& all, ClockRounds* rounds);

  std::map<std::pair<int32_t, int32_t>, Pair> pairs_;
};

}  // namespace headway::trace
