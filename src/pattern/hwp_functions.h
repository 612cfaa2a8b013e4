// SPDX-License-Identifier: Apache-2.0
// Functions in a .hwp file: the table of names that ranks share, and what one rank measured of them, in all and per
// step (docs/hwp-format.md, "Function table" and "Function columns").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pattern/hwp_budget.h"
#include "pattern/hwp_columns.h"
#include "pattern/hwp_record.h"
#include "pattern/pattern.h"

namespace headway::pattern {

// What of a rank is read. Own times by step are most of its memory in a job of many ranks: 240 of 330 KB for 500
// functions and 20 steps.
enum class Parts : uint8_t { kAll, kNoFunctionSteps };

}  // namespace headway::pattern

namespace headway::pattern::hwp {

[[nodiscard]] std::string WriteFunctionTable(const FunctionTable& table);
// False: malformed, or `budget` forbids it.
[[nodiscard]] bool ReadFunctionTable(std::string_view bytes, DecodeBudget* budget, FunctionTable* table);

// Buffers that the ranks read one after the other share.
struct FunctionScratch {
  std::vector<uint32_t> lengths;
  std::vector<uint32_t> next;
  std::vector<int64_t> own;
  std::vector<int64_t> calls;
  std::vector<int64_t> values;
};

// Writes functions, function_steps and steps. function_steps must be sorted by (step, function), each pair once.
void WriteFunctionColumns(const RankPattern& pattern, ColumnWriter* columns, std::string* sequences);

// Leaves function_steps empty for Parts::kNoFunctionSteps.
[[nodiscard]] bool ReadFunctionColumns(const ColumnCounts& counts, Parts parts, ColumnReader* columns,
                                       VarintReader* sequences, DecodeBudget* budget, FunctionScratch* scratch,
                                       RankPattern* pattern);

void WriteStepColumns(const std::vector<Step>& steps, ColumnWriter* columns);
// Where in their steps devices waited for their hosts: a block of its own, that older programs skip. Empty where none
// did.
[[nodiscard]] std::string WriteStepSlices(const std::vector<Step>& steps);
// Of as many steps as were written; an empty block leaves them as they are.
[[nodiscard]] bool ReadStepSlices(std::string_view block, std::vector<Step>* steps);
[[nodiscard]] bool ReadStepColumns(uint64_t count, ColumnReader* columns, DecodeBudget* budget,
                                   std::vector<Step>* steps);

}  // namespace headway::pattern::hwp
