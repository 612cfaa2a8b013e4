// SPDX-License-Identifier: Apache-2.0
// Which ranks send to each other in pipelines of more than two stages where no row says it and no group is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "trace/comm.h"
#include "trace/p2p_partners.h"

namespace headway::trace {

// All that one rank sends, or receives, on one stream.
struct LaneFlow {
  RankId rank = -1;
  int32_t rank_index = -1;
  bool sends = false;
  std::vector<int32_t> rows;
};

// Adds a flow for each stream that these rows of one rank are on.
void AddFlows(const RankComms& rank, int32_t rank_index, bool sends, const std::vector<int32_t>& rows,
              std::vector<LaneFlow>* flows);

// Programs lay their stages out evenly: the next stage of every rank is as many ranks away. Takes the distance at which
// most rows find a partner, a stream of sends with a stream of receives of the rank so far away (from the last ranks on
// with the first: rings, interleaved stages), and the ends that agree best. Where one stream of two such ranks is left
// on either side, those belong together. Pairs of indices of `flows`; none where under nine in ten rows find a partner
// (three in four, if all others are what is left), or two distances are as good. `fit(i, j)`: its smaller index first.
// O(flows + distances x ranks x streams^2) calls of it.
[[nodiscard]] std::vector<std::pair<size_t, size_t>> PairByStride(std::span<const LaneFlow> flows,
                                                                  const std::function<PartnerFit(size_t, size_t)>& fit);

}  // namespace headway::trace
