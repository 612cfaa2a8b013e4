// SPDX-License-Identifier: Apache-2.0
// The "record" block of a rank in a .hwp file: everything of a RankPattern that is not a column, and the counts of the
// columns (docs/hwp-format.md, "Record").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pattern/hwp_budget.h"
#include "pattern/pattern.h"

namespace headway::pattern::hwp {

// What the columns need to know before they can be read.
struct ColumnCounts {
  uint64_t functions = 0;
  uint64_t steps = 0;
  uint64_t function_steps = 0;
  uint64_t instances = 0;
};

[[nodiscard]] std::string WriteRecord(const RankPattern& pattern);

// Fills the parts of `pattern` that the record holds. False: the record is malformed, or `budget` forbids it.
[[nodiscard]] bool ReadRecord(std::string_view record, DecodeBudget* budget, RankPattern* pattern,
                              ColumnCounts* counts);

}  // namespace headway::pattern::hwp
