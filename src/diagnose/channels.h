// SPDX-License-Identifier: Apache-2.0
// Transfers by channel, each beside what its like take: the same operation of sibling groups in the same step, and the
// same operation of the same group in other steps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

// One kind of operation of one group; of point-to-point traffic: one direction between two ranks.
struct Channel {
  int32_t group = -1;  // index into JobComms::groups
  trace::CommOp op = trace::CommOp::kUnknown;
  int32_t sender = -1;           // point-to-point: rank index; -1 = a collective
  std::vector<int32_t> ranks;    // rank indices of the members with a file, ascending
  std::vector<int32_t> hosts;    // their clocks, each once, ascending
  int32_t family = -1;           // channels of one family do the same operation in groups of one kind
  std::vector<size_t> calls;     // indices of collectives, by (axis step, order in it)
  std::vector<size_t> step_end;  // by axis step: end of its calls in `calls`
  std::vector<Nanos> actual;     // by axis step: sum of its transfers
  std::vector<Nanos> siblings;   // by axis step: what its siblings take for the same calls; kNoValue = has none
  int32_t likes = -1;            // channels held against one another have the same; -1 = has no siblings
  bool is_assumed = false;       // no sizes are written, and sends of the other direction stand in for siblings
  Nanos uncertain = 0;           // by how much a call's transfer may be off; what is slow has to exceed it
  Nanos wanders = 0;             // the same against other steps: what clocks are off by is off in all of them
  std::vector<Nanos> usual;      // by axis step: what these calls take in its other steps; kNoValue = not comparable

  [[nodiscard]] std::span<const size_t> CallsOf(size_t step) const {
    const size_t begin = step == 0 ? 0 : step_end[step - 1];
    return {calls.data() + begin, step_end[step] - begin};
  }
};

// The shortest time a member spent in the operation: that of the one that came last, so without waiting, and on one
// clock only. Of a host's message, from when both had begun to its end, on two.
[[nodiscard]] inline Nanos TransferTime(const Job& job, size_t collective) {
  return job.graph.collectives[collective].shortest;
}

// Channels by (group, op, sender). Siblings are held alike only where they make as many calls in the step and move as
// many bytes (where bytes are not written: where their ranks run the same program). O(n log n) in collectives.
[[nodiscard]] std::vector<Channel> CollectChannels(const Job& job);

// "mesh_dp, ranks 0-3".
[[nodiscard]] std::string NameOf(const Job& job, const Channel& channel);

// Adds to `edit`: these collectives take `keep` of the time their transfers took, and their members go on `lags` of the
// time after that which they did.
void ScaleTransfers(const Job& job, std::span<const size_t> collectives, double keep, replay::SegmentEdit* edit,
                    double lags = 1);

}  // namespace headway::diagnose
