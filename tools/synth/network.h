// SPDX-License-Identifier: Apache-2.0
// How long transfers take and in which order the members of a collective end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "synth/engine.h"

namespace headway::synth {

enum class Coll : uint16_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kBarrier, kSend, kRecv };

// Start-up time and bus bandwidth, in the sense of nccl-tests.
struct Link {
  Time startup = 0;
  double bytes_per_ns = 1;
};

// Bytes that pass every link of the ring for one byte of the whole buffer: 2(n-1)/n for all-reduce, (n-1)/n for
// all-gather, reduce-scatter and all-to-all, 1 otherwise (the "bus bandwidth" factors of nccl-tests).
double BusFactor(Coll op, int members);

// Steps of the ring algorithm: 2(n-1) for all-reduce, n-1 for all-gather and reduce-scatter, else 1.
int RingSteps(Coll op, int members);

// Ends of a ring collective on `ends.size()` members, relative to the start of the last one.
//
// `data` is the healthy transfer time without start-up; link i leads from member i to member i + 1 and takes
// factors[i] >= 1 times as long as a healthy one. In a ring every link carries every step's chunk, so the slowest link
// sets the pace: its receiver gets the last chunk after data * factor. The chunks further down the ring have passed
// that link earlier: member j places behind the receiver ends j * (factor - 1) * data / (steps * loops) before it,
// where the message passes the ring in `loops` rounds. (Checked against the step-by-step recurrence in the tests.)
// With all factors 1 every member ends at startup + data.
void RingEnds(Time startup, Time data, int steps, int loops, std::span<const double> factors, std::span<Time> ends);

// All-to-all: member i sends to i + 1, i + 2, ... in turn; egress[i] >= 1 slows what it sends.
void AllToAllEnds(Time startup, Time data, std::span<const double> egress, std::span<Time> ends);

}  // namespace headway::synth
