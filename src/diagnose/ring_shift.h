// SPDX-License-Identifier: Apache-2.0
// By how much later or earlier the members of a ring end while a link of it is slow than they do otherwise.
#pragma once

#include <optional>
#include <span>

#include "diagnose/job.h"
#include "report/finding.h"

namespace headway::diagnose {

// The slow link, from what changes between `struck` and `quiet` operations of one group and kind: its receiver comes to
// end last and its sender first (ring_order.h), each beyond the next one by more than chance. A clock that is off moves
// a member's ends alike in both, so that it does not matter by how much; but where nearly all quiet ones lie before the
// struck ones, or behind them, it may also have drifted: then ends have to move by twice what clocks are uncertain by.
// Nothing where either are under six. Both ascending. O(members x operations).
[[nodiscard]] std::optional<report::Link> LinkByShift(const Job& job, std::span<const size_t> struck,
                                                      std::span<const size_t> quiet);

}  // namespace headway::diagnose
