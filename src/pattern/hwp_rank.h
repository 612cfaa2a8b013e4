// SPDX-License-Identifier: Apache-2.0
// The section of one rank in a .hwp file, as bytes and back (docs/hwp-format.md, "Rank section").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pattern/hwp_blocks.h"
#include "pattern/hwp_functions.h"
#include "pattern/hwp_instances.h"
#include "pattern/pattern.h"

namespace headway::pattern::hwp {

// The payload of the section of `pattern`, whose function table is the section with checksum `table`. The pattern must
// keep what pattern.h promises (indices in range, function_steps sorted): anything else is a bug of the caller.
[[nodiscard]] std::string WriteRankSection(const RankPattern& pattern, uint64_t table);
[[nodiscard]] std::string WriteTableSection(const FunctionTable& table);

// Decodes sections, reusing its buffers: one for each thread.
class SectionDecoder {
 public:
  // Checksum of the table section that a rank section speaks of.
  [[nodiscard]] static Result<uint64_t> TableOf(std::string_view section);

  // Errors are one sentence, without a place; TableOf must have gone well. `budget` limits the memory:
  // DecodeBudget::Allowed(section.size()).
  [[nodiscard]] Result<RankPattern> Rank(std::string_view section, std::shared_ptr<const FunctionTable> table,
                                         Parts parts, DecodeBudget* budget);
  [[nodiscard]] Result<FunctionTable> Table(std::string_view section, DecodeBudget* budget);

 private:
  BlockUnpacker blocks_;
  FunctionScratch functions_;
  InstanceScratch instances_;
};

}  // namespace headway::pattern::hwp
