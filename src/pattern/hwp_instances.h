// SPDX-License-Identifier: Apache-2.0
// Communication instances in a .hwp file (docs/hwp-format.md, "Instances"). Steps repeat the same sequence of
// operations, so the same operation of each step is one row of a column: only its jitter is stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pattern/hwp_budget.h"
#include "pattern/hwp_columns.h"
#include "trace/comm.h"

namespace headway::pattern::hwp {

// Buffers that the ranks read one after the other share.
struct InstanceScratch {
  std::vector<int64_t> values[4];
  std::vector<int64_t> keys[4];
  std::vector<int64_t> runs[2];
  std::vector<uint32_t> key_of;
  std::vector<uint32_t> slot_of;
  std::vector<uint32_t> lengths;
  std::vector<uint32_t> next[4];
};

// Writes comms.instances. local_group, step and op must be in range.
void WriteInstances(const trace::RankComms& comms, ColumnWriter* columns, std::string* sequences);

// Fills comms->instances; its groups, step_numbers and step_starts must be there. False: malformed, or `budget`
// forbids.
[[nodiscard]] bool ReadInstances(uint64_t count, ColumnReader* columns, VarintReader* sequences, DecodeBudget* budget,
                                 InstanceScratch* scratch, trace::RankComms* comms);

}  // namespace headway::pattern::hwp
