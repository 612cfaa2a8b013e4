// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/units.h"

namespace headway::pattern {

// "[0, 1, 2]" -> {0, 1, 2}; `*cut` is set when the list ends in "..." (profilers write at most 30 ranks).
// Anything that is not such a list gives an empty one.
[[nodiscard]] std::vector<RankId> ParseRankList(std::string_view text, bool* cut);

}  // namespace headway::pattern
