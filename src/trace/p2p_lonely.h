// SPDX-License-Identifier: Apache-2.0
// Partners of sends and receives that name neither peer nor group: by what fits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "trace/comm.h"

namespace headway::trace {

// Rows of one rank by direction. Kernels that do both at once stand in `both`.
struct Traffic {
  std::vector<int32_t> sends, receives, both;

  [[nodiscard]] std::vector<int32_t>& Of(CommOp op) {
    return op == CommOp::kSend ? sends : op == CommOp::kRecv ? receives : both;
  }
  [[nodiscard]] size_t size() const { return sends.size() + receives.size() + both.size(); }
};

// Rows of one rank all of which meet rows of another one.
struct PartnerRows {
  int32_t a = -1, b = -1;  // rank indices; a sends where directions are known
  std::vector<int32_t> rows_of_a, rows_of_b;
};

// `lonely`: by rank index. Ranks that all do equally much are tried as pairs, each with one partner; where none fits,
// or inner ranks do twice as much as the ends, as the stages of a pipeline or a ring, stream by stream (on devices
// only: there ends tell). Of more than 128 ranks nothing. O(n^2) fits of all their rows.
[[nodiscard]] std::vector<PartnerRows> PairLonely(
    const std::vector<RankComms>& ranks, const std::map<int32_t, Traffic>& lonely,
    const std::function<std::optional<Nanos>(int32_t a, int32_t b, Nanos own)>& offset);

}  // namespace headway::trace
