// SPDX-License-Identifier: Apache-2.0
// Which channels are slow, when, and whose side of them all of these have in common.
#pragma once

#include <span>
#include <vector>

#include "diagnose/channels.h"
#include "report/finding.h"

namespace headway::diagnose {

enum class Against : uint8_t { kSiblings, kOtherSteps };

struct SlowChannel {
  size_t channel = 0;       // index into the channels
  std::vector<Nanos> cost;  // by axis step: transfer beyond what it is held against; 0 = not struck
  double ratio = 0;         // over the struck steps: actual / expected
  bool is_taken = false;    // it is taken to be as slow as another one; nothing tells by itself
};

// Whether it moves data for 0.2 % of the step or longer: others are passed over.
[[nodiscard]] bool Matters(const Job& job, const Channel& channel);

// The ratio of all together, each weighted by its cost.
[[nodiscard]] double MeanRatio(std::span<const SlowChannel> slow);

// What a channel's transfers are held against.
[[nodiscard]] inline const std::vector<Nanos>& ExpectedOf(const Channel& channel, Against against) {
  return against == Against::kSiblings ? channel.siblings : channel.usual;
}

// Whether they are slow in the same steps, but for a quarter of either's.
[[nodiscard]] bool SameSteps(const SlowChannel& a, const SlowChannel& b);

struct BySlowness {
  std::vector<SlowChannel> slow;
  std::vector<SlowChannel> unsure;  // would be but for what their clocks leave unsure
  std::vector<SlowChannel> slight;  // beyond what they scatter by, but less than channels differ by anyway
};
[[nodiscard]] BySlowness LookForSlow(const Job& job, std::span<const Channel> channels, Against against);

// Channels whose transfers exceed their like's in all steps, or clearly in some: by more than they scatter and by more
// than a backend's own unevenness; and those that would in some steps but for their clocks, if another one is slow in
// the same. What is slow in the last step alone does not count. Of channels that matter. O(cells log n).
[[nodiscard]] std::vector<SlowChannel> FindSlowChannels(const Job& job, std::span<const Channel> channels,
                                                        Against against);

// Where data leave slowly: whose way out would slow what is slow.
struct Egress {
  bool is_host = false;             // the way out of hosts to other hosts; false: of single ranks
  bool is_row = false;              // all of `sides` together: ranks in a row whose files name no host
  bool is_slight = false;           // told by channels that are slow by little, too
  std::vector<int32_t> sides;       // indices of ranks, or of the job's clocks (one a host), that fit equally well
  std::vector<SlowChannel> slow;    // what it explains
  size_t predicted = 0;             // channels that should be slow if it is the first of `sides` (of a row: any)
  std::vector<report::Link> links;  // of one side, where an order of ends shows them
};

// The ranks or hosts whose way out explains the slow channels: those whose channels and the slow ones overlap best
// (Jaccard index), then the same for what is left, as long as over half of the union is common. Only channels that had
// something to be held against count, and not those that would be slow but for what clocks leave unsure: these are
// added to what a single side explains, and so is what passes it and is slow by little. Where no side fits, one does
// that three quarters of the union have in common when those slow by little count as well, if they are of two families.
// Where no file names its host, ranks in a row all of whose sends are slow pass for one. O(members) per egress found.
[[nodiscard]] std::vector<Egress> Localise(const Job& job, std::span<const Channel> channels,
                                           std::vector<SlowChannel> slow, Against against);

}  // namespace headway::diagnose
