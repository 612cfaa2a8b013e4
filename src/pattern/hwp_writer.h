// SPDX-License-Identifier: Apache-2.0
// Patterns to .hwp files.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "pattern/pattern.h"

namespace headway::pattern {

// One file of all these ranks. The bytes do not depend on the order of the patterns; equal patterns become one. The
// patterns must keep what pattern.h promises (indices in range, rows in order): CHECKed.
// About 2 ms a rank of 500 functions, 20 steps and 1,000 collectives, and 4 ms for each distinct function table.
[[nodiscard]] std::string WriteHwp(std::span<const RankPattern> ranks);

// The same into a file that appears under its name when it is complete.
[[nodiscard]] Result<void> WriteHwpFile(const std::string& path, std::span<const RankPattern> ranks);

}  // namespace headway::pattern
