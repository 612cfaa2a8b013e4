// SPDX-License-Identifier: Apache-2.0
// One clock per host, aligned by the ends of collectives that hosts share. docs/clocks-and-groups.md says how and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/clock_fit.h"
#include "trace/comm.h"

namespace headway::trace {

// Residual of a clock that nothing ties to the reference: no order across it is evidence.
inline constexpr Nanos kUnalignedResidual = kSecond;

struct ClockAlignment {
  std::vector<HostClock> clocks;       // sorted by host
  std::vector<int32_t> clock_of_rank;  // rank index -> clock
  std::vector<std::string> notes;

  // member clock - reference clock at about `own`, where both are aligned to one another; false = not known.
  [[nodiscard]] bool OffsetBetween(int32_t reference_rank, int32_t member_rank, Nanos own, Nanos* offset) const;
  [[nodiscard]] Nanos Aligned(int32_t rank_index, Nanos own) const {
    return Align(clocks[static_cast<size_t>(clock_of_rank[static_cast<size_t>(rank_index)])], own);
  }
};

// The clocks before anything is aligned: one a host, as recorded.
[[nodiscard]] ClockAlignment RecordedClocks(const std::vector<RankComms>& ranks);

// Aligns the clocks by `collectives` (those of one group in a row). At most about a million ends are read, spread over
// groups and window by a fixed rule; the answer depends on no order of ranks. Where no file names its host and the
// recorded times agree within what ends can tell, they stand as recorded: one clock.
[[nodiscard]] ClockAlignment AlignClocks(const std::vector<RankComms>& ranks,
                                         const std::vector<Collective>& collectives);

}  // namespace headway::trace
