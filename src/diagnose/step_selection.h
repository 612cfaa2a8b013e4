// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pattern/pattern.h"

namespace headway::diagnose {

// "100:110", "100:", ":110", "105": first and last step number, both included.
[[nodiscard]] Result<std::pair<int64_t, int64_t>> ParseSteps(std::string_view text);

// Leaves only the steps in [first, last] in a pattern: its window, steps and own times. Communication outside stays
// known (it pairs operations) but lies outside the window. Device sums and totals by function remain those of the whole
// trace.
void SelectSteps(int64_t first, int64_t last, pattern::RankPattern* rank);

// Renumbers rows of all steps of a rank (read again from its file) to those that were selected since; the others go.
void KeepSelected(const pattern::RankPattern& rank, std::vector<pattern::FunctionStep>* rows);

}  // namespace headway::diagnose
